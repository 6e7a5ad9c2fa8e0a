//! `everstep executions show`

use clap::Args;
use serde_json::{Value, json};

use super::Which;
use super::list::took;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::execution_watch::ExecutionWatch;
use crate::remote::{Api, display, names};
use everstep_source::words;
use everstep_story::action::{Action, Kind};

/// Show an execution: its progress, or how it ended and why
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    which: Which,
}

impl Show {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let mut described = api.call("DescribeExecution", &json!({ "executionArn": arn }))?;
        let mut watch = ExecutionWatch::new(api, &arn, true);
        let story = watch.poll()?;
        if as_json {
            described["story"] = json!(story.report);
            described["actions"] = json!(story.actions);
            display::json(&described)?;
            return Ok(Exit::Good);
        }
        Stream::Data.write(&display::facts(&facts(&described)))?;
        match described["status"].as_str() {
            Some("SUCCEEDED") => {}
            Some("RUNNING") => watch.report_activity(&story)?,
            _ => {
                Stream::Story.write("\n")?;
                watch.report_end(&story, &described)?;
                let redrive = story.actions.iter().find(|one| one.action == Kind::Redrive);
                if let Some(Action { purpose, command, .. }) = redrive {
                    Stream::Story.write(&format!("hint: to {purpose}, run `{command}`\n"))?;
                }
            }
        }
        Ok(Exit::Good)
    }
}

fn facts(described: &Value) -> Vec<(&'static str, String)> {
    let text = |member| display::text(described, member);
    let room = Stream::Data.width().saturating_sub(12);
    let redrives = described["redriveCount"].as_u64().filter(|count| *count > 0);
    vec![
        ("Name", text("name")),
        ("ARN", text("executionArn")),
        ("Machine", names::last(&text("stateMachineArn")).to_owned()),
        ("Status", text("status")),
        ("Started", display::moment(&described["startDate"])),
        ("Ended", display::moment(&described["stopDate"])),
        ("Took", took(described).map(words::measured).unwrap_or_default()),
        ("Redriven", redrives.map(words::times).unwrap_or_default()),
        ("Input", display::payload(&text("input"), room)),
        ("Output", display::payload(&text("output"), room)),
        ("Error", text("error")),
        ("Cause", display::payload(&text("cause"), room)),
    ]
}
