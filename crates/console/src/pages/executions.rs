//! The executions of all state machines or of one, latest first.

use everstep_source::words::duration;
use everstep_story::Standing;
use maud::{Markup, html};

use crate::page::{Fragment, Page, Section};
use crate::parts::{Look, nothing, status};
use crate::{time, url};

/// An execution in a list.
#[derive(Debug, Clone)]
pub struct Row {
    pub machine: String,
    pub name: String,
    pub standing: Standing,
    pub started_ms: i64,
    pub ended_ms: Option<i64>,
    /// The error of one that failed.
    pub error: Option<String>,
    pub redrives: u32,
}

/// What is asked for, as the address has it.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub machine: String,
    pub status: String,
    /// A date: only what was started until then.
    pub until: String,
    /// Where the page begins.
    pub after: String,
}

pub struct Executions {
    pub filter: Filter,
    /// The names to choose from.
    pub machines: Vec<String>,
    pub rows: Vec<Row>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Why there is no list, if so.
    pub obstacle: Option<String>,
}

/// As the API has them, and as people read them.
pub const STATUSES: [(&str, Standing); 5] = [
    ("RUNNING", Standing::Running),
    ("SUCCEEDED", Standing::Succeeded),
    ("FAILED", Standing::Failed),
    ("TIMED_OUT", Standing::TimedOut),
    ("ABORTED", Standing::Aborted),
];

#[must_use]
pub fn page(of: &Executions) -> Page {
    let Filter { machine, status, until, .. } = &of.filter;
    let at = |after: &str| {
        let pairs =
            [("machine", &**machine), ("status", status), ("until", until), ("after", after)];
        format!("{}{}", url::path(&["executions"]), url::query(&pairs))
    };
    let list = html! {
        @if let Some(obstacle) = &of.obstacle { (nothing(obstacle)) }
        @else if of.rows.is_empty() { (nothing("No executions found")) }
        @else { section.card { (table(&of.rows, machine.is_empty())) } }
        nav.pager aria-label="Pages of executions" {
            @if !of.filter.after.is_empty() { a href=(at("")) { "Latest" } }
            @if let Some(next) = &of.next { a rel="next" href=(at(next)) { "Earlier" } }
        }
    };
    Page {
        title: "Executions".to_owned(),
        section: Section::Executions,
        class: "list",
        fragments: vec![
            Fragment::new("filters", html! { h1 { "Executions" } (filters(of)) }),
            Fragment::new("list", list),
        ],
        is_live: of.filter.after.is_empty(),
    }
}

fn filters(of: &Executions) -> Markup {
    let Filter { machine, status, until, .. } = &of.filter;
    html! {
        form.filters action=(url::path(&["executions"])) {
            label {
                "State machine"
                select name="machine" {
                    option value="" { "All" }
                    @for name in &of.machines {
                        option value=(name) selected[name == machine] { (name) }
                    }
                }
            }
            label {
                "Status"
                select name="status" {
                    option value="" { "Any" }
                    @for (value, standing) in STATUSES {
                        option value=(value) selected[value == status] { (Look::of(standing).word()) }
                    }
                }
            }
            label { "Started until" input type="datetime-local" step="1" name="until" value=(until); }
            button { "Show" }
        }
    }
}

/// A table of executions; with their machines, or without.
pub(crate) fn table(rows: &[Row], with_machine: bool) -> Markup {
    let with_error = rows.iter().any(|row| row.error.is_some());
    html! {
        div.scroll {
            table.rows {
                thead {
                    tr {
                        th scope="col" { "Status" } th scope="col" { "Name" }
                        @if with_machine { th scope="col" { "State machine" } }
                        th scope="col" { "Started" } th.number scope="col" { "Took" }
                        @if with_error { th scope="col" { "Error" } }
                    }
                }
                tbody { @for row in rows { (execution(row, with_machine, with_error)) } }
            }
        }
    }
}

fn execution(row: &Row, with_machine: bool, with_error: bool) -> Markup {
    html! {
        tr {
            td { (status(Look::of(row.standing))) }
            td {
                a.main href=(url::execution(&row.machine, &row.name)) { (row.name) }
                @if row.redrives > 0 { " " span.badge { "redriven" } }
            }
            @if with_machine {
                td { a href=(url::machine(&row.machine)) { (row.machine) } }
            }
            td { (time::ago(row.started_ms)) }
            td.number {
                @match row.ended_ms {
                    Some(ended_ms) => { (duration(ended_ms - row.started_ms)) }
                    None => { (time::running(row.started_ms)) }
                }
            }
            @if with_error {
                td.wide { @if let Some(error) = &row.error { b.error { (error) } } }
            }
        }
    }
}
