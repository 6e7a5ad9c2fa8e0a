//! `everstep machines delete`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};

/// Delete a state machine when its executions have ended
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Name or ARN of the state machine
    name: String,
}

impl Delete {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = names::machine(api, &self.name)?;
        let answer = api.call("DeleteStateMachine", &json!({ "stateMachineArn": arn }))?;
        let line = format!("deleted {}", names::last(&arn));
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
