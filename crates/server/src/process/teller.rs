//! Tells people what a server does as it happens: for `everstep dev`.
//!
//! Lines go to a thread of their own, through a queue with an end: nobody who runs anything waits for a
//! terminal. What does not fit is counted and told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::Result;
use everstep_executions::{
    Cancelled, ExecutionId, Failed, Message, Postbox, Report, Step, Task, TaskRunner,
};
use everstep_history::Event;
use everstep_interpreter::Failure;
use everstep_invocations::{Invocation, State};
use everstep_runners::{Event as Happened, Observer, Stream as Said};
use serde_json::Value;

use super::frontend::Frontend;
use super::words::{count, duration};

/// Lines that may wait to be written.
const QUEUE: usize = 4096;

#[derive(Clone)]
pub(crate) struct Teller {
    lines: SyncSender<String>,
    lost: Arc<AtomicU64>,
}

impl Teller {
    pub(crate) fn start(frontend: Arc<dyn Frontend>) -> Result<Self> {
        let (lines, queue) = sync_channel::<String>(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        let write = move || {
            for line in queue {
                let lost = counted.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    frontend.write(&format!("... {lost} lines were too many\n"));
                }
                frontend.write(&line);
            }
        };
        std::thread::Builder::new().name("teller".to_owned()).spawn(write)?;
        Ok(Self { lines, lost })
    }

    pub(crate) fn tell(&self, line: &str) {
        if self.lines.try_send(format!("{line}\n")).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Starts and ends of executions.
    pub(crate) fn stepped(&self, step: &Step) {
        let who = who(&step.execution_arn);
        for event in &step.events {
            match event {
                Event::ExecutionStarted { input, .. } => {
                    self.tell(&format!("> {who} started with {}", short(&input.text())));
                }
                Event::ExecutionRedriven { count, .. } => {
                    self.tell(&format!("> {who} goes on: redrive {count}"));
                }
                Event::ExecutionSucceeded { output, .. } => {
                    self.tell(&format!("+ {who} succeeded: {}", short(&output.text())));
                }
                Event::ExecutionFailed { failure, .. } => {
                    self.tell(&format!("! {who} failed: {}", words(failure)));
                }
                Event::ExecutionTimedOut { .. } => self.tell(&format!("! {who} timed out")),
                Event::ExecutionAborted { failure, .. } => {
                    self.tell(&format!("! {who} was stopped: {}", words(failure)));
                }
                _ => {}
            }
        }
    }
}

impl Teller {
    /// Ends of attempts and of invocations. Of a call that somebody waits for without a key nothing is said:
    /// he is told himself.
    pub(crate) fn changed(&self, invocation: &Invocation) {
        if let Some(line) = told(invocation) {
            self.tell(&line);
        }
    }
}

fn told(invocation: &Invocation) -> Option<String> {
    let Invocation { id, function, attempts, state, .. } = invocation;
    let attempt = attempts.latest();
    let why = attempt.and_then(|attempt| attempt.failure.as_ref()).map(|failure| {
        let message = if failure.message.is_empty() { "" } else { ": " };
        format!("{}{message}{}", failure.error_type, short(&failure.message))
    });
    let why = why.unwrap_or_default();
    let times = count(attempts.started() as usize, "attempt");
    Some(match state {
        State::Accepted | State::Running => return None,
        State::Waiting { .. } => {
            let delay = attempt.and_then(|attempt| attempt.next_delay_ms)?;
            let (n, delay) = (attempts.started(), i64::try_from(delay).unwrap_or(i64::MAX));
            format!("! {function} attempt {n} failed: {why}; again in {}", duration(delay))
        }
        State::Succeeded if attempts.started() > 1 => {
            format!("+ {function} succeeded after {times}")
        }
        State::Succeeded => format!("+ {function} succeeded"),
        State::Cancelled => format!("! {function} was cancelled after {times}"),
        State::Exhausted { .. } | State::Expired | State::Parked => {
            let reason = state.reason().map_or(state.name(), |reason| reason.name());
            let why = if why.is_empty() { why } else { format!(", last {why}") };
            let hint = if invocation.dead {
                format!("; everstep deadletters show {id}")
            } else {
                String::new()
            };
            format!("! {function} gave up after {times} ({reason}){why}{hint}")
        }
    })
}

/// `machine/name`
fn who(arn: &str) -> String {
    let mut parts = arn.splitn(8, ':').skip(6);
    let machine = parts.next().unwrap_or(arn);
    match parts.next() {
        Some(name) => format!("{machine}/{name}"),
        None => machine.to_owned(),
    }
}

fn words(failure: &Failure) -> String {
    let cause = failure.cause.as_deref().unwrap_or_default();
    // A function's cause is all that it said, as JSON.
    let said: Option<Value> = serde_json::from_str(cause).ok();
    let message = said.as_ref().and_then(|said| said.get("errorMessage")?.as_str());
    let cause = message.unwrap_or(cause);
    match failure.error.as_deref() {
        Some(error) if cause.is_empty() => error.to_owned(),
        Some(error) => format!("{error}: {}", short(cause)),
        None if cause.is_empty() => "without a word".to_owned(),
        None => short(cause),
    }
}

/// As much as fits on a line or two.
fn short(text: &str) -> String {
    const LETTERS: usize = 160;
    let line = text.replace('\n', " ");
    match line.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

impl Observer for Teller {
    fn observe(&self, event: &Happened) {
        match event {
            Happened::Line { function, stream, text, .. } => {
                let mark = if *stream == Said::Stderr { "!" } else { "|" };
                // Python's clients put a stack trace on one line, with these in between.
                for line in text.split('\r') {
                    self.tell(&format!("  {function} {mark} {line}"));
                }
            }
            Happened::Misbehaved { function, what, .. } => {
                self.tell(&format!("! {function}: {what}"));
            }
            Happened::Reaped { pid } => {
                self.tell(&format!("  process {pid} of an earlier run was ended"));
            }
            Happened::Lost { events } => self.tell(&format!("... {events} lines were too many")),
            Happened::Started { .. } | Happened::Ended { .. } => {}
        }
    }
}

/// Runs tasks, and tells which of them fail; and who is told of executions that do.
pub(crate) struct Told {
    pub(crate) tasks: Arc<dyn TaskRunner>,
    pub(crate) teller: Teller,
}

impl TaskRunner for Told {
    fn dispatch(&self, task: Task) {
        let who = format!("{} {}", who(&task.execution_arn), task.state);
        let teller = self.teller.clone();
        self.tasks.dispatch(task.heard_by(|postbox| Arc::new(Ear { who, teller, postbox })));
    }

    fn cancel(&self, cancelled: Cancelled) {
        self.tasks.cancel(cancelled);
    }

    fn tell(&self, failed: Failed) {
        let (who, target) = (who(&failed.execution_arn), &failed.ending.target);
        self.teller.tell(&format!("> {who}: {target} is told of the failure"));
        self.tasks.tell(failed);
    }

    fn lacks_activity(&self, arn: &str) -> bool {
        self.tasks.lacks_activity(arn)
    }
}

struct Ear {
    who: String,
    teller: Teller,
    postbox: Arc<dyn Postbox>,
}

impl Postbox for Ear {
    fn post(&self, id: ExecutionId, message: Message) {
        if let Message::Report { report: Report::Failed { failure, .. }, .. } = &message {
            self.teller.tell(&format!("! {} failed: {}", self.who, words(failure)));
        }
        self.postbox.post(id, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_told_by_machine_and_name() {
        let check = |arn, expected| assert_eq!(who(arn), expected);
        check("arn:aws:states:us-east-1:1:execution:order:e-1", "order/e-1");
        check("arn:aws:states:us-east-1:1:express:order:e-1:x", "order/e-1:x");
        check("odd", "odd");
    }

    #[test]
    fn failures_are_told_in_a_line() {
        assert_eq!(words(&Failure::new("E", "why\nnot")), "E: why not");
        let said = r#"{"errorMessage":"why","errorType":"E"}"#;
        assert_eq!(words(&Failure::new("E", said)), "E: why");
        assert_eq!(words(&Failure::new("E", "7")), "E: 7");
        assert_eq!(words(&Failure::default()), "without a word");
        assert_eq!(short(&"x".repeat(500)).len(), 163);
    }
}
