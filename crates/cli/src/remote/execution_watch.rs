//! Follows an execution on a server until it ends, and reports it as `everstep run` would.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use everstep_asl::{Dialect, Machine, Options, Source};
use everstep_interpreter::{Failure, Payload, Status};
use everstep_local::Observer as _;
use everstep_server::tag_settings::DIALECT;
use everstep_story::history::{HistoryEvent, HistoryReader};
use everstep_story::{RunId, Story};
use serde_json::{Value, json};

use super::api::{Api, Unanswered};
use super::display::{self, now_ms};
use super::names::ALL;
use crate::output::Stream;
use crate::reporter::Reporter;

/// How often the server is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// More events than most executions have between two polls.
const PAGE: usize = 100;

pub(crate) struct ExecutionWatch<'a> {
    api: &'a Api,
    arn: String,
    timeout_seconds: Option<u64>,
    reader: HistoryReader,
    story: Story,
    reporter: Reporter,
    /// The last event that was reported.
    last: u64,
}

impl<'a> ExecutionWatch<'a> {
    pub(crate) fn new(api: &'a Api, arn: &str, quiet: bool) -> Result<Self> {
        let (machine, dialect) = machine(api, arn)?;
        let machine = Arc::new(machine);
        let mut story = Story::from_history(dialect);
        story.begin(RunId(0), machine.clone(), None);
        Ok(Self {
            api,
            arn: arn.to_owned(),
            timeout_seconds: machine.timeout_seconds,
            reader: HistoryReader::new(machine, dialect),
            story,
            reporter: Reporter::new(quiet),
            last: 0,
        })
    }

    /// Reports what happens until it ends, even across a restart of the server. Returns the last answer of
    /// `DescribeExecution`.
    pub(crate) fn follow(&mut self) -> Result<Value> {
        let mut missed = false;
        loop {
            match self.poll() {
                Ok(described) if described["status"] != "RUNNING" => return Ok(described),
                Ok(_) => missed = false,
                Err(error) if error.is::<Unanswered>() && self.last > 0 => {
                    if !std::mem::replace(&mut missed, true) {
                        self.reporter.note("no connection to the server; retrying");
                    }
                }
                Err(error) => {
                    self.reporter.clear();
                    return Err(error);
                }
            }
            if self.reporter.is_live() {
                self.story.at(now_ms());
                self.reporter.active(&self.story.activities());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Reports what is new. It is described first: if that says it has ended, all events are there.
    pub(crate) fn poll(&mut self) -> Result<Value> {
        let described = self.api.call("DescribeExecution", &json!({ "executionArn": self.arn }))?;
        let events = if self.last == 0 { self.all() } else { self.newer() }?;
        if let Some(event) = events.last() {
            self.last = HistoryEvent(event).id();
        }
        for batch in self.reader.take(&events) {
            let entries = self.story.observe(RunId(0), &batch);
            entries.iter().for_each(|entry| self.reporter.happened(entry));
        }
        Ok(described)
    }

    fn all(&self) -> Result<Vec<Value>> {
        let input = json!({ "executionArn": self.arn });
        self.api.list("GetExecutionHistory", "events", input, ALL)
    }

    /// Backwards from the end, to the last event that is known: seldom far.
    fn newer(&self) -> Result<Vec<Value>> {
        let mut newer = Vec::new();
        let mut input =
            json!({ "executionArn": self.arn, "reverseOrder": true, "maxResults": PAGE });
        loop {
            let mut page = self.api.call("GetExecutionHistory", &input)?;
            let Value::Array(events) = page["events"].take() else { break };
            let before = newer.len() + events.len();
            newer.extend(events.into_iter().filter(|event| HistoryEvent(event).id() > self.last));
            match page["nextToken"].take() {
                Value::String(token) if newer.len() == before => input["nextToken"] = json!(token),
                _ => break,
            }
        }
        newer.reverse();
        Ok(newer)
    }

    /// What it is doing, on standard error.
    pub(crate) fn report_activity(&mut self) -> Result<()> {
        self.poll()?;
        self.story.at(now_ms());
        for activity in self.story.activities() {
            Stream::Story.write(&format!("{activity}\n"))?;
        }
        Ok(())
    }

    /// How it ended and why, on standard error.
    pub(crate) fn report_end(&mut self, described: &Value) -> Result<()> {
        let status = status(described)?;
        let part = |member: &str| described[member].as_str().map(|text| format!(": {text}"));
        let stopped: String = [part("error"), part("cause")].into_iter().flatten().collect();
        // However quiet the way there was, the end is reported in full.
        self.reporter.speak();
        self.reporter.end(&status, &self.story, self.timeout_seconds, &stopped);
        Ok(())
    }
}

fn machine(api: &Api, arn: &str) -> Result<(Machine, Dialect)> {
    let input = json!({ "executionArn": arn });
    let answer = api.call("DescribeStateMachineForExecution", &input)?;
    let name = answer["name"].as_str().unwrap_or("the state machine");
    let source = Source::new(name, answer["definition"].as_str().unwrap_or_default());
    let dialect = dialect(api, answer["stateMachineArn"].as_str().unwrap_or_default())?;
    let parsed = everstep_asl::parse(&source, &Options { dialect, ..Options::default() });
    // The server has accepted it, perhaps in its own dialect.
    let machine = parsed.into_accepted_machine();
    let machine = machine.with_context(|| format!("cannot read the definition of `{name}`"))?;
    Ok((machine, dialect))
}

/// The dialect that the machine's tag names. The server does not say which one machines without the tag use.
fn dialect(api: &Api, machine_arn: &str) -> Result<Dialect> {
    let input = json!({ "resourceArn": machine_arn });
    let Ok(answer) = api.try_call("ListTagsForResource", &input)? else {
        return Ok(Dialect::default());
    };
    let tags = answer["tags"].as_array().into_iter().flatten();
    let mut named = tags.filter(|tag| tag["key"] == DIALECT);
    Ok(named.find_map(|tag| Dialect::find(tag["value"].as_str()?)).unwrap_or_default())
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
