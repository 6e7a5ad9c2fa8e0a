//! `everstep activities list`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::remote::{Api, display, names};

/// List activities
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let activities = api.list("ListActivities", "activities", json!({}), names::ALL)?;
        if as_json {
            display::json(&json!({ "activities": activities }))?;
            return Ok(Exit::Good);
        }
        let row = |activity: &serde_json::Value| {
            vec![
                display::text(activity, "name"),
                display::moment(&activity["creationDate"]),
                display::text(activity, "activityArn"),
            ]
        };
        let nothing = "no activities; to create one, run `everstep activities create NAME`";
        display::table(&["Name", "Created", "ARN"], activities.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}
