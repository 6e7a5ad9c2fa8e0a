//! Heights of the ranks, and the lines through them.
//!
//! A line crosses a rank straight down, in a place of its own, and moves sideways only in the
//! gaps between ranks, where there is no box. A line that runs upwards leaves and enters by the
//! sides of its boxes, so that it is not taken for one that runs down.

use std::collections::HashSet;

use super::geometry::{Path, Point, Rect, Size, Step};
use super::spread::{Wish, spread};
use super::{Chain, Layers, Link, Placement, Problem, Route, Spot};

/// Height of the gap between two ranks: at least, per pixel of sidestep, at most.
const GAP_MIN: f64 = 24.0;
const GAP_SLOPE: f64 = 0.08;
const GAP_MAX: f64 = 64.0;
/// Distance of ports from the corners of a box, and between ports.
const PORT_INSET: f64 = 20.0;
const PORT_GAP: f64 = 18.0;
/// How far a line that runs upwards keeps from the side of its box.
const LANE: f64 = 14.0;
/// How far below the top of its rank a box may stand.
const SEAT_MAX: f64 = 24.0;
const ROUNDING: f64 = 6.0;
const HEAD_LENGTH: f64 = 8.0;
const HEAD_WIDTH: f64 = 7.0;

pub(crate) fn route(problem: &Problem, layers: &Layers) -> Placement {
    let stack = Stack::new(problem, layers);
    let chains: Vec<Chain> = layers
        .chains
        .iter()
        .map(|chain| stack.kept(chain))
        .collect();
    let ports = Ports::new(problem, layers, &chains);
    let bands = stack.bands(problem, layers, &chains, &ports);
    let nodes: Vec<Rect> = layers
        .nodes
        .iter()
        .zip(&problem.nodes)
        .map(|(spot, bulk)| bands[spot.rank].seat(spot.x, bulk.size))
        .collect();
    let mut pen = Pen {
        layers,
        bands: &bands,
        nodes: &nodes,
        drawn: HashSet::new(),
    };
    let routes = problem
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            let ends = (ports.from[index], ports.to[index]);
            if layers.nodes[link.from].rank < layers.nodes[link.to].rank {
                pen.downwards(link, &chains[index], ends)
            } else {
                pen.upwards(link, &chains[index], ends)
            }
        })
        .collect();
    let placement = Placement {
        size: Size::default(),
        nodes,
        routes,
    };
    framed(placement, problem)
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

    /// The middle of the rank, but not far from its top: a small box beside a very tall one
    /// stays near the line that leads to it.
    fn seat(self, x: f64, size: Size) -> Rect {
        let slack = self.bottom - self.top - size.height;
        let y = self.top + (slack / 2.0).min(SEAT_MAX);
        Rect {
            x: x - size.width / 2.0,
            y,
            width: size.width,
            height: size.height,
        }
    }
}

/// The ranks on top of one another. Ranks without box or label take no room.
struct Stack {
    heights: Vec<f64>,
}

impl Stack {
    fn new(problem: &Problem, layers: &Layers) -> Self {
        let spots = layers
            .nodes
            .iter()
            .chain(layers.chains.iter().flat_map(|chain| &chain.spots));
        let ranks = spots.map(|spot| spot.rank + 1).max().unwrap_or(0);
        let mut heights = vec![0.0_f64; ranks];
        for (spot, bulk) in layers.nodes.iter().zip(&problem.nodes) {
            heights[spot.rank] = heights[spot.rank].max(bulk.size.height);
        }
        for (link, chain) in problem.links.iter().zip(&layers.chains) {
            if let (Some(label), Some(spot)) = (link.label, chain.spots.first()) {
                heights[spot.rank] = heights[spot.rank].max(label.height);
            }
        }
        Self { heights }
    }

    fn is_kept(&self, rank: usize) -> bool {
        self.heights[rank] > 0.0
    }

    /// The way of a link through ranks that take room.
    fn kept(&self, chain: &Chain) -> Chain {
        let spots = chain
            .spots
            .iter()
            .copied()
            .filter(|spot| self.is_kept(spot.rank));
        Chain {
            spots: spots.collect(),
            arrives: chain.arrives,
        }
    }

    fn bands(
        &self,
        problem: &Problem,
        layers: &Layers,
        chains: &[Chain],
        ports: &Ports,
    ) -> Vec<Band> {
        let mut sidesteps = vec![0.0_f64; self.heights.len()];
        for (index, (link, chain)) in problem.links.iter().zip(chains).enumerate() {
            let (from, to) = (layers.nodes[link.from], layers.nodes[link.to]);
            let first = Spot {
                x: ports.from[index],
                ..from
            };
            let last = Spot {
                x: ports.to[index],
                ..to
            };
            let mut previous = first;
            for &spot in chain.spots.iter().chain(chain.arrives.then_some(&last)) {
                let upper = previous.rank.min(spot.rank);
                sidesteps[upper] = sidesteps[upper].max((previous.x - spot.x).abs());
                previous = spot;
            }
        }
        let mut y = 0.0;
        let mut bands = vec![Band::default(); self.heights.len()];
        for (rank, &height) in self.heights.iter().enumerate() {
            bands[rank] = Band {
                top: y,
                bottom: y + height,
            };
            if self.is_kept(rank) {
                y += height + (GAP_MIN + sidesteps[rank] * GAP_SLOPE).min(GAP_MAX);
            }
        }
        bands
    }
}

/// Where lines leave and enter the tops and bottoms of their boxes, along the x axis.
struct Ports {
    from: Vec<f64>,
    to: Vec<f64>,
}

/// An end of a link.
#[derive(Clone, Copy)]
enum Port {
    From(usize),
    To(usize),
}

/// A line's wish for a port. Lines that arrive together share one.
struct PortWish {
    port: Port,
    x: f64,
    shares: Option<usize>,
}

impl Ports {
    fn new(problem: &Problem, layers: &Layers, chains: &[Chain]) -> Self {
        let count = problem.nodes.len();
        let mut bottoms: Vec<Vec<PortWish>> = (0..count).map(|_| Vec::new()).collect();
        let mut tops: Vec<Vec<PortWish>> = (0..count).map(|_| Vec::new()).collect();
        let reach = |node: usize| {
            let half = (problem.nodes[node].size.width / 2.0 - PORT_INSET).max(0.0);
            (layers.nodes[node].x - half, layers.nodes[node].x + half)
        };
        let mut ports = Self {
            from: problem
                .links
                .iter()
                .map(|link| layers.nodes[link.from].x)
                .collect(),
            to: problem
                .links
                .iter()
                .map(|link| layers.nodes[link.to].x)
                .collect(),
        };
        for (index, (link, chain)) in problem.links.iter().zip(chains).enumerate() {
            let is_down = layers.nodes[link.from].rank < layers.nodes[link.to].rank;
            let (out, into) = match (chain.spots.first(), chain.spots.last()) {
                (Some(first), Some(last)) => (first.x, last.x),
                _ if is_down => facing(reach(link.from), reach(link.to)),
                _ => continue,
            };
            let shares = chain.spots.last().map(|spot| spot.vertex);
            let out = PortWish {
                port: Port::From(index),
                x: out,
                shares: None,
            };
            let into = PortWish {
                port: Port::To(index),
                x: into,
                shares,
            };
            let (outs, intos) = if is_down {
                (&mut bottoms, &mut tops)
            } else {
                (&mut tops, &mut bottoms)
            };
            if is_down || is_within(out.x, reach(link.from)) {
                outs[link.from].push(out);
            }
            if chain.arrives && (is_down || is_within(into.x, reach(link.to))) {
                intos[link.to].push(into);
            }
        }
        for node in 0..count {
            assign(&mut bottoms[node], reach(node), &mut ports);
            assign(&mut tops[node], reach(node), &mut ports);
        }
        ports
    }
}

/// Places on two boxes, one above the other, that a line between them joins best.
fn facing(upper: (f64, f64), lower: (f64, f64)) -> (f64, f64) {
    let (low, high) = (upper.0.max(lower.0), upper.1.min(lower.1));
    if low > high {
        return if upper.1 < lower.0 {
            (upper.1, lower.0)
        } else {
            (upper.0, lower.1)
        };
    }
    let is_upper_narrow = upper.1 - upper.0 < lower.1 - lower.0;
    let narrow = if is_upper_narrow { upper } else { lower };
    let x = ((narrow.0 + narrow.1) / 2.0).clamp(low, high);
    (x, x)
}

/// Lines that run upwards need a port only where they do not leave or enter by a side.
fn is_within(x: f64, reach: (f64, f64)) -> bool {
    reach.0 <= x && x <= reach.1
}

fn assign(wishes: &mut [PortWish], reach: (f64, f64), ports: &mut Ports) {
    wishes.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.shares.cmp(&b.shares)));
    let mut groups: Vec<Wish> = Vec::new();
    let mut group_of = Vec::with_capacity(wishes.len());
    for (index, wish) in wishes.iter().enumerate() {
        let joins = index > 0 && wish.shares.is_some() && wish.shares == wishes[index - 1].shares;
        if !joins {
            groups.push(Wish {
                place: wish.x.clamp(reach.0, reach.1),
                weight: 1.0,
            });
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
        let x = places[group].max(low).min(high.max(low));
        match wish.port {
            Port::From(link) => ports.from[link] = x,
            Port::To(link) => ports.to[link] = x,
        }
    }
}

/// Draws one line after the other.
struct Pen<'a> {
    layers: &'a Layers,
    bands: &'a [Band],
    nodes: &'a [Rect],
    /// Shared spots that a line already passes.
    drawn: HashSet<usize>,
}

impl Pen<'_> {
    fn downwards(&mut self, link: &Link, chain: &Chain, (out, into): (f64, f64)) -> Route {
        let (from, to) = (self.nodes[link.from], self.nodes[link.to]);
        let mut route = Route::default();
        let mut path = Path::start(out, from.bottom());
        path.line(out, self.band(link.from).bottom);
        for spot in &chain.spots {
            let band = self.bands[spot.rank];
            path.swing(spot.x, band.top);
            if spot.holds_label {
                path = route.interrupt(path, link.label, spot.x, band, 1.0);
                if link.jumps {
                    return route;
                }
            } else if !self.drawn.insert(spot.vertex) {
                return route.stop(path);
            }
            path.line(spot.x, band.bottom);
        }
        if !chain.arrives {
            return route.stop(path);
        }
        // Arrive straight: an arrow head on a bend looks broken.
        path.swing(into, self.band(link.to).top.min(to.y - HEAD_LENGTH));
        path.line(into, to.y - HEAD_LENGTH + 1.0);
        route.paths.push(path);
        route.head = Some(head(Point { x: into, y: to.y }, Point { x: 0.0, y: 1.0 }));
        route
    }

    fn upwards(&mut self, link: &Link, chain: &Chain, ends: (f64, f64)) -> Route {
        let (from, to) = (self.nodes[link.from], self.nodes[link.to]);
        let mut route = Route::default();
        let mut path = match Side::towards(from, chain.spots.first()) {
            Some(side) => side.leave(from.middle().y),
            None => Path::start(ends.0, from.y),
        };
        path.line(path.end().x, self.band(link.from).top);
        for spot in &chain.spots {
            let band = self.bands[spot.rank];
            path.swing(spot.x, band.bottom);
            if spot.holds_label {
                path = route.interrupt(path, link.label, spot.x, band, -1.0);
                if link.jumps {
                    return route;
                }
            } else if !self.drawn.insert(spot.vertex) {
                return route.stop(path);
            }
            path.line(spot.x, band.top);
        }
        if !chain.arrives {
            return route.stop(path);
        }
        let bottom = self.band(link.to).bottom;
        route.head = Some(match Side::towards(to, chain.spots.last()) {
            Some(side) => {
                path.swing(side.lane, bottom);
                side.enter(&mut path, to.middle().y)
            }
            None => {
                path.swing(ends.1, bottom.max(to.bottom() + HEAD_LENGTH));
                path.line(ends.1, to.bottom() + HEAD_LENGTH - 1.0);
                head(
                    Point {
                        x: ends.1,
                        y: to.bottom(),
                    },
                    Point { x: 0.0, y: -1.0 },
                )
            }
        });
        route.paths.push(path);
        route
    }

    /// The rank a box stands in.
    fn band(&self, node: usize) -> Band {
        self.bands[self.layers.nodes[node].rank]
    }
}

impl Route {
    /// Ends the line without an arrow head; nothing follows a label that says where it leads.
    fn stop(mut self, path: Path) -> Self {
        let is_drawn = path.steps.iter().any(|step| !matches!(step, Step::Move(_)));
        self.paths.extend(is_drawn.then_some(path));
        self
    }

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
    /// The side nearer to the line's next spot; none if the line can go straight up.
    fn towards(node: Rect, next: Option<&Spot>) -> Option<Self> {
        let x = next.map_or(f64::INFINITY, |spot| spot.x);
        if (x - node.middle().x).abs() <= node.width / 2.0 - PORT_INSET {
            return None;
        }
        let is_left = x < node.middle().x;
        let (sign, edge) = if is_left {
            (-1.0, node.x)
        } else {
            (1.0, node.right())
        };
        Some(Self {
            sign,
            edge,
            lane: edge + sign * LANE,
        })
    }

    fn leave(&self, y: f64) -> Path {
        let mut path = Path::start(self.edge, y);
        path.line(self.lane - self.sign * ROUNDING, y);
        path.corner(
            Point { x: self.lane, y },
            Point {
                x: self.lane,
                y: y - ROUNDING,
            },
        );
        path
    }

    /// Leads the line to the side of the box, and gives the arrow head.
    fn enter(&self, path: &mut Path, y: f64) -> Path {
        path.line(self.lane, y + ROUNDING);
        let end = Point {
            x: self.lane - self.sign * ROUNDING,
            y,
        };
        path.corner(Point { x: self.lane, y }, end);
        head(
            Point { x: self.edge, y },
            Point {
                x: -self.sign,
                y: 0.0,
            },
        )
    }
}

/// An arrow head with its tip at `tip`.
fn head(tip: Point, direction: Point) -> Path {
    let base = Point {
        x: tip.x - direction.x * HEAD_LENGTH,
        y: tip.y - direction.y * HEAD_LENGTH,
    };
    let across = Point {
        x: direction.y * HEAD_WIDTH / 2.0,
        y: direction.x * HEAD_WIDTH / 2.0,
    };
    let mut path = Path::start(base.x - across.x, base.y - across.y);
    path.line(tip.x, tip.y);
    path.line(base.x + across.x, base.y + across.y);
    path
}

/// Moves everything so that it starts at the origin, and takes its size.
fn framed(mut placement: Placement, problem: &Problem) -> Placement {
    let corners = |rect: &Rect| {
        [
            Point {
                x: rect.x,
                y: rect.y,
            },
            Point {
                x: rect.right(),
                y: rect.bottom(),
            },
        ]
    };
    let mut points: Vec<Point> = placement.nodes.iter().flat_map(corners).collect();
    for (rect, bulk) in placement.nodes.iter().zip(&problem.nodes) {
        let mut beside = *rect;
        beside.width += bulk.margin;
        points.extend(corners(&beside));
    }
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
    placement.size = Size {
        width: most(|p| p.x) - left,
        height: most(|p| p.y) - top,
    };
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
