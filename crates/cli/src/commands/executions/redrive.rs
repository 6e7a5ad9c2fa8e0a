//! `everstep executions redrive`

use clap::Args;
use serde_json::json;

use super::Which;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};

/// Continue a failed execution from where it failed
#[derive(Debug, Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
}

impl Redrive {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let answer = api.call("RedriveExecution", &json!({ "executionArn": arn }))?;
        let name = names::last(&arn);
        let line = format!("redriven; to follow it, run `everstep executions watch {name}`");
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
