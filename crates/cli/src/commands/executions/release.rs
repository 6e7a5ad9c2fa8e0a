//! `everstep executions release`

use clap::Args;
use serde_json::json;

use super::Which;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};

/// Let a quarantined execution continue
#[derive(Debug, Args)]
pub(crate) struct Release {
    #[command(flatten)]
    which: Which,
}

impl Release {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let answer = api.operate("ReleaseExecution", &json!({ "executionArn": arn }))?;
        let name = names::last(&arn);
        let line = if answer["released"] == true {
            format!("released; to follow it, run `everstep executions watch {name}`")
        } else {
            format!("{name} is not quarantined")
        };
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
