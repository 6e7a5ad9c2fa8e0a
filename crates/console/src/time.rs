//! Times as elements that both people and the script read.
//!
//! What is written is in UTC and never changes with the clock; the script shows how long ago that was, or the time of
//! the reader's own clock.

use everstep_expr::timestamp;
use everstep_source::words;
use maud::{Markup, html};

/// `2026-11-16T09:30:00.123Z`
fn iso(ms: i64) -> String {
    let text = timestamp::format_millis(ms);
    if text.ends_with('Z') { text } else { format!("{text}Z") }
}

/// A moment: `2026-11-16 09:30:00`.
pub(crate) fn moment(ms: i64) -> Markup {
    let iso = iso(ms);
    let (date, clock) = iso.split_once('T').unwrap_or((&iso, ""));
    let clock = clock.split(['.', 'Z']).next().unwrap_or_default();
    html! {
        time datetime=(iso) title={ (iso) " (UTC)" } { (date) " " (clock) }
    }
}

/// How long something has taken that is not over; the script counts on.
pub(crate) fn since(from_ms: i64, now_ms: i64) -> Markup {
    html! {
        time.tick datetime=(iso(from_ms)) data-since=(from_ms) title={ "since " (iso(from_ms)) } {
            (words::duration(now_ms - from_ms))
        }
    }
}

/// How long it is until then; the script counts down.
pub(crate) fn until(due_ms: i64, now_ms: i64) -> Markup {
    html! {
        time.tick datetime=(iso(due_ms)) data-until=(due_ms) title=(iso(due_ms)) {
            (words::duration(due_ms - now_ms))
        }
    }
}

/// A moment of which the script shows how long ago it was.
pub(crate) fn ago(ms: i64) -> Markup {
    let iso = iso(ms);
    let (date, clock) = iso.split_once('T').unwrap_or((&iso, ""));
    let clock = clock.split(['.', 'Z']).next().unwrap_or_default();
    html! {
        time datetime=(iso) data-ago=(ms) title={ (iso) " (UTC)" } { (date) " " (clock) }
    }
}

/// As [`since`], in a list: without the script it says since when, so that the list only changes when it must.
pub(crate) fn running(from_ms: i64) -> Markup {
    html! {
        time.tick datetime=(iso(from_ms)) data-since=(from_ms) title={ "since " (iso(from_ms)) } { "running" }
    }
}
