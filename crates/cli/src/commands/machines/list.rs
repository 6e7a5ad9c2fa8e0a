//! `everstep machines list`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::remote::{Api, display, names};

/// List state machines
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let machines = names::machines(api)?;
        if as_json {
            display::json(&json!({ "stateMachines": machines }))?;
            return Ok(Exit::Good);
        }
        let row = |machine: &serde_json::Value| {
            vec![
                display::text(machine, "name"),
                display::text(machine, "type"),
                display::moment(&machine["creationDate"]),
            ]
        };
        let nothing = "no state machines; to create one, run `everstep machines create FILE`";
        display::table(&["Name", "Type", "Created"], machines.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}
