//! `everstep executions redrive`

use clap::Args;
use serde_json::json;

use super::Which;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, names, shown};

/// Let an execution that failed go on from where it failed
#[derive(Debug, Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
}

impl Redrive {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let answer = api.call("RedriveExecution", &json!({ "executionArn": arn }))?;
        if as_json {
            shown::json(&answer)?;
        } else {
            let name = names::last(&arn);
            Stream::Story.write(&format!(
                "{name} goes on; `everstep executions watch {name}` tells how\n"
            ))?;
        }
        Ok(Exit::Good)
    }
}
