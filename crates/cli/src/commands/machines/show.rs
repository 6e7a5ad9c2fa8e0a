//! `everstep machines show`

use clap::Args;
use everstep_asl::{Dialect, Options, Source};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{Stream, choices, count};
use crate::remote::{Api, display, names};

/// Show a state machine
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Name or ARN; `NAME:ALIAS` and `NAME:VERSION` work too
    name: String,
    /// Print the definition only
    #[arg(long, conflicts_with = "json")]
    definition: bool,
}

impl Show {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = names::machine(api, &self.name)?;
        let machine = api.call("DescribeStateMachine", &json!({ "stateMachineArn": arn }))?;
        if as_json {
            display::json(&machine)?;
        } else if self.definition {
            Stream::Data
                .write_json(&format!("{}\n", display::text(&machine, "definition").trim_end()))?;
        } else {
            Stream::Data.write(&display::facts(&facts(&machine)))?;
        }
        Ok(Exit::Good)
    }
}

fn facts(machine: &Value) -> Vec<(&'static str, String)> {
    let text = |member| display::text(machine, member);
    let level = display::text(&machine["loggingConfiguration"], "level");
    vec![
        ("Name", text("name")),
        ("ARN", text("stateMachineArn")),
        ("Type", text("type")),
        ("Status", text("status")),
        ("Created", display::moment(&machine["creationDate"])),
        ("Revision", text("revisionId")),
        ("Description", text("description")),
        ("Role", text("roleArn")),
        ("Logs", if level == "OFF" { String::new() } else { level }),
        ("States", states(&text("definition"))),
    ]
}

/// `3, from Reserve: Reserve, Charge and Ship`; empty if the definition cannot be read here.
fn states(definition: &str) -> String {
    let source = Source::new("definition", definition);
    let options = Options { dialect: Dialect::Aws, ..Options::default() };
    let parsed = everstep_asl::parse(&source, &options);
    let Some(machine) = parsed.machine() else { return String::new() };
    let names = choices(machine.states.iter().map(|state| &*state.name)).replace('`', "");
    let start = &machine.state(machine.start_at).name;
    format!("{}, from {start}: {names}", count(machine.states.len(), "state"))
}
