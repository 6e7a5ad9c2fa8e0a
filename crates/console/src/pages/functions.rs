//! Functions: the list, and one of them with its policy, its load and its latest invocations.

use everstep_source::words::span;
use everstep_story::invocation::policy;
use maud::{Markup, html};
use serde_json::Value;

use super::invocations::table;
use crate::page::{Fragment, Page, Section};
use crate::parts::{copyable, facts, nothing};
use crate::url;

/// `functions` as `Everstep.ListFunctions` answers.
#[must_use]
pub fn list(functions: &[Value]) -> Page {
    let content = html! {
        h1 { "Functions" }
        @if functions.is_empty() {
            (nothing("No functions: serve those of an everstep.yaml with `everstep serve --functions PATH`"))
        } @else {
            section.card { (summaries(functions)) }
        }
    };
    Page {
        title: "Functions".to_owned(),
        section: Section::Functions,
        class: "list",
        fragments: vec![Fragment::new("list", content)],
        is_live: true,
    }
}

pub(crate) fn summaries(functions: &[Value]) -> Markup {
    html! {
        div.scroll {
            table.rows {
                thead {
                    tr {
                        th scope="col" { "Name" } th scope="col" { "Runtime" }
                        th scope="col" { "Slots" } th.number scope="col" { "Waiting" }
                        th.number scope="col" { "Timeout" } th scope="col" { "Retries" }
                    }
                }
                tbody {
                    @for function in functions {
                        tr {
                            td { a.main href=(url::function(text(function, "name"))) { (text(function, "name")) } }
                            td { (text(function, "runtime")) }
                            td { (slots(function)) }
                            td.number { (number(function, "waiting")) }
                            td.number { (timeout(function)) }
                            td.wide { @for line in policy::of(function) { div { (line) } } }
                        }
                    }
                }
            }
        }
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

fn number(value: &Value, member: &str) -> u64 {
    value[member].as_u64().unwrap_or_default()
}

fn timeout(function: &Value) -> String {
    function["timeoutMs"].as_i64().map(span).unwrap_or_default()
}

/// `2 of 10 busy`
fn slots(function: &Value) -> String {
    let busy = number(function, "workers").saturating_sub(number(function, "idle"));
    match function["concurrency"].as_u64() {
        Some(0) => "disabled (concurrency 0)".to_owned(),
        Some(limit) => format!("{busy} of {limit} busy"),
        None => format!("{busy} busy"),
    }
}

/// One function.
pub struct Function<'f> {
    /// As `Everstep.ListFunctions` answers.
    pub function: &'f Value,
    pub invocations: &'f [Value],
    pub payload: &'f str,
    /// Why the last invocation was refused.
    pub refused: Option<&'f str>,
}

#[must_use]
pub fn page(of: &Function<'_>) -> Page {
    let name = text(of.function, "name");
    let memory = of.function["memoryMiB"].as_u64().map(|mib| format!("{mib} MiB"));
    let mut all = vec![
        ("Runtime", html! { (text(of.function, "runtime")) }),
        ("Handler", html! { code { (text(of.function, "handler")) } }),
        ("Slots", html! { (slots(of.function)) }),
        ("Waiting", html! { (number(of.function, "waiting")) }),
        ("Timeout", html! { (timeout(of.function)) }),
    ];
    all.extend(memory.map(|memory| ("Memory", html! { (memory) })));
    let header = html! {
        nav.crumbs aria-label="Breadcrumb" { a href=(url::path(&["functions"])) { "Functions" } }
        div.title { h1 { (name) } }
        (facts(&all))
        p.arn { (copyable(text(of.function, "arn"), "the ARN")) }
    };
    let policy = html! {
        section.card {
            h2 { "Retries of asynchronous invocations" }
            ul { @for line in policy::of(of.function) { li { (line) } } }
            p.note {
                "Tasks of executions are retried by the " code { "Retry" } " of their state. "
                code { "everstep explain " (name) } " shows every delay."
            }
        }
    };
    let all = format!("{}{}", url::path(&["invocations"]), url::query(&[("function", name)]));
    let invocations = html! {
        section.card {
            h2 { "Latest invocations" }
            @if of.invocations.is_empty() { (nothing("None: tasks of executions are not invocations")) }
            @else { (table(of.invocations, false)) }
            p { a href=(all) { "All invocations" } }
        }
    };
    Page {
        title: name.to_owned(),
        section: Section::Functions,
        class: "function",
        fragments: vec![
            Fragment::new("header", header),
            Fragment::new("policy", policy),
            Fragment::new("invoke", invoke(of, name)),
            Fragment::new("invocations", invocations),
        ],
        is_live: false,
    }
}

fn invoke(of: &Function<'_>, name: &str) -> Markup {
    html! {
        details.card.start open[of.refused.is_some()] {
            summary { h2 { "Invoke it" } }
            @if let Some(refused) = of.refused { p.banner role="alert" { (refused) } }
            form.stack method="post" action={ (url::function(name)) "/invoke" } {
                label {
                    "Event"
                    textarea #input name="payload" rows="6" spellcheck="false" data-json="" { (of.payload) }
                }
                p #input-problem .problem role="status" {}
                button.primary { "Invoke asynchronously" }
            }
        }
    }
}
