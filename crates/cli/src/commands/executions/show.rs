//! `everstep executions show`

use clap::Args;
use serde_json::{Value, json};

use super::Which;
use super::list::took;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::following::Following;
use crate::remote::{Api, names, shown};
use everstep_source::words;

/// Show one execution: where it is, or how it ended and why
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    which: Which,
}

impl Show {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let described = api.call("DescribeExecution", &json!({ "executionArn": arn }))?;
        if as_json {
            shown::json(&described)?;
            return Ok(Exit::Good);
        }
        Stream::Data.write(&shown::facts(&facts(&described)))?;
        match described["status"].as_str() {
            Some("SUCCEEDED") => {}
            Some("RUNNING") => Following::begin(api, &arn, true)?.tell_where()?,
            _ => {
                Stream::Story.write("\n")?;
                let mut following = Following::begin(api, &arn, true)?;
                let described = following.look()?;
                following.tell_end(&described)?;
            }
        }
        Ok(Exit::Good)
    }
}

fn facts(described: &Value) -> Vec<(&'static str, String)> {
    let text = |member| shown::text(described, member);
    let room = Stream::Data.width().saturating_sub(12);
    let redrives = described["redriveCount"].as_u64().filter(|count| *count > 0);
    vec![
        ("Name", text("name")),
        ("ARN", text("executionArn")),
        ("Machine", names::last(&text("stateMachineArn")).to_owned()),
        ("Status", text("status")),
        ("Started", shown::moment(&described["startDate"])),
        ("Ended", shown::moment(&described["stopDate"])),
        ("Took", took(described).map(words::measured).unwrap_or_default()),
        ("Redriven", redrives.map(words::times).unwrap_or_default()),
        ("Input", shown::payload(&text("input"), room)),
        ("Output", shown::payload(&text("output"), room)),
        ("Error", text("error")),
        ("Cause", shown::payload(&text("cause"), room)),
    ]
}
