//! The lines between states, merged where they would run side by side.

use super::card::Card;
use crate::layout::geometry::{Path, Point, Rect, Size};
use crate::layout::{Link, Route};
use crate::model::{Edge, EdgeKind, Graph};
use crate::text::{self, Block, Font};

pub(crate) const LABEL_FONT: Font = Font { size: 11.0, bold: false };
pub(crate) const LABEL_LINE_HEIGHT: f64 = 14.0;
const LABEL_WIDTH_MAX: f64 = 170.0;
const LABEL_PADDING: f64 = 4.0;
const LABEL_LINES_MAX: usize = 4;
const LOOP_REACH: f64 = 22.0;

/// One line: all ordinary ways from one state to another, or all errors caught between the two.
#[derive(Debug)]
pub(crate) struct Wire<'a> {
    /// The edges the line stands for; none for the lines at start and end markers.
    pub(crate) edges: Vec<&'a Edge>,
    pub(crate) label: Block,
    /// The whole text of the label.
    pub(crate) title: String,
    pub(crate) route: Route,
    /// The line is not drawn to its end; its label names it instead.
    pub(crate) jumps: bool,
}

/// The wires of a scope, in the order in which their first edges stand there.
pub(crate) fn merged(graph: &Graph) -> Vec<Wire<'_>> {
    let mut groups: Vec<Vec<&Edge>> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for edge in graph.sound_edges() {
        let group = *index.entry((edge.from, edge.to, edge.is_error())).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(edge);
    }
    groups.into_iter().map(Wire::new).collect()
}

impl<'a> Wire<'a> {
    fn new(edges: Vec<&'a Edge>) -> Self {
        let mut labels: Vec<String> = Vec::new();
        for label in edges.iter().filter_map(|edge| edge.label()) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let is_error = edges.first().is_some_and(|edge| edge.is_error());
        let title = labels.join(if is_error { ", " } else { "\nor " });
        let label = if is_error {
            text::wrap(&title, LABEL_FONT, LABEL_WIDTH_MAX, LABEL_LINES_MAX)
        } else {
            stacked(&labels)
        };
        Self { edges, label, title, route: Route::default(), jumps: false }
    }

    /// A line that stands for no edge.
    pub(crate) fn plain(route: Route) -> Self {
        Self {
            edges: Vec::new(),
            label: Block::default(),
            title: String::new(),
            route,
            jumps: false,
        }
    }

    /// Names the end of the line in its label.
    pub(crate) fn jump_to(&mut self, name: &str) {
        let name = format!("→ {name}");
        let line = text::wrap(&name, LABEL_FONT, LABEL_WIDTH_MAX, 1);
        self.label.lines.extend(line.lines);
        self.title = format!("{}\n{name}", self.title).trim().to_owned();
        self.jumps = true;
    }

    pub(crate) fn is_error(&self) -> bool {
        self.edges.first().is_some_and(|edge| edge.is_error())
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.edges.iter().any(|edge| edge.is_taken)
    }

    pub(crate) fn is_default(&self) -> bool {
        !self.edges.is_empty() && self.edges.iter().all(|edge| edge.kind == EdgeKind::Default)
    }

    /// The states at the ends.
    pub(crate) fn ends(&self) -> Option<(usize, usize)> {
        self.edges.first().map(|edge| (edge.from, edge.to))
    }

    pub(crate) fn is_loop(&self) -> bool {
        self.ends().is_some_and(|(from, to)| from == to)
    }

    pub(crate) fn link(&self) -> Link {
        let (from, to) = self.ends().unwrap_or_default();
        let weight = match self.edges.first().map(|edge| &edge.kind) {
            Some(EdgeKind::Catch { .. }) => 1,
            Some(EdgeKind::Next) => 6,
            _ => 3,
        };
        let bundle = u32::from(self.is_error());
        Link { from, to, label: self.label_size(), weight, bundle, jumps: self.jumps }
    }

    /// What the line needs if it leads back to its own state.
    fn loop_size(&self) -> Size {
        let label = self.label_size().unwrap_or_default();
        Size { width: LOOP_REACH + label.width + 2.0, height: label.height.max(26.0) + 4.0 }
    }

    fn label_size(&self) -> Option<Size> {
        let lines = self.label.lines.len();
        (lines > 0).then(|| Size {
            width: self.label.width() + 2.0 * LABEL_PADDING,
            height: lines as f64 * LABEL_LINE_HEIGHT + LABEL_PADDING,
        })
    }
}

/// Several conditions below one another, as many as there is room for.
fn stacked(labels: &[String]) -> Block {
    let mut stacked = Block::default();
    for (index, label) in labels.iter().enumerate() {
        let label = if index > 0 { format!("or {label}") } else { label.clone() };
        let lines_max = if labels.len() == 1 { 3 } else { 2 };
        let block = text::wrap(&label, LABEL_FONT, LABEL_WIDTH_MAX, lines_max);
        let is_last = index + 1 == labels.len();
        let room = LABEL_LINES_MAX - usize::from(!is_last);
        if stacked.lines.len() + block.lines.len() > room {
            let more = format!("or {} more", labels.len() - index);
            stacked.lines.extend(text::wrap(&more, LABEL_FONT, LABEL_WIDTH_MAX, 1).lines);
            stacked.cut = true;
            break;
        }
        stacked.lines.extend(block.lines);
        stacked.cut |= block.cut;
    }
    stacked
}

/// For each state, the room that lines to itself need beside it, and the height they need of it.
pub(crate) fn loop_rooms(wires: &[Wire], count: usize) -> Vec<Size> {
    let mut rooms = vec![Size::default(); count];
    for wire in wires.iter().filter(|wire| wire.is_loop()) {
        let Some((node, _)) = wire.ends() else {
            continue;
        };
        rooms[node].width = rooms[node].width.max(wire.loop_size().width);
        rooms[node].height += wire.loop_size().height;
    }
    rooms
}

/// Draws the lines from a state to itself on the right of its card, below one another.
pub(crate) fn draw_loops(wires: &mut [Wire], cards: &[Card]) {
    let rooms = loop_rooms(wires, cards.len());
    let mut used = vec![0.0; cards.len()];
    for wire in wires.iter_mut().filter(|wire| wire.is_loop()) {
        let Some((node, _)) = wire.ends() else {
            continue;
        };
        let rect = cards[node].rect;
        let height = wire.loop_size().height;
        let middle = rect.middle().y + used[node] + (height - rooms[node].height) / 2.0;
        used[node] += height;
        wire.route = loop_route(rect.right(), middle, wire.label_size());
    }
}

fn loop_route(edge: f64, middle: f64, label: Option<Size>) -> Route {
    let (top, bottom) = (middle - 9.0, middle + 9.0);
    let reach = edge + LOOP_REACH - 4.0;
    let mut path = Path::start(edge, top);
    path.line(reach - 8.0, top);
    path.corner(Point { x: reach, y: top }, Point { x: reach, y: middle });
    path.corner(Point { x: reach, y: bottom }, Point { x: reach - 8.0, y: bottom });
    path.line(edge + 7.0, bottom);
    let mut head = Path::start(edge + 8.0, bottom - 3.5);
    head.line(edge, bottom);
    head.line(edge + 8.0, bottom + 3.5);
    let label = label.map(|size| Rect {
        x: edge + LOOP_REACH,
        y: middle - size.height / 2.0,
        width: size.width,
        height: size.height,
    });
    Route { paths: vec![path], label, head: Some(head) }
}
