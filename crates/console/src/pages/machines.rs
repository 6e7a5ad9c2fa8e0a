//! State machines: the list, and one of them with its graph, a form to start it, and its latest executions.

use everstep_asl::Machine as Definition;
use maud::{Markup, html};

use super::executions::{Row, table};
use crate::data::{self, Data};
use crate::page::{Fragment, Page, Section};
use crate::parts::{self, Look, copyable, facts, mark, nothing};
use crate::{picture, time, url};

/// A state machine in a list.
#[derive(Debug, Clone)]
pub struct Summary {
    pub name: String,
    pub is_express: bool,
    pub created_ms: i64,
    /// The latest executions, the last one first.
    pub latest: Vec<Row>,
}

/// The list. `more` is where the next page begins.
#[must_use]
pub fn list(machines: &[Summary], more: Option<&str>) -> Page {
    let content = html! {
        h1 { "State machines" }
        @if machines.is_empty() {
            (nothing("No state machines yet: create one with `everstep machines create FILE`, or serve an everstep.yaml"))
        } @else {
            section.card { (summaries(machines)) }
        }
        @if let Some(more) = more {
            nav.pager aria-label="Pages of state machines" {
                a rel="next" href={ (url::path(&["machines"])) (url::query(&[("after", more)])) } { "More" }
            }
        }
    };
    Page {
        title: "State machines".to_owned(),
        section: Section::Machines,
        class: "list",
        fragments: vec![Fragment::new("list", content)],
        is_live: true,
    }
}

pub(crate) fn summaries(machines: &[Summary]) -> Markup {
    html! {
        div.scroll {
            table.rows {
                thead {
                    tr {
                        th scope="col" { "Name" } th scope="col" { "Type" }
                        th scope="col" { "Latest executions" } th scope="col" { "Last start" }
                        th scope="col" { "Created" }
                    }
                }
                tbody {
                    @for machine in machines {
                        tr {
                            td { a.main href=(url::machine(&machine.name)) { (machine.name) } }
                            td { @if machine.is_express { "Express" } @else { "Standard" } }
                            td { (latest(&machine.latest)) }
                            td { @if let Some(row) = machine.latest.first() { (time::ago(row.started_ms)) } }
                            td { (time::ago(machine.created_ms)) }
                        }
                    }
                }
            }
        }
    }
}

/// A shape for each, the latest last.
fn latest(rows: &[Row]) -> Markup {
    html! {
        span.strip {
            @for row in rows.iter().rev() {
                @let look = Look::of(row.standing);
                a href=(url::execution(&row.machine, &row.name)) {
                    (mark(look, &format!("{}: {}", row.name, look.word())))
                }
            }
        }
    }
}

/// One state machine.
pub struct Machine<'m> {
    pub name: &'m str,
    pub arn: &'m str,
    pub is_express: bool,
    pub created_ms: i64,
    pub comment: Option<&'m str>,
    pub role_arn: &'m str,
    pub definition: &'m Definition,
    pub text: Data,
    pub latest: Vec<Row>,
    /// The input that the form begins with, and the execution it is from.
    pub input: String,
    pub input_from: Option<&'m str>,
    /// Why the last start was refused.
    pub refused: Option<&'m str>,
    pub execution_name: &'m str,
}

#[must_use]
pub fn page(of: &Machine<'_>) -> Page {
    let kind = if of.is_express { "Express" } else { "Standard" };
    let header = html! {
        nav.crumbs aria-label="Breadcrumb" { a href=(url::path(&["machines"])) { "State machines" } }
        div.title { h1 { (of.name) } span.kind { (kind) } }
        @if let Some(comment) = of.comment { p.lead { (comment) } }
        (facts(&[
            ("States", html! { (of.definition.states.len()) }),
            ("Created", time::moment(of.created_ms)),
            ("Role", html! { code { (of.role_arn) } }),
        ]))
        p.arn { (copyable(of.arn, "the ARN")) }
    };
    let graph = html! {
        section.card.graph aria-label="Graph" {
            (picture::of_machine(of.definition))
        }
    };
    Page {
        title: of.name.to_owned(),
        section: Section::Machines,
        class: "machine",
        fragments: vec![
            Fragment::new("header", header),
            Fragment::new("start-form", start(of)),
            Fragment::new("graph", graph),
            Fragment::new("latest", executions(of)),
            Fragment::new("definition", parts::card("Definition", data::block(&of.text))),
        ],
        is_live: false,
    }
}

fn executions(of: &Machine<'_>) -> Markup {
    if of.is_express {
        return html! {};
    }
    let all = format!("{}{}", url::path(&["executions"]), url::query(&[("machine", of.name)]));
    html! {
        section.card {
            h2 { "Latest executions" }
            @if of.latest.is_empty() { (nothing("None yet")) } @else { (table(&of.latest, false)) }
            p { a href=(all) { "All executions" } }
        }
    }
}

fn start(of: &Machine<'_>) -> Markup {
    let open = of.refused.is_some() || of.input_from.is_some();
    html! {
        details.card.start #start open[open] {
            summary { h2 { "Start an execution" } }
            @if let Some(refused) = of.refused { p.banner role="alert" { (refused) } }
            @if let Some(from) = of.input_from {
                p.note { "With the input of " a href=(url::execution(of.name, from)) { (from) } "." }
            }
            form.stack method="post" action={ (url::machine(of.name)) "/start" } {
                label {
                    "Input"
                    textarea #input name="input" rows="8" spellcheck="false" data-json="" { (of.input) }
                }
                p #input-problem .problem role="status" {}
                label {
                    "Name (optional)"
                    input name="name" maxlength="80" autocomplete="off" spellcheck="false" value=(of.execution_name);
                }
                button.primary { "Start execution" }
            }
        }
    }
}
