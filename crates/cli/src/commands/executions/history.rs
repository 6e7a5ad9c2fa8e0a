//! `everstep executions history`

use clap::Args;
use serde_json::{Value, json};

use super::Which;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};
use everstep_source::words::duration;
use everstep_story::history::HistoryEvent;
use everstep_story::words;

/// Show the events of an execution
#[derive(Debug, Args)]
pub(crate) struct History {
    #[command(flatten)]
    which: Which,
    /// Newest first
    #[arg(long)]
    reverse: bool,
    /// Show at most this many events [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Show inputs, outputs and whole causes
    #[arg(long)]
    full: bool,
}

/// How much of a cause is shown.
const SUMMARY_CHARS_MAX: usize = 120;

impl History {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        let max =
            self.limit.map_or(names::ALL, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let input = json!({ "executionArn": arn, "reverseOrder": self.reverse });
        let events = api.list("GetExecutionHistory", "events", input, max)?;
        if as_json {
            display::json(&json!({ "events": events }))?;
            return Ok(Exit::Good);
        }
        let described = api.call(
            "DescribeExecution",
            &json!({ "executionArn": arn, "includedData": "METADATA_ONLY" }),
        )?;
        let start_ms = display::millis(&described["startDate"]).unwrap_or_default();
        if self.full {
            let texts: Vec<String> = events.iter().map(|event| full(event, start_ms)).collect();
            Stream::Data.write(&texts.join("\n"))?;
            return Ok(Exit::Good);
        }
        let rows = events.iter().map(|event| row(event, start_ms)).collect();
        let header = ["Id", "After", "Time", "Event", ""];
        display::table(&header, rows, "no events yet")?;
        Ok(Exit::Good)
    }
}

fn row(event: &Value, start_ms: i64) -> Vec<String> {
    let event = HistoryEvent(event);
    vec![
        event.id().to_string(),
        event.previous().to_string(),
        duration(event.at_ms() - start_ms),
        event.kind().to_owned(),
        words::shorten(&event.summary(), SUMMARY_CHARS_MAX),
    ]
}

/// A paragraph for one event.
fn full(event: &Value, start_ms: i64) -> String {
    let time = duration(HistoryEvent(event).at_ms() - start_ms);
    let moment = display::moment(&event["timestamp"]);
    let event = HistoryEvent(event);
    let head = format!("{} {}", event.id(), event.kind());
    let mut text = format!("{head}  after {}, at {time} ({moment})\n", event.previous());
    let summary = event.summary();
    if !summary.is_empty() {
        text += &format!("  {}\n", summary.replace('\n', "\n    "));
    }
    let room = Stream::Data.width().saturating_sub(14);
    for (name, payload) in event.payloads() {
        let payload = display::payload(payload, room).replace('\n', "\n              ");
        text += &format!("  {name:12}{payload}\n");
    }
    text
}
