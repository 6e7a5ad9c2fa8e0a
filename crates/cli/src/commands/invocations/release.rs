//! `everstep invocations release`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Let a quarantined invocation continue
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// Id of the invocation
    id: String,
}

impl Release {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.operate("ReleaseInvocation", &json!({ "id": self.id }))?;
        let line = if answer["released"] == true {
            format!("released {}", self.id)
        } else {
            format!("{} is not quarantined", self.id)
        };
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
