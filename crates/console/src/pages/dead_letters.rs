//! Dead letters: grouped by cause, then one by one, and what can be done about them.

use everstep_story::history::millis;
use maud::{Markup, html};
use serde_json::Value;

use super::invocations::{last_error, short};
use crate::page::{Fragment, Page, Section};
use crate::parts::{self, command, grouped, nothing};
use crate::{time, url};

/// Letters that one request redrives.
pub const REDRIVE_MAX: usize = 1000;

/// Letters of one function that failed the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub function: String,
    pub error: String,
    pub reason: String,
    pub count: usize,
    pub latest_ms: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub function: String,
    pub error: String,
    pub reason: String,
}

impl Filter {
    fn is_some(&self) -> bool {
        *self != Self::default()
    }
}

pub struct DeadLetters<'d> {
    pub filter: Filter,
    pub groups: Vec<Group>,
    /// There are more than were counted.
    pub has_more: bool,
    /// Those of the filter.
    pub letters: &'d [Value],
    pub refused: Option<&'d str>,
}

#[must_use]
pub fn page(of: &DeadLetters<'_>) -> Page {
    let address = url::path(&["deadletters"]);
    let groups = html! {
        h1 { "Dead letters" }
        p.lead { "Invocations that failed for good. They are kept until you redrive or purge them." }
        @if of.groups.is_empty() { (nothing("None")) } @else {
            section.card { (group_table(of, &address)) }
        }
        @if of.has_more { p.note { "There are more; the latest 5,000 are counted" } }
    };
    let letters = html! {
        @if of.filter.is_some() {
            section.card {
                div.title {
                    h2 { (of.filter.function) " · " (of.filter.error) " · " (of.filter.reason) }
                }
                @if let Some(refused) = of.refused { p.banner role="alert" { (refused) } }
                (bulk(of, &address))
                (letter_table(of.letters))
            }
        }
    };
    Page {
        title: "Dead letters".to_owned(),
        section: Section::DeadLetters,
        class: "list",
        fragments: vec![Fragment::new("groups", groups), Fragment::new("letters", letters)],
        is_live: false,
    }
}

fn group_table(of: &DeadLetters<'_>, address: &str) -> Markup {
    html! {
        div.scroll {
            table.rows {
                thead {
                    tr {
                        th.number scope="col" { "Letters" } th scope="col" { "Function" }
                        th scope="col" { "Error" } th scope="col" { "Reason" } th scope="col" { "Latest" }
                    }
                }
                tbody {
                    @for group in &of.groups {
                        @let pairs = [("function", &*group.function), ("error", &group.error), ("reason", &group.reason)];
                        tr {
                            td.number { (grouped(group.count)) }
                            td { a.main href={ (address) (url::query(&pairs)) } { (group.function) } }
                            td { b.error { (group.error) } }
                            td { (group.reason) }
                            td { (time::ago(group.latest_ms)) }
                        }
                    }
                }
            }
        }
    }
}

/// Redrives a group. Its size must be typed, so that nobody does it by a slip.
fn bulk(of: &DeadLetters<'_>, address: &str) -> Markup {
    let Filter { function, error, reason } = &of.filter;
    let count = of
        .groups
        .iter()
        .find(|group| (&group.function, &group.error, &group.reason) == (function, error, reason));
    let count = count.map_or(0, |group| group.count).min(REDRIVE_MAX);
    let text = format!("everstep deadletters redrive --function {function} --error {error}");
    html! {
        @if count > 0 {
            details.start {
                summary { "Redrive all " (grouped(count)) "…" }
                form.stack method="post" action={ (address) "/redrive" } {
                    input type="hidden" name="function" value=(function);
                    input type="hidden" name="error" value=(error);
                    input type="hidden" name="reason" value=(reason);
                    label.check { input type="checkbox" name="latest" value="yes"; "with the function's present retry policy" }
                    label { "Seconds between them" input.short name="spacing" inputmode="decimal" value="0" autocomplete="off"; }
                    label {
                        "Type " b { (count) } " to confirm"
                        input.short name="count" inputmode="numeric" required autocomplete="off";
                    }
                    button.danger { "Redrive " (grouped(count)) }
                }
            }
            p { "or: " (command(&text)) }
        }
    }
}

fn letter_table(letters: &[Value]) -> Markup {
    let text = |one: &'_ Value, member: &str| one[member].as_str().unwrap_or_default().to_owned();
    html! {
        div.scroll {
            table.rows {
                thead {
                    tr {
                        th scope="col" { "Id" } th scope="col" { "Ended" } th.number scope="col" { "Attempts" }
                        th scope="col" { "Error" } th scope="col" { "Source" } th scope="col" { "Action" }
                    }
                }
                tbody {
                    @for one in letters {
                        @let id = text(one, "invocationId");
                        tr {
                            td { a.main href=(url::invocation(&id)) title=(id) { (short(&id)) } }
                            td { @if let Some(ms) = millis(&one["endedAt"]) { (time::ago(ms)) } }
                            td.number { (one["attemptCount"].as_u64().unwrap_or_default()) }
                            td.wide { @if let Some(error) = last_error(one) { b.error { (error) } } }
                            td { (everstep_story::invocation::source(&one["source"])) }
                            td { (parts::action(&format!("{}/redrive", url::invocation(&id)), "Redrive", "")) }
                        }
                    }
                }
            }
        }
    }
}
