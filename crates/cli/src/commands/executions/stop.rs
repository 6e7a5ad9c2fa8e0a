//! `everstep executions stop`

use clap::Args;
use serde_json::json;

use super::Which;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};

/// Stop an execution
#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    which: Which,
    /// Error to record
    #[arg(long)]
    error: Option<String>,
    /// Cause to record
    #[arg(long)]
    cause: Option<String>,
}

impl Stop {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let mut input = json!({ "executionArn": arn });
        for (member, text) in [("error", self.error), ("cause", self.cause)] {
            if let Some(text) = text {
                input[member] = json!(text);
            }
        }
        let answer = api.call("StopExecution", &input)?;
        let line = format!("stopped {}", names::last(&arn));
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
