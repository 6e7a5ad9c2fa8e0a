//! `everstep activities create`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, shown};

/// Create an activity; one that is there already is left as it is
#[derive(Debug, Args)]
pub(crate) struct Create {
    name: String,
}

impl Create {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.call("CreateActivity", &json!({ "name": self.name }))?;
        if as_json {
            shown::json(&answer)?;
        } else {
            Stream::Data.write(&format!("{}\n", shown::text(&answer, "activityArn")))?;
        }
        Ok(Exit::Good)
    }
}
