//! An execution: how it stands, why it failed, its graph, each state, when what ran, and every event.

use everstep_asl::Machine;
use everstep_story::action::Action;
use everstep_story::{Report, Story};
use maud::html;
use serde_json::Value;

use crate::data::Data;
use crate::execution as parts;
use crate::page::{Fragment, Page, Section};
use crate::picture;

pub struct Execution<'e> {
    pub machine: &'e str,
    pub name: &'e str,
    pub arn: &'e str,
    /// Of this page, without a query.
    pub address: String,
    pub started_ms: i64,
    pub now_ms: i64,
    pub redrives: u32,
    /// Why it cannot be redriven, if that is not because it runs or has succeeded.
    pub redrive_obstacle: Option<&'e str>,
    pub error: Option<&'e str>,
    pub cause: Option<&'e str>,
    pub timeout_seconds: Option<u64>,
    /// The execution that started this one: its name, and where it is.
    pub parent: Option<(String, String)>,
    pub definition: &'e Machine,
    pub story: &'e Story,
    pub report: &'e Report,
    pub actions: &'e [Action],
    /// The visit that the page is about.
    pub selected: Option<usize>,
    /// What the state of that visit does.
    pub detail: Option<&'e str>,
    pub payloads: Payloads,
    pub tab: Tab,
}

/// What went through one visit of a state.
#[derive(Debug, Clone, Default)]
pub struct Payloads {
    pub input: Option<Data>,
    /// Of the last attempt.
    pub parameters: Option<Data>,
    pub result: Option<Data>,
    pub output: Option<Data>,
}

pub enum Tab {
    Timeline,
    Events(Events),
    Data { input: Data, output: Option<Data> },
    Definition(Data),
}

/// Some events of the history.
#[derive(Debug, Clone, Default)]
pub struct Events {
    pub from: u64,
    pub only_failures: bool,
    /// As `GetExecutionHistory` answers.
    pub events: Vec<Value>,
    pub previous: Option<u64>,
    pub next: Option<u64>,
}

/// The visit that the page is about: the one that was asked for, or what a reader looks for first.
#[must_use]
pub fn selected(story: &Story, visit: Option<usize>, place: Option<&str>) -> Option<usize> {
    let visit = visit.filter(|visit| *visit < story.visits().len());
    visit.or_else(|| parts::visit_of(story, place?)).or_else(|| parts::default_visit(story))
}

#[must_use]
pub fn page(of: &Execution<'_>) -> Page {
    let place = of.selected.and_then(|index| of.story.visits().get(index)).map(|one| &*one.place);
    let graph = picture::of_execution(of.definition, of.story, place, &of.address);
    let graph = html! {
        section.card.graph aria-label="Graph" { (graph) }
    };
    Page {
        title: format!("{} · {}", of.name, of.machine),
        section: Section::Executions,
        class: "execution",
        fragments: vec![
            Fragment::new("header", parts::header(of)),
            Fragment::new("failures", parts::failures(of)),
            Fragment::new("graph", graph),
            Fragment::new("selected", parts::state(of)),
            Fragment::new("details", parts::tabs(of)),
        ],
        is_live: true,
    }
}
