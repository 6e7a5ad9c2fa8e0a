//! How an execution ended: in words, and as one JSON document.

use everstep_interpreter::{Failure, Status};
use everstep_source::words::{count, duration};
use serde_json::{Value, json};

use super::Style;
use super::lines::problem_text;
use crate::entry::{Entry, Handler, Happened, Problem, Verdict};
use crate::frame::path;
use crate::{Report, Story};

/// Earlier failures that are repeated at the end.
const EARLIER_MAX: usize = 10;
/// How much of the cause is shown.
const CAUSE_CHARS_MAX: usize = 2000;

pub fn status_name(status: &Status) -> &'static str {
    match status {
        Status::Running => "RUNNING",
        Status::Succeeded { .. } => "SUCCEEDED",
        Status::Failed { .. } => "FAILED",
        Status::TimedOut => "TIMED_OUT",
        Status::Aborted { .. } => "ABORTED",
    }
}

/// For programs. The form is described in `docs/run.md` and only ever grows.
pub fn document(name: &str, status: &Status, story: &Story) -> Value {
    let (output, failure) = match status {
        Status::Succeeded { output } => (Some(output.value().clone()), None),
        Status::Failed { failure } | Status::Aborted { failure } => (None, Some(failure)),
        Status::Running | Status::TimedOut => (None, None),
    };
    let text = |part: Option<&std::sync::Arc<str>>| part.map(|text| text.to_string());
    json!({
        "name": name,
        "status": status_name(status),
        "output": output,
        "error": failure.and_then(|failure| text(failure.error.as_ref())),
        "cause": failure.and_then(|failure| text(failure.cause.as_ref())),
        "durationMs": story.elapsed_ms(),
        "states": story.states(),
        "retries": story.retries(),
        "story": story.entries(),
    })
}

/// An execution that has ended.
pub struct End<'s> {
    pub status: &'s Status,
    pub report: &'s Report,
    pub timeout_seconds: Option<u64>,
    /// What follows the word `ABORTED`: who stopped it, or why.
    pub stopped: &'s str,
    pub style: Style,
}

impl End<'_> {
    fn counts(&self) -> String {
        format!("{}, {}", entered(self.report.states), retries(self.report.retries))
    }

    /// Only what an exit code does not say.
    #[must_use]
    pub fn short(&self) -> Vec<String> {
        match self.status {
            Status::Succeeded { .. } | Status::Running => Vec::new(),
            _ => vec![self.headline()],
        }
    }

    fn headline(&self) -> String {
        let style = self.style;
        let time = duration(self.report.elapsed_ms);
        match self.status {
            Status::Running => String::new(),
            Status::Succeeded { .. } => {
                format!("{} in {time}, {}", style.good("SUCCEEDED"), self.counts())
            }
            Status::Failed { failure } => {
                let text = problem_text(&self.problem(failure), CAUSE_CHARS_MAX);
                format!("{} after {time}: {text}", style.bad("FAILED"))
            }
            Status::TimedOut => {
                let limit = self.timeout_seconds.map(|seconds| format!(" ({seconds} s)"));
                format!(
                    "{} after {time}: the execution exceeded its TimeoutSeconds{}",
                    style.bad("TIMED OUT"),
                    limit.unwrap_or_default()
                )
            }
            Status::Aborted { .. } => {
                format!("{} after {time}{}", style.bad("ABORTED"), self.stopped)
            }
        }
    }

    /// The failure, with the note of the entry that reported it.
    fn problem(&self, failure: &Failure) -> Problem {
        let ending = self.report.ending.shown.iter().rev().filter_map(Entry::problem);
        let reported = ending.into_iter().find(|problem| problem.error == failure.name());
        reported.cloned().unwrap_or_else(|| Problem {
            error: failure.name().to_owned(),
            cause: failure.cause.as_deref().map(str::to_owned),
            note: None,
        })
    }

    /// The headline, why it failed, what failed before, and how much there was.
    #[must_use]
    pub fn full(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        match self.status {
            Status::Running | Status::Succeeded { .. } => {}
            Status::Failed { .. } => {
                lines.extend(self.end_of_failure());
                lines.extend(self.earlier());
                lines.push(format!("  {}", self.counts()));
            }
            Status::TimedOut | Status::Aborted { .. } => {
                lines.extend(self.where_it_was());
                lines.extend(self.earlier());
                lines.push(format!("  {}", self.counts()));
            }
        }
        lines
    }

    fn where_it_was(&self) -> Vec<String> {
        let activities = self.report.activity_lines();
        activities.into_iter().map(|activity| format!("  at {activity}")).collect()
    }

    /// Every state that the failure passed through, from the inside out.
    fn end_of_failure(&self) -> Vec<String> {
        self.report.ending.shown.iter().flat_map(|entry| self.explain(entry)).collect()
    }

    fn explain(&self, entry: &Entry) -> Vec<String> {
        let Happened::Failed { problem, attempts, retriers, catchers, next: None } =
            &entry.happened
        else {
            return Vec::new();
        };
        let name = self.style.strong(&path(&entry.scope, &entry.state));
        if entry.kind == "Fail" {
            return vec![format!("  {name} is a Fail state")];
        }
        let error = quoted(&problem.error);
        let mut lines = vec![match attempts {
            0 => format!("  {name} failed with {error}"),
            attempts => format!("  {name} failed with {error}, {}", attempts_text(*attempts)),
        }];
        let handlers = handlers("retrier", retriers).chain(handlers("catcher", catchers));
        lines.extend(handlers.map(|line| format!("    {line}")));
        if retriers.is_empty() && catchers.is_empty() && can_handle(&entry.kind) {
            lines.push("    no Retry and no Catch".to_owned());
        }
        if problem.error == everstep_asl::error_name::RUNTIME {
            lines.push("    States.Runtime cannot be retried or caught".to_owned());
        }
        lines
    }

    /// Earlier failures, which were caught or tolerated.
    fn earlier(&self) -> Vec<String> {
        let earlier = &self.report.earlier;
        if earlier.shown.is_empty() {
            return Vec::new();
        }
        let skipped = earlier.shown.len().saturating_sub(EARLIER_MAX);
        let left_out = earlier.omitted + skipped;
        let more = (left_out > 0).then(|| format!("    … and {left_out} earlier"));
        let shown = earlier.shown.iter().skip(skipped).filter_map(|entry| self.handled(entry));
        std::iter::once("  earlier failures:".to_owned())
            .chain(more)
            .chain(shown.flatten())
            .collect()
    }

    fn handled(&self, entry: &Entry) -> Option<Vec<String>> {
        let Happened::Failed { problem, attempts, catchers, next, retriers } = &entry.happened
        else {
            return None;
        };
        let name = path(&entry.scope, &entry.state);
        let room = self.style.width.saturating_sub(6 + name.chars().count());
        let text = problem_text(problem, room);
        let mut lines = vec![format!("    {}  {text}", self.style.strong(&name))];
        lines.push(format!("      {}", attempts_text(*attempts)));
        lines.extend(indented("retrier", retriers));
        lines.extend(indented("catcher", catchers));
        if let (Some(next), Some(last)) = (next, lines.last_mut()) {
            *last += &format!(" → {next}");
        }
        Some(lines)
    }
}

/// Up to the first that matches.
fn indented(noun: &str, all: &[Handler]) -> Vec<String> {
    let number = all.iter().take_while(|one| one.verdict != Verdict::NotAsked).count();
    handlers(noun, all).take(number).map(|line| format!("      {line}")).collect()
}

fn quoted(error: &str) -> &str {
    if error.is_empty() { "an unnamed error" } else { error }
}

fn can_handle(kind: &str) -> bool {
    matches!(kind, "Task" | "Parallel" | "Map")
}

fn entered(states: usize) -> String {
    format!("{} entered", count(states, "state"))
}

fn retries(number: usize) -> String {
    match number {
        0 => "no retries".to_owned(),
        1 => "1 retry".to_owned(),
        more => format!("{more} retries"),
    }
}

pub(super) fn attempts_text(attempts: u32) -> String {
    match attempts {
        0 => "it could not start".to_owned(),
        1 => "1 attempt".to_owned(),
        more => format!("{more} attempts"),
    }
}

/// `retrier 1 of 2 (States.Timeout) does not match`
pub(super) fn handlers(noun: &str, all: &[Handler]) -> impl Iterator<Item = String> {
    all.iter().enumerate().map(move |(index, one)| {
        let (number, of) = (index + 1, all.len());
        let errors = one.error_equals.join(", ");
        let reason = one.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{noun} {number} of {of} ({errors}) {}{reason}", verdict(one.verdict))
    })
}

/// What a retrier or catcher did about an error.
#[must_use]
pub fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::NoMatch => "does not match".to_owned(),
        Verdict::UsedUp(0) => "matches, but allows no retries (MaxAttempts 0)".to_owned(),
        Verdict::UsedUp(1) => "matches, but its 1 retry is used up".to_owned(),
        Verdict::UsedUp(retries) => format!("matches, but its {retries} retries are used up"),
        Verdict::TookOver => "matches".to_owned(),
        Verdict::NotAsked => "is not reached: the first match decides".to_owned(),
    }
}
