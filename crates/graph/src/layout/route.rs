//! Heights of the ranks, and the lines through them.
//!
//! A line crosses a rank straight down, in a place of its own, and moves sideways only in the
//! gaps between ranks, where there is no box. A line that runs upwards leaves and enters by the
//! sides of its boxes, so that it is not taken for one that runs down.

use std::collections::HashSet;

use super::geometry::{Path, Point, Rect, Size};
use super::spread::{Wish, spread};
use super::{Layers, Link, Placement, Problem, Route, Spot};

/// Height of the gap between two ranks: at least, per pixel of sidestep, at most.
const GAP_MIN: f64 = 24.0;
const GAP_SLOPE: f64 = 0.08;
const GAP_MAX: f64 = 64.0;
/// Distance of ports from the corners of a box, and between ports.
const PORT_INSET: f64 = 20.0;
const PORT_GAP: f64 = 18.0;
/// How far a line that runs upwards keeps from the side of its box.
const LANE: f64 = 14.0;
const HEAD_LENGTH: f64 = 8.0;
const HEAD_WIDTH: f64 = 7.0;

pub(crate) fn route(problem: &Problem, layers: &Layers) -> Placement {
    let stack = Stack::new(problem, layers);
    let chains: Vec<Vec<Spot>> = layers
        .chains
        .iter()
        .map(|chain| chain.iter().copied().filter(|spot| stack.is_kept(spot.rank)).collect())
        .collect();
    let ports = Ports::new(problem, layers, &chains);
    let bands = stack.bands(problem, layers, &chains, &ports);
    let nodes: Vec<Rect> = layers
        .nodes
        .iter()
        .zip(&problem.nodes)
        .map(|(spot, bulk)| Rect::centred(spot.x, bands[spot.rank].middle(), bulk.size))
        .collect();
    let mut pen = Pen { bands: &bands, nodes: &nodes, drawn: HashSet::new() };
    let routes = problem
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            let ends = (ports.from[index], ports.to[index]);
            if layers.nodes[link.from].rank < layers.nodes[link.to].rank {
                pen.downwards(link, &chains[index], ends)
            } else {
                pen.upwards(link, &chains[index])
            }
        })
        .collect();
    framed(Placement { size: Size::default(), nodes, routes })
}

/// The vertical extent of a rank.
#[derive(Debug, Clone, Copy, Default)]
struct Band {
    top: f64,
    bottom: f64,
}

impl Band {
    fn middle(self) -> f64 {
        (self.top + self.bottom) / 2.0
    }
}

/// The ranks on top of one another. Ranks without box or label take no room.
struct Stack {
    heights: Vec<f64>,
}

impl Stack {
    fn new(problem: &Problem, layers: &Layers) -> Self {
        let spots = layers.nodes.iter().chain(layers.chains.iter().flatten());
        let ranks = spots.map(|spot| spot.rank + 1).max().unwrap_or(0);
        let mut heights = vec![0.0_f64; ranks];
        for (spot, bulk) in layers.nodes.iter().zip(&problem.nodes) {
            heights[spot.rank] = heights[spot.rank].max(bulk.size.height);
        }
        for (link, chain) in problem.links.iter().zip(&layers.chains) {
            if let (Some(label), Some(spot)) = (link.label, chain.first()) {
                heights[spot.rank] = heights[spot.rank].max(label.height);
            }
        }
        Self { heights }
    }

    fn is_kept(&self, rank: usize) -> bool {
        self.heights[rank] > 0.0
    }

    fn bands(
        &self,
        problem: &Problem,
        layers: &Layers,
        chains: &[Vec<Spot>],
        ports: &Ports,
    ) -> Vec<Band> {
        let mut sidesteps = vec![0.0_f64; self.heights.len()];
        for (index, (link, chain)) in problem.links.iter().zip(chains).enumerate() {
            let (from, to) = (layers.nodes[link.from], layers.nodes[link.to]);
            let first = Spot { x: ports.from[index], ..from };
            let last = Spot { x: ports.to[index], ..to };
            let mut previous = first;
            for &spot in chain.iter().chain([&last]) {
                let upper = previous.rank.min(spot.rank);
                sidesteps[upper] = sidesteps[upper].max((previous.x - spot.x).abs());
                previous = spot;
            }
        }
        let mut y = 0.0;
        let mut bands = vec![Band::default(); self.heights.len()];
        for (rank, &height) in self.heights.iter().enumerate() {
            bands[rank] = Band { top: y, bottom: y + height };
            if self.is_kept(rank) {
                y += height + (GAP_MIN + sidesteps[rank] * GAP_SLOPE).min(GAP_MAX);
            }
        }
        bands
    }
}

/// Where lines that run downwards leave and enter their boxes, along the x axis.
struct Ports {
    from: Vec<f64>,
    to: Vec<f64>,
}

/// A line's wish for a port. Lines that arrive together share one.
struct PortWish {
    link: usize,
    x: f64,
    shares: Option<usize>,
}

impl Ports {
    fn new(problem: &Problem, layers: &Layers, chains: &[Vec<Spot>]) -> Self {
        let count = problem.nodes.len();
        let mut leaving: Vec<Vec<PortWish>> = (0..count).map(|_| Vec::new()).collect();
        let mut arriving: Vec<Vec<PortWish>> = (0..count).map(|_| Vec::new()).collect();
        let reach = |node: usize| {
            let half = (problem.nodes[node].size.width / 2.0 - PORT_INSET).max(0.0);
            (layers.nodes[node].x - half, layers.nodes[node].x + half)
        };
        let mut ports = Self {
            from: problem.links.iter().map(|link| layers.nodes[link.from].x).collect(),
            to: problem.links.iter().map(|link| layers.nodes[link.to].x).collect(),
        };
        for (index, (link, chain)) in problem.links.iter().zip(chains).enumerate() {
            if layers.nodes[link.from].rank >= layers.nodes[link.to].rank {
                continue;
            }
            let (out, into) = match (chain.first(), chain.last()) {
                (Some(first), Some(last)) => (first.x, last.x),
                _ => facing(reach(link.from), reach(link.to)),
            };
            let shares = chain.last().map(|spot| spot.vertex);
            leaving[link.from].push(PortWish { link: index, x: out, shares: None });
            arriving[link.to].push(PortWish { link: index, x: into, shares });
        }
        for node in 0..count {
            assign(&mut leaving[node], reach(node), &mut ports.from);
            assign(&mut arriving[node], reach(node), &mut ports.to);
        }
        ports
    }
}

/// Places on two boxes, one above the other, that a line between them joins best.
fn facing(upper: (f64, f64), lower: (f64, f64)) -> (f64, f64) {
    let (low, high) = (upper.0.max(lower.0), upper.1.min(lower.1));
    if low > high {
        return if upper.1 < lower.0 { (upper.1, lower.0) } else { (upper.0, lower.1) };
    }
    let is_upper_narrow = upper.1 - upper.0 < lower.1 - lower.0;
    let narrow = if is_upper_narrow { upper } else { lower };
    let x = ((narrow.0 + narrow.1) / 2.0).clamp(low, high);
    (x, x)
}

fn assign(wishes: &mut [PortWish], reach: (f64, f64), ports: &mut [f64]) {
    wishes.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.shares.cmp(&b.shares)));
    let mut groups: Vec<Wish> = Vec::new();
    let mut group_of = Vec::with_capacity(wishes.len());
    for (index, wish) in wishes.iter().enumerate() {
        let joins = index > 0 && wish.shares.is_some() && wish.shares == wishes[index - 1].shares;
        if !joins {
            groups.push(Wish { place: wish.x.clamp(reach.0, reach.1), weight: 1.0 });
        }
        group_of.push(groups.len() - 1);
    }
    let room = (reach.1 - reach.0) / (groups.len().max(2) - 1) as f64;
    let gap = PORT_GAP.min(room);
    let places = spread(&groups, |_| gap);
    // Ports pushed over an edge of the box push the others back.
    let count = places.len();
    for (wish, group) in wishes.iter().zip(group_of) {
        let low = reach.0 + gap * group as f64;
        let high = reach.1 - gap * (count - 1 - group) as f64;
        ports[wish.link] = places[group].max(low).min(high.max(low));
    }
}

/// Draws one line after the other.
struct Pen<'a> {
    bands: &'a [Band],
    nodes: &'a [Rect],
    /// Shared spots that a line already passes, with the side it came from.
    drawn: HashSet<usize>,
}

impl Pen<'_> {
    fn downwards(&mut self, link: &Link, chain: &[Spot], (out, into): (f64, f64)) -> Route {
        let (from, to) = (self.nodes[link.from], self.nodes[link.to]);
        let mut route = Route::default();
        let mut path = Path::start(out, from.bottom());
        path.line(out, self.bottom_of(from));
        for spot in chain {
            let band = self.bands[spot.rank];
            path.swing(spot.x, band.top);
            if spot.holds_label {
                path = route.interrupt(path, link.label, spot.x, band, 1.0);
            } else if !self.drawn.insert(spot.vertex) {
                route.paths.push(path);
                return route;
            }
            path.line(spot.x, band.bottom);
        }
        path.swing(into, self.top_of(to));
        path.line(into, to.y - HEAD_LENGTH + 1.0);
        route.paths.push(path);
        route.head = Some(head(Point { x: into, y: to.y }, Point { x: 0.0, y: 1.0 }));
        route
    }

    fn upwards(&mut self, link: &Link, chain: &[Spot]) -> Route {
        let (from, to) = (self.nodes[link.from], self.nodes[link.to]);
        let out = Side::towards(from, chain.first().map(|spot| spot.x));
        let into = Side::towards(to, chain.last().map(|spot| spot.x));
        let mut route = Route::default();
        let mut path = Path::start(out.edge, from.middle().y);
        out.leave(&mut path, self.top_of(from));
        for spot in chain {
            let band = self.bands[spot.rank];
            path.swing(spot.x, band.bottom);
            if spot.holds_label {
                path = route.interrupt(path, link.label, spot.x, band, -1.0);
            } else if !self.drawn.insert(spot.vertex) {
                route.paths.push(path);
                return route;
            }
            path.line(spot.x, band.top);
        }
        path.swing(into.lane, self.bottom_of(to));
        into.enter(&mut path, to.middle().y);
        route.paths.push(path);
        let tip = Point { x: into.edge, y: to.middle().y };
        route.head = Some(head(tip, Point { x: -into.sign, y: 0.0 }));
        route
    }

    /// Top of the band a box stands in.
    fn top_of(&self, node: Rect) -> f64 {
        self.band_of(node).top.min(node.y)
    }

    fn bottom_of(&self, node: Rect) -> f64 {
        self.band_of(node).bottom.max(node.bottom())
    }

    fn band_of(&self, node: Rect) -> Band {
        let middle = node.middle().y;
        let index = self.bands.partition_point(|band| band.bottom < middle);
        self.bands.get(index).copied().unwrap_or_default()
    }
}

impl Route {
    /// Ends the line at its label and starts it anew behind it.
    fn interrupt(
        &mut self,
        mut path: Path,
        label: Option<Size>,
        x: f64,
        band: Band,
        direction: f64,
    ) -> Path {
        let size = label.unwrap_or_default();
        let rect = Rect::centred(x, band.middle(), size);
        let half = size.height / 2.0 * direction;
        path.line(x, band.middle() - half);
        self.paths.push(path);
        self.label = Some(rect);
        Path::start(x, band.middle() + half)
    }
}

/// The side of a box by which a line that runs upwards leaves or enters.
struct Side {
    sign: f64,
    edge: f64,
    lane: f64,
}

impl Side {
    fn towards(node: Rect, x: Option<f64>) -> Self {
        let is_left = x.is_some_and(|x| x < node.middle().x);
        let (sign, edge) = if is_left { (-1.0, node.x) } else { (1.0, node.right()) };
        Self { sign, edge, lane: edge + sign * LANE }
    }

    fn leave(&self, path: &mut Path, top: f64) {
        let y = path.end().y;
        path.line(self.lane - self.sign * 6.0, y);
        path.corner(Point { x: self.lane, y }, Point { x: self.lane, y: y - 6.0 });
        path.line(self.lane, top);
    }

    fn enter(&self, path: &mut Path, y: f64) {
        path.line(self.lane, y + 6.0);
        let end = Point { x: self.lane - self.sign * 6.0, y };
        path.corner(Point { x: self.lane, y }, end);
    }
}

/// An arrow head with its tip at `tip`.
fn head(tip: Point, direction: Point) -> Path {
    let base = Point {
        x: tip.x - direction.x * HEAD_LENGTH,
        y: tip.y - direction.y * HEAD_LENGTH,
    };
    let across = Point { x: direction.y * HEAD_WIDTH / 2.0, y: direction.x * HEAD_WIDTH / 2.0 };
    let mut path = Path::start(base.x - across.x, base.y - across.y);
    path.line(tip.x, tip.y);
    path.line(base.x + across.x, base.y + across.y);
    path
}

/// Moves everything so that it starts at the origin, and takes its size.
fn framed(mut placement: Placement) -> Placement {
    let corners = |rect: &Rect| {
        [Point { x: rect.x, y: rect.y }, Point { x: rect.right(), y: rect.bottom() }]
    };
    let mut points: Vec<Point> = placement.nodes.iter().flat_map(corners).collect();
    for route in &placement.routes {
        points.extend(route.label.iter().flat_map(corners));
        points.extend(route.paths.iter().chain(&route.head).flat_map(Path::points));
    }
    if points.is_empty() {
        return placement;
    }
    let least = |of: fn(&Point) -> f64| points.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Point) -> f64| points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (left, top) = (least(|p| p.x), least(|p| p.y));
    placement.size = Size { width: most(|p| p.x) - left, height: most(|p| p.y) - top };
    for rect in placement.nodes.iter_mut() {
        rect.x -= left;
        rect.y -= top;
    }
    for route in &mut placement.routes {
        if let Some(rect) = &mut route.label {
            rect.x -= left;
            rect.y -= top;
        }
        for path in route.paths.iter_mut().chain(&mut route.head) {
            path.shift(-left, -top);
        }
    }
    placement
}
