//! `everstep invocations quarantined`

use clap::Args;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::remote::{Api, display};

/// List invocations that are not continued, because they ended the server
///
/// An invocation is quarantined when the server died three times in a row while working on it.
#[derive(Debug, Args)]
pub(crate) struct Quarantined {}

impl Quarantined {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let mut answer = api.operate("ListQuarantined", &json!({}))?;
        if as_json {
            let invocations = answer["invocations"].take();
            display::json(&json!({ "invocations": invocations }))?;
            return Ok(Exit::Good);
        }
        let rows = answer["invocations"].as_array().into_iter().flatten().map(row).collect();
        display::table(&["Id", "Since", "Why"], rows, "no invocation is quarantined")?;
        Ok(Exit::Good)
    }
}

fn row(held: &Value) -> Vec<String> {
    let id = display::text(held, "invocationId");
    vec![id, display::moment(&held["since"]), display::text(held, "why")]
}
