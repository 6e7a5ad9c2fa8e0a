//! `everstep triggers list`

use clap::Args;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::remote::{Api, display};

/// List triggers: where items come from, what they start, how it stands
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.operate("ListTriggers", &json!({}))?;
        if as_json {
            display::json(&answer)?;
            return Ok(Exit::Good);
        }
        let triggers = answer["triggers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let header = ["Name", "From", "Target", "State", "In flight", "Next"];
        let nothing = "no triggers; name them below `triggers` in everstep.yaml";
        display::table(&header, triggers.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}

fn row(trigger: &Value) -> Vec<String> {
    let text = |member| display::text(trigger, member);
    let open = trigger["inFlight"].as_u64().unwrap_or_default();
    vec![
        text("name"),
        from(trigger),
        text("target"),
        text("state"),
        if open == 0 { "–".to_owned() } else { open.to_string() },
        display::moment(&trigger["next"]),
    ]
}

/// `0 30 2 * * * (Europe/Berlin)`
pub(super) fn from(trigger: &Value) -> String {
    let from = display::text(trigger, "from");
    match trigger["timezone"].as_str() {
        Some(zone) => format!("{from} ({zone})"),
        None => from,
    }
}
