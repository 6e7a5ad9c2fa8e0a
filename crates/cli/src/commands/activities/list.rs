//! `everstep activities list`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::remote::{Api, names, shown};

/// List the activities
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let activities = api.list("ListActivities", "activities", json!({}), names::ALL)?;
        if as_json {
            shown::json(&json!({ "activities": activities }))?;
            return Ok(Exit::Good);
        }
        let row = |activity: &serde_json::Value| {
            vec![
                shown::text(activity, "name"),
                shown::moment(&activity["creationDate"]),
                shown::text(activity, "activityArn"),
            ]
        };
        let nothing = "there are no activities; `everstep activities create NAME` makes one";
        shown::table(&["Name", "Created", "ARN"], activities.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}
