//! `everstep machines delete`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, names, shown};

/// Delete a state machine, once its executions have ended
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Its name or ARN
    name: String,
}

impl Delete {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = names::machine(api, &self.name)?;
        let answer = api.call("DeleteStateMachine", &json!({ "stateMachineArn": arn }))?;
        if as_json {
            shown::json(&answer)?;
        } else {
            Stream::Story.write(&format!("{} is deleted\n", names::last(&arn)))?;
        }
        Ok(Exit::Good)
    }
}
