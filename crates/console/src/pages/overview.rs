//! The overview: what needs attention, then machines and functions.

use maud::{Markup, html};
use serde_json::Value;

use super::dead_letters::Group;
use super::executions::{Row, table};
use super::machines::{Summary, summaries};
use crate::page::{Fragment, Page, Section};
use crate::parts::{Look, count, grouped, icon, nothing};
use crate::url;

pub struct Overview<'o> {
    pub machines: Vec<Summary>,
    pub has_more_machines: bool,
    pub functions: &'o [Value],
    /// The latest executions that failed, of all machines.
    pub failed: Vec<Row>,
    pub has_more_failed: bool,
    pub running: Vec<Row>,
    pub has_more_running: bool,
    pub dead_letters: Vec<Group>,
    /// Why nothing can be stored any more.
    pub failure: Option<String>,
}

#[must_use]
pub fn page(of: &Overview<'_>) -> Page {
    let machines = html! {
        section.card {
            h2 { "State machines" }
            @if of.machines.is_empty() { (nothing("None yet")) } @else { (summaries(&of.machines)) }
            @if of.has_more_machines { p { a href=(url::path(&["machines"])) { "All state machines" } } }
        }
        @if !of.functions.is_empty() {
            section.card {
                h2 { "Functions" }
                (super::functions::summaries(of.functions))
            }
        }
    };
    Page {
        title: "Overview".to_owned(),
        section: Section::Overview,
        class: "overview",
        fragments: vec![
            Fragment::new("attention", attention(of)),
            Fragment::new("now", now(of)),
            Fragment::new("machines", machines),
        ],
        is_live: true,
    }
}

/// What is not as it should be, each with a link to where it can be put right.
fn attention(of: &Overview<'_>) -> Markup {
    let letters: usize = of.dead_letters.iter().map(|group| group.count).sum();
    let is_calm = of.failure.is_none() && of.failed.is_empty() && letters == 0;
    html! {
        h1 { "Overview" }
        ul.attention {
            @if let Some(failure) = &of.failure {
                li.bad { (icon(Look::Failed)) b { "Nothing can be stored" } ": " (failure) }
            }
            @if letters > 0 {
                li.bad {
                    (icon(Look::Failed))
                    a href=(url::path(&["deadletters"])) { (count(letters, "dead letter")) }
                    " waiting for a decision"
                }
            }
            @if !of.failed.is_empty() {
                li.bad {
                    (icon(Look::Failed))
                    a href={ (url::path(&["executions"])) "?status=FAILED" } {
                        @if of.has_more_failed { "More than " }
                        (count(of.failed.len(), "execution"))
                    }
                    " failed in the last 24 hours"
                }
            }
            @if is_calm { li.good { (icon(Look::Succeeded)) "Nothing needs attention" } }
        }
    }
}

fn now(of: &Overview<'_>) -> Markup {
    let more = if of.has_more_running { "+" } else { "" };
    html! {
        div.pair {
            section.card {
                h2 { "Running now: " (grouped(of.running.len())) (more) }
                @if of.running.is_empty() { (nothing("Nothing is running")) }
                @else { (table(&of.running[..of.running.len().min(10)], true)) }
            }
            section.card {
                h2 { "Failed in the last 24 hours" }
                @if of.failed.is_empty() { (nothing("None")) }
                @else { (table(&of.failed[..of.failed.len().min(10)], true)) }
            }
        }
    }
}
