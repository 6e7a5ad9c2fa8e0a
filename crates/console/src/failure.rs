//! A failure and the seven answers about it: what failed, why, how often it was tried, who took it and who did not, when
//! the next try comes, what happens if that fails too, and what a user can do now.

use everstep_source::words::{span, times};
use everstep_story::{Entry, Handler, Happened, Otherwise, Problem, Retrier, Verdict, text, words};
use maud::{Markup, html};

use crate::data::{self, Data};
use crate::parts::{Look, count, icon};
use crate::time;
use crate::url;

/// What a failure is shown in.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// The page of the execution.
    pub(crate) address: &'a str,
    pub(crate) started_ms: i64,
    pub(crate) now_ms: i64,
    pub(crate) is_running: bool,
}

/// Nothing if the entry is not a failure. `todo` is what a user can do, where that is to be said.
pub(crate) fn card(
    entry: &Entry,
    around: Around<'_>,
    todo: Option<&Markup>,
    is_open: bool,
) -> Markup {
    let (Some(problem), Some(look)) = (entry.problem(), look(entry)) else { return html! {} };
    let name = place(entry);
    html! {
        details.failure open[is_open] {
            summary {
                (icon(look))
                strong { (name) }
                @if entry.kind == "Fail" { " ended the execution with " } @else { " failed with " }
                b.error { (error_name(problem)) }
                @if entry.kind == "Fail" {
                    @if let Some(message) = message(problem) { span.outcome { (message) } }
                }
                span.outcome { (outcome(entry, around)) }
            }
            dl.answers {
                (answer("What failed", what(entry, around)))
                (answer("Why", why(problem)))
                (answer("Tried", tried(entry, around)))
                (answer("Handled by", handled(entry)))
                (answer("Next try", next_try(entry, around)))
                (answer("If that fails too", then(entry)))
                @if let Some(todo) = todo { (answer("You can", todo.clone())) }
            }
        }
    }
}

fn answer(question: &str, answer: Markup) -> Markup {
    html! { div { dt { (question) } dd { (answer) } } }
}

fn look(entry: &Entry) -> Option<Look> {
    match &entry.happened {
        Happened::Retried { .. } => Some(Look::Retrying),
        Happened::Failed { next: Some(_), .. } => Some(Look::Caught),
        Happened::Failed { .. } => Some(Look::Failed),
        _ => None,
    }
}

/// `Ship[2] › Charge`
pub(crate) fn place(entry: &Entry) -> String {
    let around: String = entry.scope.iter().map(|part| format!("{part} › ")).collect();
    around + &entry.state
}

pub(crate) fn error_name(problem: &Problem) -> &str {
    if problem.error.is_empty() { "an unnamed error" } else { &problem.error }
}

/// The message of a cause, as people read it.
pub(crate) fn message(problem: &Problem) -> Option<String> {
    words::message(problem.cause.as_deref()).or_else(|| problem.note.clone())
}

fn outcome(entry: &Entry, around: Around<'_>) -> Markup {
    match &entry.happened {
        Happened::Retried { retrier, .. } => {
            let due_ms = around.started_ms + entry.at_ms + retrier.delay_ms;
            html! {
                "retry " (retrier.retry) " of " (retrier.max_attempts)
                @if due_ms > around.now_ms { " in " (time::until(due_ms, around.now_ms)) }
            }
        }
        Happened::Failed { next: Some(next), .. } => html! { "caught → " (next) },
        _ => html! {},
    }
}

fn what(entry: &Entry, around: Around<'_>) -> Markup {
    let visit = entry.visit.map(|visit| visit.to_string()).unwrap_or_default();
    let href = format!("{}{}#state", around.address, url::query(&[("visit", &visit)]));
    html! {
        a href=(href) { (place(entry)) }
        ", a " (entry.kind) " state"
        @if entry.kind == "Fail" { ": it ends the execution on purpose" }
    }
}

fn why(problem: &Problem) -> Markup {
    let message = message(problem);
    let raw = problem.cause.as_deref().filter(|raw| message.as_deref() != Some(raw));
    html! {
        b.error { (error_name(problem)) }
        @if let Some(message) = &message { ": " (message) }
        @if let Some(raw) = raw {
            details.raw { summary { "Whole cause" } (data::block(&Data::new(raw))) }
        }
    }
}

fn tried(entry: &Entry, around: Around<'_>) -> Markup {
    let attempts = match &entry.happened {
        Happened::Retried { attempt, .. } => *attempt,
        Happened::Failed { attempts, .. } => *attempts,
        _ => 0,
    };
    let at = time::moment(around.started_ms + entry.at_ms);
    html! {
        @match attempts {
            0 if entry.kind == "Fail" => { "Once: a Fail state is never retried" }
            0 => { "It could not start" }
            1 => { "Once" }
            more => { (capital(&times(more.into()))) }
        }
        ", failed at " (at)
    }
}

/// With a capital letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn handled(entry: &Entry) -> Markup {
    let (retriers, catchers, is_retried) = match &entry.happened {
        Happened::Retried { retriers, catchers, .. } => (retriers, catchers, true),
        Happened::Failed { retriers, catchers, .. } => (retriers, catchers, false),
        _ => return html! {},
    };
    if retriers.is_empty() && catchers.is_empty() {
        return match &*entry.kind {
            "Task" | "Parallel" | "Map" => html! { "Nothing: the state has no Retry and no Catch" },
            kind => html! { "Nothing: a " (kind) " state has no Retry and no Catch" },
        };
    }
    html! {
        ul.handlers {
            (handlers("Retrier", retriers, "matches"))
            (handlers("Catcher", catchers, if is_retried { "would match" } else { "matches" }))
        }
    }
}

fn handlers(noun: &str, all: &[Handler], matches: &str) -> Markup {
    html! {
        @for (index, handler) in all.iter().enumerate() {
            li class=(verdict_class(handler.verdict)) {
                (noun) " " (index + 1) " of " (all.len()) " "
                @for name in &handler.error_equals { code { (name) } " " }
                em {
                    @if handler.verdict == Verdict::TookOver { (matches) }
                    @else { (text::verdict(handler.verdict)) }
                }
                @if let Some(reason) = &handler.reason { ": " (reason) }
            }
        }
    }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::TookOver => "took",
        Verdict::UsedUp(_) => "used-up",
        Verdict::NoMatch => "no-match",
        Verdict::NotAsked => "not-asked",
    }
}

fn next_try(entry: &Entry, around: Around<'_>) -> Markup {
    match &entry.happened {
        Happened::Retried { retrier, .. } => {
            let due_ms = around.started_ms + entry.at_ms + retrier.delay_ms;
            html! {
                "Retry " (retrier.retry) " of " (retrier.max_attempts)
                @if due_ms > around.now_ms && around.is_running {
                    " in " (time::until(due_ms, around.now_ms)) ", at " (time::moment(due_ms))
                } @else {
                    ", which began at " (time::moment(due_ms))
                }
            }
        }
        Happened::Failed { next: Some(next), .. } => {
            html! { "None: the execution continued at " b { (next) } }
        }
        Happened::Failed { retriers, .. } => {
            let used_up = retriers.iter().any(|one| matches!(one.verdict, Verdict::UsedUp(1..)));
            html! { @if used_up { "None: no retry is left" } @else { "None: no retrier matches" } }
        }
        _ => html! {},
    }
}

fn then(entry: &Entry) -> Markup {
    match &entry.happened {
        Happened::Retried { retrier, finally, .. } => if_retried(retrier, finally),
        Happened::Failed { next: Some(_), .. } => {
            html! { "Nothing is left to fail here: the error was caught" }
        }
        Happened::Failed { .. } => match entry.scope.last() {
            Some(around) => html! { b { (around) } " fails" },
            None => html! { "The execution has failed" },
        },
        _ => html! {},
    }
}

fn if_retried(retrier: &Retrier, finally: &Otherwise) -> Markup {
    let Some(delay_ms) = retrier.next_delay_ms else { return finally_text(finally) };
    let left = retrier.max_attempts.saturating_sub(u64::from(retrier.retry));
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    html! {
        "Retry " (retrier.retry + 1) " of " (retrier.max_attempts)
        @if retrier.jitter { " within " } @else { " after " }
        (span(delay_ms)) ". If "
        @if left == 1 { "that fails" } @else { "all " (count(left, "retry").replace("retrys", "retries")) " fail" }
        ": " (finally_text(finally))
    }
}

fn finally_text(finally: &Otherwise) -> Markup {
    match finally {
        Otherwise::Caught { number, of, error_equals, next } => html! {
            "catcher " (number) " of " (of) " "
            @for name in error_equals { code { (name) } " " }
            "continues at " b { (next) }
        },
        Otherwise::Fails { what: Some(around) } => html! { b { (around) } " fails" },
        Otherwise::Fails { what: None } => html! { "the execution fails" },
    }
}
