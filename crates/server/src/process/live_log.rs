//! The log of `everstep dev`: what executions and functions do, as it happens.
//!
//! A thread of its own writes the lines from a bounded queue, so that nothing ever waits for a terminal. Lines
//! that do not fit are counted and dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use everstep_executions::{Notification, Step};
use everstep_history::Event;
use everstep_interpreter::Failure;
use everstep_invocations::{Invocation, State};
use everstep_runners::{Event as FunctionEvent, Observer, Stream};
use everstep_source::terminal;
use everstep_source::words::{count, measured};
use serde_json::Value;

use super::error::Result;
use super::frontend::Frontend;
use crate::dispatch::TaskObserver;

/// Lines that can be queued.
const QUEUE: usize = 4096;

#[derive(Clone)]
pub(crate) struct LiveLog {
    lines: SyncSender<String>,
    dropped: Arc<AtomicU64>,
}

impl LiveLog {
    pub(crate) fn start(frontend: Arc<dyn Frontend>) -> Result<Self> {
        let (lines, queue) = sync_channel::<String>(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = dropped.clone();
        let write = move || {
            for line in queue {
                let dropped = counted.swap(0, Ordering::Relaxed);
                if dropped > 0 {
                    frontend.write(&format!("... {dropped} lines dropped\n"));
                }
                frontend.write(&line);
            }
        };
        std::thread::Builder::new().name("live-log".to_owned()).spawn(write)?;
        Ok(Self { lines, dropped })
    }

    pub(crate) fn write(&self, line: &str) {
        if self.lines.try_send(format!("{}\n", terminal::line(line))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Starts and ends of executions.
    pub(crate) fn stepped(&self, step: &Step) {
        let who = who(&step.execution_arn);
        for event in &step.events {
            match event {
                Event::ExecutionStarted { input, .. } => {
                    self.write(&format!("> {who} started with {}", short(&input.text())));
                }
                Event::ExecutionRedriven { count, .. } => {
                    self.write(&format!("> {who} redriven: redrive {count}"));
                }
                Event::ExecutionSucceeded { output, .. } => {
                    self.write(&format!("+ {who} succeeded: {}", short(&output.text())));
                }
                Event::ExecutionFailed { failure, .. } => {
                    self.write(&format!("! {who} failed: {}", described(failure)));
                }
                Event::ExecutionTimedOut { .. } => self.write(&format!("! {who} timed out")),
                Event::ExecutionAborted { failure, .. } => {
                    self.write(&format!("! {who} was stopped: {}", described(failure)));
                }
                _ => {}
            }
        }
    }

    /// Ends of attempts and of invocations. Synchronous calls without a key are not logged: their callers see
    /// the result.
    pub(crate) fn changed(&self, invocation: &Invocation) {
        if let Some(line) = line(invocation) {
            self.write(&line);
        }
    }
}

fn line(invocation: &Invocation) -> Option<String> {
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
            format!("! {function} attempt {n} failed: {why}; retry in {}", measured(delay))
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

fn described(failure: &Failure) -> String {
    let cause = failure.cause.as_deref().unwrap_or_default();
    // The cause of a function's failure is its error, as JSON.
    let error: Option<Value> = serde_json::from_str(cause).ok();
    let message = error.as_ref().and_then(|error| error.get("errorMessage")?.as_str());
    let cause = message.unwrap_or(cause);
    match failure.error.as_deref() {
        Some(error) if cause.is_empty() => error.to_owned(),
        Some(error) => format!("{error}: {}", short(cause)),
        None if cause.is_empty() => "no error name, no cause".to_owned(),
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

impl Observer for LiveLog {
    fn observe(&self, event: &FunctionEvent) {
        match event {
            FunctionEvent::Line { function, stream, text, .. } => {
                let mark = if *stream == Stream::Stderr { "!" } else { "|" };
                // Python's clients put a stack trace on one line, with these in between.
                for line in text.split('\r') {
                    self.write(&format!("  {function} {mark} {line}"));
                }
            }
            FunctionEvent::Misbehaved { function, what, .. }
            | FunctionEvent::Refused { function, what, .. } => {
                self.write(&format!("! {function}: {what}"));
            }
            FunctionEvent::Reaped { pid } => {
                self.write(&format!("  killed process {pid}, left over from an earlier run"));
            }
            FunctionEvent::Lost { events } => self.write(&format!("... {events} lines dropped")),
            FunctionEvent::Started { .. } | FunctionEvent::Ended { .. } => {}
        }
    }
}

impl TaskObserver for LiveLog {
    fn task_failed(&self, execution_arn: &str, state: &str, failure: &Failure) {
        self.write(&format!("! {} {state} failed: {}", who(execution_arn), described(failure)));
    }

    fn notifying(&self, notification: &Notification) {
        let (who, target) = (who(&notification.execution_arn), &notification.ending.target);
        self.write(&format!("> {who}: notifying {target} of the failure"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_are_named_by_machine_and_name() {
        let check = |arn, expected| assert_eq!(who(arn), expected);
        check("arn:aws:states:us-east-1:1:execution:order:e-1", "order/e-1");
        check("arn:aws:states:us-east-1:1:express:order:e-1:x", "order/e-1:x");
        check("odd", "odd");
    }

    #[test]
    fn failures_fit_on_a_line() {
        assert_eq!(described(&Failure::new("E", "why\nnot")), "E: why not");
        let said = r#"{"errorMessage":"why","errorType":"E"}"#;
        assert_eq!(described(&Failure::new("E", said)), "E: why");
        assert_eq!(described(&Failure::new("E", "7")), "E: 7");
        assert_eq!(described(&Failure::default()), "no error name, no cause");
        assert_eq!(short(&"x".repeat(500)).len(), 163);
    }
}
