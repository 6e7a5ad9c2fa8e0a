//! `everstep executions start`

use clap::Args;
use everstep_asl::error_name;
use serde_json::{Value, json};

use super::{exit, watch};
use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
use crate::remote::execution_watch::{ExecutionWatch, write_output};
use crate::remote::{Api, display, names};

/// Start an execution
///
/// Prints its ARN; with --wait, its output.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Name or ARN of the state machine; `NAME:ALIAS` and `NAME:VERSION` work too
    machine: String,
    /// Input: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, default_value = "{}", value_name = "JSON", allow_hyphen_values = true)]
    input: String,
    /// Name of the execution; a name is used only once [default: generated]
    #[arg(long)]
    name: Option<String>,
    /// Wait until it ends, and print its output or why it failed
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
                display::json(&begun)?;
            } else {
                Stream::Data.write(&format!("{}\n", display::text(&begun, "executionArn")))?;
            }
            return Ok(Exit::Good);
        }
        let arn = display::text(&begun, "executionArn");
        watch::leave_at_interrupt(&arn)?;
        watch::report(ExecutionWatch::new(api, &arn, true), as_json)
    }
}

fn is_express(api: &Api, arn: &str) -> anyhow::Result<bool> {
    let machine = arn.split('#').next().unwrap_or_default();
    let machine = api.call("DescribeStateMachine", &json!({ "stateMachineArn": machine }))?;
    Ok(machine["type"] == "EXPRESS")
}

/// The only way to learn how an Express execution ended.
fn synchronous(api: &Api, input: &Value, as_json: bool) -> anyhow::Result<Exit> {
    let ended = api.call("StartSyncExecution", input)?;
    if as_json {
        display::json(&ended)?;
    } else if exit(&ended) == Exit::Good {
        write_output(&ended)?;
    } else {
        let status = display::text(&ended, "status").replace('_', " ");
        let (error, cause) = (display::text(&ended, "error"), display::text(&ended, "cause"));
        let error =
            if error == error_name::TIMEOUT && cause.is_empty() { String::new() } else { error };
        let parts = [error, cause].into_iter().filter(|part| !part.is_empty());
        let why: String = parts.map(|part| format!(": {part}")).collect();
        Stream::Story.write(&format!("{status}{why}\n"))?;
    }
    Ok(exit(&ended))
}
