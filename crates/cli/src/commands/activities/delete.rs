//! `everstep activities delete`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};

/// Delete an activity
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Name or ARN of the activity
    name: String,
}

impl Delete {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = names::activity(api, &self.name)?;
        let answer = api.call("DeleteActivity", &json!({ "activityArn": arn }))?;
        let line = format!("deleted {}", names::last(&arn));
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
