//! A model with sizes and places: all that is drawn, and where, but not in which notation.
//!
//! Scopes are laid out from the inside out: a state that holds scopes is a single box to the
//! scope around it. Coordinates count from the corner of the scope they belong to.

pub(crate) mod card;
#[cfg(test)]
mod checks;
pub(crate) mod wire;

use crate::layout::geometry::{Rect, Size};
use crate::layout::{self, Bulk, Link, Problem};
use crate::model::Graph;
use card::Card;
use wire::Wire;

/// One scope, laid out.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) size: Size,
    pub(crate) cards: Vec<Card<'a>>,
    pub(crate) markers: Vec<Marker>,
    pub(crate) wires: Vec<Wire<'a>>,
}

/// Where a scope starts or ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker {
    pub(crate) rect: Rect,
    pub(crate) is_start: bool,
    /// Inside states a dot must do; the outermost scope has room for a word.
    pub(crate) is_named: bool,
}

impl<'a> Scope<'a> {
    /// Lays out a scope that `depth` others surround.
    pub(crate) fn new(graph: &'a Graph, depth: usize) -> Self {
        let mut cards: Vec<Card<'a>> =
            graph.nodes.iter().map(|node| Card::new(node, depth)).collect();
        let mut wires = wire::merged(graph);
        let mut problem = problem(&mut cards, &wires);
        if shorten(graph, &mut wires, &problem) {
            problem.links = links(&wires);
        }
        let mut markers = markers(graph, depth, &mut problem);
        let placement = layout::place(&problem);
        let (places, marker_places) = placement.nodes.split_at(cards.len());
        for (card, &rect) in cards.iter_mut().zip(places) {
            card.rect = rect;
        }
        for (marker, &rect) in markers.iter_mut().zip(marker_places) {
            marker.rect = rect;
        }
        let mut routes = placement.routes.into_iter();
        for wire in wires.iter_mut().filter(|wire| !wire.is_loop()) {
            wire.route = routes.next().unwrap_or_default();
        }
        wires.extend(routes.map(Wire::plain));
        wire::draw_loops(&mut wires, &cards);
        Self { size: placement.size, cards, markers, wires }
    }
}

/// The cards and the wires between different cards, as the layout sees them.
fn problem(cards: &mut [Card], wires: &[Wire]) -> Problem {
    let mut problem = Problem::default();
    let rooms = wire::loop_rooms(wires, cards.len());
    for (card, room) in cards.iter_mut().zip(rooms) {
        card.rect.height = card.rect.height.max(room.height);
        let Rect { width, height, .. } = card.rect;
        problem.nodes.push(Bulk { size: Size { width, height }, margin: room.width });
    }
    problem.links = links(wires);
    problem
}

fn links(wires: &[Wire]) -> Vec<Link> {
    wires.iter().filter(|wire| !wire.is_loop()).map(Wire::link).collect()
}

/// Lets wires jump that are too long to draw, and tells whether there are any.
fn shorten(graph: &Graph, wires: &mut [Wire], problem: &Problem) -> bool {
    let too_long = layout::too_long(problem);
    let wires = wires.iter_mut().filter(|wire| !wire.is_loop()).zip(&too_long);
    for (wire, _) in wires.filter(|(_, is_too_long)| **is_too_long) {
        if let Some((_, to)) = wire.ends() {
            wire.jump_to(&graph.nodes[to].name);
        }
    }
    too_long.contains(&true)
}

/// Adds the start of the scope and its ends to the layout.
fn markers(graph: &Graph, depth: usize, problem: &mut Problem) -> Vec<Marker> {
    let starts = graph.sound_start().map(|node| (node, true));
    let ends = (0..graph.nodes.len()).filter(|&node| graph.nodes[node].shows_end());
    let is_named = depth == 0;
    let mut markers = Vec::new();
    for (node, is_start) in starts.into_iter().chain(ends.map(|node| (node, false))) {
        let (width, height) = if is_named { (52.0, 24.0) } else { (14.0, 14.0) };
        let index = problem.nodes.len();
        problem.nodes.push(Bulk { size: Size { width, height }, margin: 0.0 });
        let (from, to) = if is_start { (index, node) } else { (node, index) };
        problem.links.push(Link { from, to, label: None, weight: 6, bundle: 0, jumps: false });
        markers.push(Marker { rect: Rect::default(), is_start, is_named });
    }
    markers
}
