//! `everstep executions start`

use clap::Args;
use everstep_asl::error_name;
use serde_json::{Value, json};

use super::{exit, watch};
use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
use crate::remote::following::{Following, write_output};
use crate::remote::{Api, names, shown};

/// Start an execution
///
/// Its ARN goes to standard output; with --wait, its output.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The state machine's name or ARN; `name:alias` and `name:version` will do
    machine: String,
    /// The input: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, default_value = "{}", value_name = "JSON", allow_hyphen_values = true)]
    input: String,
    /// Its name, so that it is started once only [default: a name of its own]
    #[arg(long)]
    name: Option<String>,
    /// Wait until it ends, write its output, and tell why it failed if it did
    #[arg(long)]
    wait: bool,
}

impl Start {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let given = input::read("--input", &self.input)?;
        let arn = names::machine(api, &self.machine)?;
        let mut input = json!({ "stateMachineArn": arn, "input": given.to_string() });
        if let Some(name) = &self.name {
            input["name"] = json!(name);
        }
        if self.wait && is_express(api, &arn)? {
            return synchronous(api, &input, as_json);
        }
        let begun = api.call("StartExecution", &input)?;
        if !self.wait {
            if as_json {
                shown::json(&begun)?;
            } else {
                Stream::Data.write(&format!("{}\n", shown::text(&begun, "executionArn")))?;
            }
            return Ok(Exit::Good);
        }
        let arn = shown::text(&begun, "executionArn");
        watch::leave_at_interrupt(&arn)?;
        let mut following = Following::begin(api, &arn, true)?;
        let described = following.until_it_ends()?;
        watch::tell(&described, &mut following, as_json)?;
        Ok(exit(&described))
    }
}

fn is_express(api: &Api, arn: &str) -> anyhow::Result<bool> {
    let machine = arn.split('#').next().unwrap_or_default();
    let machine = api.call("DescribeStateMachine", &json!({ "stateMachineArn": machine }))?;
    Ok(machine["type"] == "EXPRESS")
}

/// The only way to learn what became of an Express execution.
fn synchronous(api: &Api, input: &Value, as_json: bool) -> anyhow::Result<Exit> {
    let ended = api.call("StartSyncExecution", input)?;
    if as_json {
        shown::json(&ended)?;
    } else if exit(&ended) == Exit::Good {
        write_output(&ended)?;
    } else {
        let status = shown::text(&ended, "status").replace('_', " ");
        let (error, cause) = (shown::text(&ended, "error"), shown::text(&ended, "cause"));
        let error =
            if error == error_name::TIMEOUT && cause.is_empty() { String::new() } else { error };
        let parts = [error, cause].into_iter().filter(|part| !part.is_empty());
        let why: String = parts.map(|part| format!(": {part}")).collect();
        Stream::Story.write(&format!("{status}{why}\n"))?;
    }
    Ok(exit(&ended))
}
