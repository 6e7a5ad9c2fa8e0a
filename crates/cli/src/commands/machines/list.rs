//! `everstep machines list`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::remote::{Api, names, shown};

/// List the state machines
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let machines = names::machines(api)?;
        if as_json {
            shown::json(&json!({ "stateMachines": machines }))?;
            return Ok(Exit::Good);
        }
        let row = |machine: &serde_json::Value| {
            vec![
                shown::text(machine, "name"),
                shown::text(machine, "type"),
                shown::moment(&machine["creationDate"]),
            ]
        };
        let nothing = "there are no state machines; `everstep machines create FILE` makes one";
        shown::table(&["Name", "Type", "Created"], machines.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}
