//! Follows an execution on a server until it ends, and reports it as `everstep run` would.
//!
//! What happened and why is the server's to say: it has the journal. So this and the console never disagree.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use everstep_interpreter::{Failure, Payload, Status};
use everstep_local::Observer as _;
use everstep_story::action::Action;
use everstep_story::{Entry, Report, Standing};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, Unanswered};
use super::display;
use crate::output::Stream;
use crate::reporter::Reporter;

/// How often the server is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Entries of one answer.
const PAGE: usize = 1000;

pub(crate) struct ExecutionWatch<'a> {
    api: &'a Api,
    arn: String,
    reporter: Reporter,
    /// The entries that have been reported.
    reported: usize,
    has_answered: bool,
}

/// What `DescribeStory` answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Story {
    #[serde(flatten)]
    pub(crate) report: Report,
    entries: Vec<Entry>,
    next_from: Option<usize>,
    timeout_seconds: Option<u64>,
    pub(crate) actions: Vec<Action>,
}

impl<'a> ExecutionWatch<'a> {
    pub(crate) fn new(api: &'a Api, arn: &str, quiet: bool) -> Self {
        let reporter = Reporter::new(quiet);
        Self { api, arn: arn.to_owned(), reporter, reported: 0, has_answered: false }
    }

    /// Reports what happens until it ends, even across a restart of the server.
    pub(crate) fn follow(&mut self) -> Result<Story> {
        let mut missed = false;
        loop {
            match self.poll() {
                Ok(story) if story.report.status != Standing::Running => return Ok(story),
                Ok(story) => {
                    missed = false;
                    if self.reporter.is_live() {
                        self.reporter.active(&story.report.activity_lines());
                    }
                }
                Err(error) if error.is::<Unanswered>() && self.has_answered => {
                    if !std::mem::replace(&mut missed, true) {
                        self.reporter.note("no connection to the server; retrying");
                    }
                }
                Err(error) => {
                    self.reporter.clear();
                    return Err(error);
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Reports what is new.
    pub(crate) fn poll(&mut self) -> Result<Story> {
        loop {
            let input =
                json!({ "executionArn": self.arn, "from": self.reported, "maxResults": PAGE });
            let answer = self.api.operate("DescribeStory", &input)?;
            let story: Story = serde_json::from_value(answer)
                .context("cannot read the server's answer: is its version another one?")?;
            self.has_answered = true;
            self.reported += story.entries.len();
            story.entries.iter().for_each(|entry| self.reporter.happened(entry));
            if story.next_from.is_none() {
                return Ok(story);
            }
        }
    }

    /// What it is doing, and what is being retried, on standard error.
    pub(crate) fn report_activity(&mut self, story: &Story) -> Result<()> {
        for activity in story.report.activity_lines() {
            Stream::Story.write(&format!("{activity}\n"))?;
        }
        if !story.report.open.shown.is_empty() {
            Stream::Story.write("\n")?;
            self.reporter.open_failures(&story.report);
        }
        Ok(())
    }

    /// How it ended and why, on standard error. `described` is the answer of `DescribeExecution`.
    pub(crate) fn report_end(&mut self, story: &Story, described: &Value) -> Result<()> {
        let status = status(described)?;
        let part = |member: &str| described[member].as_str().map(|text| format!(": {text}"));
        let stopped: String = [part("error"), part("cause")].into_iter().flatten().collect();
        // However quiet the way there was, the end is reported in full.
        self.reporter.speak();
        self.reporter.end(&status, &story.report, story.timeout_seconds, &stopped);
        Ok(())
    }

    pub(crate) fn describe(&self) -> Result<Value> {
        self.api.call("DescribeExecution", &json!({ "executionArn": self.arn }))
    }
}

fn status(described: &Value) -> Result<Status> {
    let part = |member: &str| described[member].as_str().map(Arc::from);
    let failure = Failure { error: part("error"), cause: part("cause") };
    Ok(match described["status"].as_str().unwrap_or_default() {
        "RUNNING" | "PENDING_REDRIVE" => Status::Running,
        "SUCCEEDED" => {
            let output = described["output"].as_str().unwrap_or("null");
            Status::Succeeded {
                output: Payload::from_text(output).context("the output is not JSON")?,
            }
        }
        "FAILED" => Status::Failed { failure },
        "TIMED_OUT" => Status::TimedOut,
        "ABORTED" => Status::Aborted { failure },
        other => bail!("unknown execution status {other}"),
    })
}

/// The output, as `everstep run` prints it.
pub(crate) fn write_output(described: &Value) -> Result<()> {
    let Some(output) = described["output"].as_str() else { return Ok(()) };
    let room = if Stream::Data.is_terminal() { 0 } else { usize::MAX };
    Stream::Data.write_json(&format!("{}\n", display::payload(output, room)))
}
