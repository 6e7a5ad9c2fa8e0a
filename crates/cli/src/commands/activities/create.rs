//! `everstep activities create`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Create an activity, if it does not exist
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Name of the activity
    name: String,
}

impl Create {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.call("CreateActivity", &json!({ "name": self.name }))?;
        let arn = display::text(&answer, "activityArn");
        display::answer(&answer, as_json, Stream::Data, &arn)
    }
}
