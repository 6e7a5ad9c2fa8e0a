//! `everstep executions quarantined`

use clap::Args;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::remote::{Api, display};

/// List executions that are not continued, because they ended the server or panicked
///
/// An execution is quarantined when the server died, or a decision panicked, three times in a row while working on it.
#[derive(Debug, Args)]
pub(crate) struct Quarantined {}

impl Quarantined {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let mut answer = api.operate("ListQuarantined", &json!({}))?;
        if as_json {
            let executions = answer["executions"].take();
            display::json(&json!({ "executions": executions }))?;
            return Ok(Exit::Good);
        }
        let rows = answer["executions"].as_array().into_iter().flatten().map(row).collect();
        let header = ["Name", "Machine", "Since", "Why"];
        display::table(&header, rows, "no execution is quarantined")?;
        Ok(Exit::Good)
    }
}

fn row(held: &Value) -> Vec<String> {
    let arn = display::text(held, "executionArn");
    let mut parts = arn.splitn(8, ':').skip(6);
    let machine = parts.next().unwrap_or_default().to_owned();
    let name = parts.next().unwrap_or_default().to_owned();
    vec![name, machine, display::moment(&held["since"]), display::text(held, "why")]
}
