//! Invocations of functions: the list, and one of them with every attempt. They are the JSON that the server's own
//! operations answer.

use everstep_source::words::{duration, measured, span};
use everstep_story::history::millis;
use everstep_story::invocation::{self, failure};
use maud::{Markup, html};
use serde_json::Value;

use crate::data::{self, Data};
use crate::page::{Fragment, Page, Section};
use crate::parts::{self, Look, command, copyable, facts, nothing, status};
use crate::{time, url};

/// What is asked for, as the address has it.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub function: String,
    pub state: String,
    pub error: String,
    pub after: String,
}

pub const STATES: [&str; 8] =
    ["Accepted", "Running", "Waiting", "Succeeded", "Exhausted", "Expired", "Cancelled", "Parked"];

pub struct Invocations<'i> {
    pub filter: Filter,
    pub functions: Vec<String>,
    pub invocations: &'i [Value],
    pub next: Option<String>,
}

#[must_use]
pub fn list(of: &Invocations<'_>) -> Page {
    let Filter { function, state, error, after } = &of.filter;
    let at = |after: &str| {
        let pairs =
            [("function", &**function), ("state", state), ("error", error), ("after", after)];
        format!("{}{}", url::path(&["invocations"]), url::query(&pairs))
    };
    let filters = html! {
        h1 { "Invocations" }
        form.filters action=(url::path(&["invocations"])) {
            label {
                "Function"
                select name="function" {
                    option value="" { "All" }
                    @for name in &of.functions { option value=(name) selected[name == function] { (name) } }
                }
            }
            label {
                "State"
                select name="state" {
                    option value="" { "Any" }
                    @for name in STATES { option value=(name) selected[name == state] { (name) } }
                }
            }
            label { "Last error" input name="error" value=(error) autocomplete="off" spellcheck="false"; }
            button { "Show" }
        }
    };
    let content = html! {
        @if of.invocations.is_empty() { (nothing("No invocations found")) }
        @else { section.card { (table(of.invocations, function.is_empty())) } }
        nav.pager aria-label="Pages of invocations" {
            @if !after.is_empty() { a href=(at("")) { "Latest" } }
            @if let Some(next) = &of.next { a rel="next" href=(at(next)) { "Earlier" } }
        }
    };
    Page {
        title: "Invocations".to_owned(),
        section: Section::Invocations,
        class: "list",
        fragments: vec![Fragment::new("filters", filters), Fragment::new("list", content)],
        is_live: after.is_empty(),
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

fn look(invocation: &Value) -> Look {
    match text(invocation, "state") {
        "Succeeded" => Look::Succeeded,
        "Running" => Look::Running,
        "Waiting" => Look::Retrying,
        "Accepted" => Look::Waiting,
        "Cancelled" => Look::Aborted,
        "Expired" => Look::TimedOut,
        _ => Look::Failed,
    }
}

/// The state with its shape; its own word, which is more exact.
fn state(invocation: &Value) -> Markup {
    html! {
        span class={ "status " (look(invocation).class()) } {
            (parts::icon(look(invocation))) (invocation::short_state(invocation))
        }
    }
}

pub(crate) fn last_error(invocation: &Value) -> Option<&str> {
    let attempts = invocation["attempts"].as_array()?;
    attempts.iter().rev().find_map(|attempt| attempt["errorType"].as_str())
}

pub(crate) fn table(invocations: &[Value], with_function: bool) -> Markup {
    html! {
        div.scroll {
            table.rows {
                thead {
                    tr {
                        th scope="col" { "State" } th scope="col" { "Id" }
                        @if with_function { th scope="col" { "Function" } }
                        th scope="col" { "Accepted" } th.number scope="col" { "Attempts" }
                        th scope="col" { "Last error" }
                    }
                }
                tbody {
                    @for one in invocations {
                        @let id = text(one, "invocationId");
                        tr {
                            td { (state(one)) }
                            td { a.main href=(url::invocation(id)) title=(id) { (short(id)) } }
                            @if with_function {
                                td { a href=(url::function(text(one, "function"))) { (text(one, "function")) } }
                            }
                            td { @if let Some(ms) = millis(&one["acceptedAt"]) { (time::ago(ms)) } }
                            td.number { (one["attemptCount"].as_u64().unwrap_or_default()) }
                            td.wide { @if let Some(error) = last_error(one) { b.error { (error) } } }
                        }
                    }
                }
            }
        }
    }
}

/// The beginning of an id, which is as good as all of it to tell them apart.
pub(crate) fn short(id: &str) -> &str {
    id.get(..13).unwrap_or(id)
}

/// One invocation, as `Everstep.ShowInvocation` answers.
pub struct Invocation<'i> {
    pub invocation: &'i Value,
    pub now_ms: i64,
}

#[must_use]
pub fn page(of: &Invocation<'_>) -> Page {
    let one = of.invocation;
    let id = text(one, "invocationId");
    Page {
        title: format!("{} · {}", short(id), text(one, "function")),
        section: Section::Invocations,
        class: "invocation",
        fragments: vec![
            Fragment::new("header", header(of, id)),
            Fragment::new("attempts", attempts(one, of.now_ms)),
            Fragment::new("data", payloads(one)),
        ],
        is_live: true,
    }
}

fn header(of: &Invocation<'_>, id: &str) -> Markup {
    let one = of.invocation;
    let function = text(one, "function");
    let moment = |member: &str| millis(&one[member]).map(time::moment);
    let link = |member: &str| {
        one[member].as_str().map(|id| html! { a href=(url::invocation(id)) { (short(id)) } })
    };
    let mut all = vec![
        ("Function", html! { a href=(url::function(function)) { (function) } }),
        ("Version", html! { (text(one, "version")) }),
        ("Source", html! { (invocation::source(&one["source"])) }),
    ];
    let key = one["dedupeKey"].as_str().map(|key| html! { code { (key) } });
    let took = millis(&one["endedAt"]).zip(millis(&one["acceptedAt"]));
    let took = took.map(|(ended, accepted)| html! { (measured(ended - accepted)) });
    let more = [
        ("Accepted", moment("acceptedAt")),
        ("Expires", moment("expiresAt")),
        ("Ended", moment("endedAt")),
        ("Took", took),
        ("Key", key),
        ("Redrive of", link("redrivenFrom")),
        ("Redriven as", link("redrivenAs")),
    ];
    all.extend(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let is_open = matches!(text(one, "state"), "Accepted" | "Running" | "Waiting");
    html! {
        nav.crumbs aria-label="Breadcrumb" {
            a href=(url::path(&["invocations"])) { "Invocations" }
            a href={ (url::path(&["invocations"])) (url::query(&[("function", function)])) } { (function) }
        }
        div.title {
            h1 { (short(id)) }
            (state(one))
            div.buttons {
                @if is_open { (parts::action(&format!("{}/cancel", url::invocation(id)), "Cancel", "danger")) }
                @if one["deadLetter"] == true {
                    (parts::action(&format!("{}/redrive", url::invocation(id)), "Redrive", "primary"))
                }
            }
        }
        (facts(&all))
        p.arn { (copyable(id, "the id")) }
        (next(one, of.now_ms, id, is_open))
        @if let Some(destinations) = one["destinations"].as_array().filter(|all| !all.is_empty()) {
            section.card {
                h2 { "Destinations" }
                ul { @for one in destinations { li { (invocation::destination(one)) } } }
            }
        }
    }
}

/// Why it is in its state, what happens next, and what a user can do.
fn next(one: &Value, now_ms: i64, id: &str, is_open: bool) -> Markup {
    html! {
        section.card {
            h2 { "What happens next" }
            p { (invocation::state(one)) }
            @if let Some(due_ms) = millis(&one["dueAt"]) {
                p { "The next attempt begins in " (time::until(due_ms, now_ms)) ", at " (time::moment(due_ms)) "." }
            } @else if text(one, "state") != "Running" {
                @let text = invocation::next(one, now_ms);
                @if !text.is_empty() { p { (text) } }
            }
            ul.todo {
                @if is_open { li { "cancel it: " (command(&format!("everstep invocations cancel {id}"))) } }
                @if one["deadLetter"] == true {
                    li { "run it again: " (command(&format!("everstep deadletters redrive {id}"))) }
                }
                li { "see it: " (command(&format!("everstep invocations show {id}"))) }
            }
        }
    }
}

fn attempts(one: &Value, now_ms: i64) -> Markup {
    let attempts = one["attempts"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        section.card {
            h2 { "Attempts" }
            @if attempts.is_empty() { (nothing("None yet")) }
            @if let Some(left_out) = one["attemptsLeftOut"].as_u64() {
                p.note { (left_out) " attempts in between are not recorded" }
            }
            ol.attempts { @for attempt in attempts { (attempt_item(attempt, now_ms)) } }
        }
    }
}

fn attempt_item(attempt: &Value, now_ms: i64) -> Markup {
    let look = match text(attempt, "outcome") {
        "Succeeded" => Look::Succeeded,
        "Running" => Look::Running,
        "Failed" => Look::Failed,
        _ => Look::Aborted,
    };
    let (started, ended) = (millis(&attempt["startedAt"]), millis(&attempt["endedAt"]));
    let (stack, log) = (failure::stack(attempt), failure::log(attempt));
    html! {
        li {
            div.line {
                b { "Attempt " (attempt["n"].as_u64().unwrap_or_default()) }
                (status(look))
                @if let Some(started) = started {
                    (time::moment(started))
                    span.note {
                        @match ended {
                            Some(ended) => { "took " (duration(ended - started)) }
                            None => { "for " (time::since(started, now_ms)) }
                        }
                    }
                }
                @if let Some(delay) = attempt["nextDelayMs"].as_i64() {
                    span.note { "retried after " (span(delay)) }
                }
            }
            @if attempt.get("errorType").is_some() { p { b.error { (failure::head(attempt)) } } }
            @if !stack.is_empty() { details.raw { summary { "Stack trace" } pre { (stack.join("\n")) } } }
            @if !log.is_empty() { details.raw { summary { "Output" } pre { (log.join("\n")) } } }
        }
    }
}

fn payloads(one: &Value) -> Markup {
    let block = |title: &str, value: &Value| {
        html! { section { h3 { (title) } (data::block(&Data::new(value.to_string()))) } }
    };
    html! {
        section.card {
            div.columns {
                @if !one["payload"].is_null() { (block("Event", &one["payload"])) }
                @if !one["response"].is_null() { (block("Response", &one["response"])) }
            }
        }
    }
}
