//! Log events of executions: a line of JSON for each, in the form that Step Functions writes to CloudWatch Logs.
//!
//! A thread of its own writes them once they are durable. Lines that a crash interrupts are not written later. If
//! the thread cannot keep up, events are dropped and counted: no execution ever waits for its log.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use everstep_executions::{ExecutionId, Level, Logging, Reader, Step};
use everstep_interpreter::aws_history::Projection;
use serde_json::{Map, Value, json};

use super::error::{Context as _, Result};
use super::frontend::Frontend;

/// Steps that can be queued.
const QUEUE: usize = 10_000;
/// Executions whose position in their history is cached; for others it is read from the store.
const REMEMBERED_MAX: usize = 4096;

/// Where lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    File(PathBuf),
    Stdout,
}

impl Target {
    pub(crate) fn read(text: &str) -> Self {
        if text == "-" { Self::Stdout } else { Self::File(text.into()) }
    }

    fn open(&self) -> Result<Box<dyn Write + Send>> {
        match self {
            Self::Stdout => Ok(Box::new(io::stdout())),
            Self::File(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                let file = file.context(format_args!("cannot write {}", path.display()))?;
                Ok(Box::new(BufWriter::new(file)))
            }
        }
    }
}

enum Message {
    Step(Box<Step>),
    End,
}

/// The end of the queue where steps are put in.
pub(crate) struct LogEvents {
    steps: SyncSender<Message>,
    lost: Arc<AtomicU64>,
    writing: Mutex<Option<JoinHandle<()>>>,
}

impl LogEvents {
    pub(crate) fn open(
        target: &Target,
        reader: Reader,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self> {
        let (steps, receiver) = sync_channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            out: target.open()?,
            lost: lost.clone(),
            reader,
            executions: HashMap::new(),
            failed: false,
            frontend,
        };
        let thread = std::thread::Builder::new().name("log-events".to_owned());
        let writing = thread.spawn(move || writer.run(&receiver))?;
        Ok(Self { steps, lost, writing: Mutex::new(Some(writing)) })
    }

    /// Never waits.
    pub(crate) fn take(&self, step: Step) {
        if self.steps.try_send(Message::Step(Box::new(step))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all is written.
    pub(crate) fn finish(&self) {
        let _ = self.steps.send(Message::End);
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writing) = writing {
            let _ = writing.join();
        }
    }
}

struct Writer {
    out: Box<dyn Write + Send>,
    lost: Arc<AtomicU64>,
    /// For executions that began before this process.
    reader: Reader,
    executions: HashMap<ExecutionId, (Projection, bool)>,
    failed: bool,
    frontend: Arc<dyn Frontend>,
}

impl Writer {
    fn run(mut self, steps: &Receiver<Message>) {
        loop {
            let message = match steps.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    self.flush();
                    let Ok(message) = steps.recv() else { break };
                    message
                }
            };
            match message {
                Message::Step(step) => self.step(&step),
                Message::End => break,
            }
        }
        self.flush();
    }

    fn flush(&mut self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            self.say(&format!(
                "{lost} steps of executions were not logged: the log could not keep up"
            ));
        }
        let flushed = self.out.flush();
        self.note(flushed);
    }

    /// Reported once; writing may succeed again later.
    fn note(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => self.failed = false,
            Err(error) if !std::mem::replace(&mut self.failed, true) => {
                self.say(&format!("cannot write log events: {error}"));
            }
            Err(_) => {}
        }
    }

    fn step(&mut self, step: &Step) {
        let Some(logging) = step.prepared.revision.logging else { return };
        let Some((mut projection, express)) = self.projection(step) else { return };
        let mut ended = false;
        let mut lines = Vec::new();
        for event in &step.events {
            let Some(event) = projection.take(event) else { continue };
            ended = is_end(kind(&event));
            lines.extend(line(&event, logging, &step.execution_arn, projection.redrives()));
        }
        for line in lines {
            let written = writeln!(self.out, "{line}");
            self.note(written);
        }
        if !ended {
            self.remember(step.execution, projection, express);
        }
    }

    fn remember(&mut self, id: ExecutionId, projection: Projection, express: bool) {
        if self.executions.len() >= REMEMBERED_MAX {
            self.executions.retain(|_, (_, express)| *express);
        }
        self.executions.insert(id, (projection, express));
    }

    /// The execution as it was before the step. One that is not cached started before this process, or was
    /// redriven after its end: then the store has what came before.
    fn projection(&mut self, step: &Step) -> Option<(Projection, bool)> {
        let express = step.prepared.revision.express;
        if let Some(known) = self.executions.remove(&step.execution) {
            return Some(known);
        }
        let identity = step.prepared.identity(&step.execution_arn);
        let mut projection = Projection::new(&step.prepared.program, &identity);
        if step.sequence > 0 && !express {
            let summary = self.reader.summary(step.execution).ok()??;
            // The store may be ahead of this step.
            let read = self.reader.each_step(&summary, |number, events| {
                if number >= step.sequence {
                    return ControlFlow::Break(());
                }
                events.iter().for_each(|event| drop(projection.take(event)));
                ControlFlow::Continue(())
            });
            read.ok()?;
        }
        Some((projection, express))
    }

    fn say(&self, text: &str) {
        self.frontend.write(&format!("warning: {text}\n"));
    }
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

fn is_end(kind: &str) -> bool {
    ["ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted"]
        .contains(&kind)
}

/// Which events a level includes, as in the documentation of the service.
fn has(level: Level, kind: &str) -> bool {
    let bad = ["Failed", "TimedOut", "Aborted"].iter().any(|end| kind.ends_with(end));
    match level {
        Level::All => true,
        Level::Error => bad || kind == "FailStateEntered",
        Level::Fatal => bad && kind.starts_with("Execution"),
    }
}

/// What holds data of the execution, and is left out where that is not wanted.
const DATA: [&str; 8] = [
    "input",
    "inputDetails",
    "output",
    "outputDetails",
    "parameters",
    "assignedVariables",
    "assignedVariablesDetails",
    "taskCredentials",
];

/// The line of an event, if its level has it.
fn line(event: &Value, logging: Logging, execution_arn: &str, redrives: u32) -> Option<Value> {
    let kind = kind(event);
    if !has(logging.level, kind) {
        return None;
    }
    let mut members = event.as_object()?.iter();
    let details = members.find(|(name, _)| name.ends_with("EventDetails"));
    let mut details: Map<String, Value> =
        details.and_then(|(_, details)| details.as_object()).cloned().unwrap_or_default();
    if !logging.data {
        details.retain(|name, _| !DATA.contains(&name.as_str()));
    }
    Some(json!({
        "id": event["id"].to_string(),
        "type": kind,
        "details": details,
        "previous_event_id": event["previousEventId"].to_string(),
        "event_timestamp": event["timestamp"].to_string(),
        "execution_arn": execution_arn,
        "redrive_count": redrives.to_string(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        let check = |kind: &str, expected: [bool; 3]| {
            let found = [Level::All, Level::Error, Level::Fatal].map(|level| has(level, kind));
            assert_eq!(found, expected, "{kind}");
        };
        check("PassStateEntered", [true, false, false]);
        check("ExecutionStarted", [true, false, false]);
        check("ExecutionSucceeded", [true, false, false]);
        check("LambdaFunctionFailed", [true, true, false]);
        check("TaskStateAborted", [true, true, false]);
        check("FailStateEntered", [true, true, false]);
        check("ActivityTimedOut", [true, true, false]);
        check("ExecutionFailed", [true, true, true]);
        check("ExecutionTimedOut", [true, true, true]);
        check("ExecutionAborted", [true, true, true]);
    }

    #[test]
    fn lines() {
        let event = json!({
            "timestamp": 1_739_000_000_000_i64,
            "type": "PassStateEntered",
            "id": 3,
            "previousEventId": 2,
            "stateEnteredEventDetails":
                { "input": "{}", "inputDetails": { "truncated": false }, "name": "Greet" },
        });
        let check = |data: bool, details: &str| {
            let logging = Logging { level: Level::All, data };
            let expected = format!(
                r#"{{"id":"3","type":"PassStateEntered","details":{details},"previous_event_id":"2","event_timestamp":"1739000000000","execution_arn":"arn","redrive_count":"1"}}"#
            );
            assert_eq!(line(&event, logging, "arn", 1).unwrap().to_string(), expected);
        };
        check(true, r#"{"input":"{}","inputDetails":{"truncated":false},"name":"Greet"}"#);
        check(false, r#"{"name":"Greet"}"#);
        let fatal = Logging { level: Level::Fatal, data: true };
        assert_eq!(line(&event, fatal, "arn", 1), None);
    }
}
