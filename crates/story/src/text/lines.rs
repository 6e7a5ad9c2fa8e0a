//! The lines of an entry: when, where, what happened, and what follows.

use everstep_interpreter::Failure;
use everstep_source::words::{count, duration, measured, span};

use super::Style;
use crate::entry::{Entry, Handler, Happened, Otherwise, Problem, Retrier, Verdict};
use crate::frame::path;
use crate::words;

/// The width of the column that holds the time.
pub const MARGIN: usize = 11;
/// How much of a cause is shown at least, however narrow the window.
const CAUSE_CHARS_MIN: usize = 30;

#[must_use]
pub fn lines(entry: &Entry, style: Style) -> Vec<String> {
    let indent = "  ".repeat(entry.scope.len());
    let time = format!("{:>w$}  ", duration(entry.at_ms), w = MARGIN - 2);
    let head = |mark: &str, rest: String| {
        let name = path(&entry.scope, &entry.state);
        format!("{}{indent}{mark} {}{rest}", style.faint(&time), style.strong(&name))
    };
    let below = |text: String| format!("{:MARGIN$}{indent}  {text}", "");
    let room = style.width.saturating_sub(MARGIN + indent.len() + 2);
    let failed = |problem: &Problem| {
        let taken = path(&entry.scope, &entry.state).chars().count() + 2;
        let (error, cause) = problem_lines(problem, room.saturating_sub(taken), room);
        let first = head(&style.bad("✗"), format!("  {error}"));
        std::iter::once(first).chain(cause.map(below)).collect::<Vec<_>>()
    };
    match &entry.happened {
        Happened::Succeeded { duration_ms, attempts, next } => {
            let rest = succeeded(&entry.kind, *duration_ms, *attempts, next.as_deref());
            vec![head(&style.good("✓"), style.faint(&rest))]
        }
        Happened::Retried { problem, retrier, otherwise, .. } => {
            let mut lines = failed(problem);
            lines.push(below(style.warning(&retried(retrier))));
            lines.extend(
                otherwise.as_ref().map(|then| below(style.faint(&if_it_fails_again(then)))),
            );
            lines
        }
        Happened::Failed { problem, next, catchers, .. } => {
            let mut lines = failed(problem);
            let caught = next.as_ref().map(|next| caught(catchers, next));
            lines.extend(caught.map(|caught| below(style.warning(&caught))));
            lines
        }
        Happened::Waiting { duration_ms } => {
            let rest = format!("  waits {}", span(*duration_ms));
            vec![head(&style.faint("·"), style.faint(&rest))]
        }
        Happened::BranchesStarted { branches } => {
            let rest = format!("  {}", branches_text(*branches));
            vec![head(&style.faint("┬"), style.faint(&rest))]
        }
        Happened::ItemsStarted { items, distributed } => {
            let how = if *distributed { ", child executions" } else { "" };
            let rest = format!("  {}{how}", count(*items, "item"));
            vec![head(&style.faint("┬"), style.faint(&rest))]
        }
        Happened::Aborted => {
            vec![head(&style.warning("■"), style.faint("  stopped"))]
        }
        Happened::Redriven { count } => {
            let rest = format!("  redrive {count}: continues from here");
            vec![head(&style.faint("↻"), style.faint(&rest))]
        }
        Happened::Said { line } => {
            let text = format!("{}: {line}", path(&entry.scope, &entry.state));
            vec![format!("{:MARGIN$}{indent}{}", "", style.faint(&format!("│ {text}")))]
        }
    }
}

fn branches_text(branches: u32) -> String {
    if branches == 1 { "1 branch".to_owned() } else { format!("{branches} branches") }
}

fn succeeded(kind: &str, duration_ms: i64, attempts: u32, next: Option<&str>) -> String {
    let mut facts = Vec::new();
    if let ("Choice", Some(next)) = (kind, next) {
        facts.push(format!("→ {next}"));
    }
    if duration_ms > 0 {
        facts.push(measured(duration_ms));
    }
    if attempts > 1 {
        facts.push(format!("{attempts} attempts"));
    }
    if facts.is_empty() { String::new() } else { format!("  {}", facts.join(", ")) }
}

/// `RateLimitError: too many calls`, in at most `room` characters if possible.
pub(super) fn problem_text(problem: &Problem, room: usize) -> String {
    let (name, cause) = named(problem);
    match cause {
        None => name,
        Some(cause) => {
            let left = room.saturating_sub(name.chars().count() + 2).max(CAUSE_CHARS_MIN);
            format!("{name}: {}", words::shorten(&cause, left))
        }
    }
}

/// The cause on a line of its own if there is too little room for it beside the name.
fn problem_lines(problem: &Problem, room: usize, room_below: usize) -> (String, Option<String>) {
    let (name, cause) = named(problem);
    let left = room.saturating_sub(name.chars().count() + 2);
    match cause {
        Some(cause) if left < CAUSE_CHARS_MIN && cause.chars().count() > left => {
            (name, Some(words::shorten(&cause, room_below)))
        }
        _ => (problem_text(problem, room), None),
    }
}

fn named(problem: &Problem) -> (String, Option<String>) {
    let failure = Failure {
        error: Some(problem.error.as_str().into()),
        cause: problem.cause.as_deref().map(Into::into),
    };
    (words::name(&failure), words::cause(&failure).or_else(|| problem.note.clone()))
}

fn retried(retrier: &Retrier) -> String {
    let Retrier { number, of, matched, retry, max_attempts, delay_ms, .. } = retrier;
    let delay = span(*delay_ms);
    format!("retry {retry} of {max_attempts} in {delay}, by retrier {number} of {of} ({matched})")
}

pub(super) fn if_it_fails_again(otherwise: &Otherwise) -> String {
    match otherwise {
        Otherwise::Caught { number, of, error_equals, next } => {
            let errors = error_equals.join(", ");
            format!("if it fails again: catcher {number} of {of} ({errors}) → {next}")
        }
        Otherwise::Fails { what: Some(around) } => format!("if it fails again: {around} fails"),
        Otherwise::Fails { what: None } => "if it fails again: the execution fails".to_owned(),
    }
}

fn caught(catchers: &[Handler], next: &str) -> String {
    let taken = |handler: &Handler| handler.verdict == Verdict::TookOver;
    let index = catchers.iter().position(taken).unwrap_or(0);
    let errors = catchers.get(index).map(|handler| handler.error_equals.join(", "));
    format!(
        "caught by catcher {} of {} ({}) → {next}",
        index + 1,
        catchers.len(),
        errors.unwrap_or_default()
    )
}
