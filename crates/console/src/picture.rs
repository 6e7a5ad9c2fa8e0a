//! The graph of a machine with what one execution did on it.

use std::collections::HashMap;

use everstep_asl::Machine;
use everstep_graph::{EdgeKind, Graph, Node, Status, definition};
use everstep_story::{Outcome, Story, Visit};
use maud::{Markup, PreEscaped, html};

use crate::parts::grouped;
use crate::url;

/// How the visits of one state of the definition ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    visits: usize,
    open: usize,
    retrying: usize,
    succeeded: usize,
    caught: usize,
    failed: usize,
    aborted: usize,
    /// Of the visit with the most.
    attempts: usize,
}

impl Tally {
    fn add(&mut self, visit: &Visit) {
        self.visits += 1;
        self.attempts = self.attempts.max(visit.attempts.len());
        let was_retried = visit.attempts.len() > 1 || visit.retry_due_ms().is_some();
        match visit.outcome {
            Outcome::Open if was_retried && visit.failure.is_some() => self.retrying += 1,
            Outcome::Open => self.open += 1,
            Outcome::Succeeded => self.succeeded += 1,
            Outcome::Caught => self.caught += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Aborted => self.aborted += 1,
        }
    }

    /// What a reader must see first.
    fn status(&self) -> Option<Status> {
        let order = [
            (self.retrying, Status::Retrying),
            (self.open, Status::Running),
            (self.failed, Status::Failed),
            (self.caught, Status::Caught),
            (self.aborted, Status::Aborted),
            (self.succeeded, Status::Succeeded),
        ];
        order.into_iter().find(|(number, _)| *number > 0).map(|(_, status)| status)
    }

    fn badges(&self) -> Vec<String> {
        let mut badges = Vec::new();
        if self.visits > 1 {
            badges.push(format!("{} visits", grouped(self.visits)));
            let bad = self.failed + self.caught;
            badges.extend((bad > 0).then(|| format!("{} failed", grouped(bad))));
        } else if self.attempts > 1 {
            badges.push(format!("{} attempts", self.attempts));
        }
        badges
    }
}

/// The machine alone; every state leads to `address` with its place.
pub(crate) fn of_machine(machine: &Machine) -> Markup {
    drawn(&untitled(machine))
}

/// Pictures of usual width fit the page; wider ones would get too small to read.
fn drawn(graph: &Graph) -> Markup {
    const FITS_MAX: f64 = 1500.0;
    let svg = everstep_graph::inline_svg(graph);
    let width = svg.split_once(" width=\"").and_then(|(_, rest)| rest.split_once('"'));
    let width: Option<f64> = width.and_then(|(width, _)| width.parse().ok());
    let class = if width.is_some_and(|width| width <= FITS_MAX) { "canvas fits" } else { "canvas" };
    html! { div class=(class) tabindex="0" { (PreEscaped(svg)) } }
}

/// With what has happened; `selected` is the place of a state, `address` that of the page.
pub(crate) fn of_execution(
    machine: &Machine,
    story: &Story,
    selected: Option<&str>,
    address: &str,
) -> Markup {
    let mut graph = untitled(machine);
    let (mut tallies, mut ways) = (HashMap::<&str, Tally>::new(), Ways::default());
    for visit in story.visits() {
        tallies.entry(&visit.place).or_default().add(visit);
        ways.add(visit);
    }
    let run = Run { tallies, ways: ways.taken, selected, address };
    run.mark(&mut graph, "");
    drawn(&graph)
}

/// The comment of the machine stands beside the picture.
fn untitled(machine: &Machine) -> Graph {
    Graph { title: None, ..definition::graph(machine) }
}

/// From which state to which each scope went, and whether a catcher led there.
#[derive(Default)]
struct Ways<'s> {
    last: HashMap<&'s [String], &'s Visit>,
    taken: HashMap<(&'s str, &'s str), [bool; 2]>,
}

impl<'s> Ways<'s> {
    fn add(&mut self, visit: &'s Visit) {
        if let Some(before) = self.last.insert(&visit.scope, visit) {
            let is_caught = before.outcome == Outcome::Caught;
            self.taken.entry((&before.place, &visit.place)).or_default()[usize::from(is_caught)] =
                true;
        }
    }
}

struct Run<'r> {
    tallies: HashMap<&'r str, Tally>,
    ways: HashMap<(&'r str, &'r str), [bool; 2]>,
    selected: Option<&'r str>,
    address: &'r str,
}

impl Run<'_> {
    fn mark(&self, graph: &mut Graph, prefix: &str) {
        let places: Vec<String> =
            graph.nodes.iter().map(|node| format!("{prefix}{}", node.name)).collect();
        for edge in &mut graph.edges {
            let ends = places.get(edge.from).zip(places.get(edge.to));
            let is_catch = matches!(edge.kind, EdgeKind::Catch { .. });
            edge.is_taken = ends.is_some_and(|(from, to)| {
                self.ways
                    .get(&(from.as_str(), to.as_str()))
                    .is_some_and(|taken| taken[usize::from(is_catch)])
            });
        }
        for (node, place) in graph.nodes.iter_mut().zip(&places) {
            self.mark_node(node, place);
        }
    }

    fn mark_node(&self, node: &mut Node, place: &str) {
        if let Some(tally) = self.tallies.get(place) {
            node.status = tally.status();
            let badges = tally.badges();
            if !badges.is_empty() {
                node.badges = badges;
            }
            node.href = Some(format!("{}{}#state", self.address, url::query(&[("state", place)])));
        }
        node.is_selected = self.selected == Some(place);
        let is_parallel = node.kind == everstep_graph::Kind::Parallel;
        for (index, child) in node.children.iter_mut().enumerate() {
            let inside =
                if is_parallel { format!("{place}[{index}]/") } else { format!("{place}/") };
            self.mark(child, &inside);
        }
    }
}
