//! A failure that is being retried: the answers to what a user asks about it.

use everstep_source::words::span;

use super::Style;
use super::end::{attempts_text, handlers};
use super::lines::{if_it_fails_again, problem_text};
use crate::entry::{Entry, Happened, Otherwise, Retrier};
use crate::frame::path;

/// Nothing if the entry is not such a failure.
#[must_use]
pub fn open_failure(entry: &Entry, style: Style) -> Vec<String> {
    let Happened::Retried { problem, attempt, retrier, retriers, finally, .. } = &entry.happened
    else {
        return Vec::new();
    };
    let name = path(&entry.scope, &entry.state);
    let room = style.width.saturating_sub(2 + name.chars().count());
    let mut lines = vec![format!("{}  {}", style.strong(&name), problem_text(problem, room))];
    lines.push(format!("  {}", attempts_text(*attempt)));
    lines.extend(handlers("retrier", retriers).map(|line| format!("  {line}")));
    lines.push(format!("  {}", if_it_fails(retrier, finally)));
    lines
}

/// `if it fails again: retry 2 of 5 after 20 s; if all fail: catcher 1 of 2 (States.ALL) → Undo`
fn if_it_fails(retrier: &Retrier, finally: &Otherwise) -> String {
    let Some(delay_ms) = retrier.next_delay_ms else { return if_it_fails_again(finally) };
    let after = if retrier.jitter { "within" } else { "after" };
    let next = format!("retry {} of {}", retrier.retry + 1, retrier.max_attempts);
    let then = if_it_fails_again(finally).replacen("if it fails again", "if all fail", 1);
    format!("if it fails again: {next} {after} {}; {then}", span(delay_ms))
}
