//! The lines through the ranks.
//!
//! A line crosses a rank straight down, in a place of its own, and moves sideways only in the
//! gaps between ranks, where there is no box. A line that runs upwards leaves and enters by the
//! sides of its boxes unless it can run straight between them.

use std::collections::HashSet;

use super::bands::{Band, Stack};
use super::geometry::{Path, Point, Rect, Size, Step};
use super::ports::{PORT_INSET, Ports};
use super::{Chain, Layers, Link, Placement, Problem, Route, Spot};

/// How far a line that runs upwards keeps from the side of its box.
const LANE: f64 = 14.0;
const ROUNDING: f64 = 6.0;
const HEAD_LENGTH: f64 = 8.0;
const HEAD_WIDTH: f64 = 7.0;

pub(crate) fn route(problem: &Problem, layers: &Layers) -> Placement {
    let stack = Stack::new(problem, layers);
    let chains: Vec<Chain> = layers.chains.iter().map(|chain| stack.kept(chain)).collect();
    let ports = Ports::new(problem, layers, &chains);
    let bands = stack.bands(problem, layers, &chains, &ports);
    let nodes: Vec<Rect> = layers
        .nodes
        .iter()
        .zip(&problem.nodes)
        .map(|(spot, bulk)| bands[spot.rank].seat(spot.x, bulk.size))
        .collect();
    let mut pen = Pen { layers, bands: &bands, nodes: &nodes, drawn: HashSet::new() };
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
    let placement = Placement { size: Size::default(), nodes, routes };
    framed(placement, problem)
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
                head(Point { x: ends.1, y: to.bottom() }, Point { x: 0.0, y: -1.0 })
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
        let (sign, edge) = if is_left { (-1.0, node.x) } else { (1.0, node.right()) };
        Some(Self { sign, edge, lane: edge + sign * LANE })
    }

    fn leave(&self, y: f64) -> Path {
        let mut path = Path::start(self.edge, y);
        path.line(self.lane - self.sign * ROUNDING, y);
        path.corner(Point { x: self.lane, y }, Point { x: self.lane, y: y - ROUNDING });
        path
    }

    /// Leads the line to the side of the box, and gives the arrow head.
    fn enter(&self, path: &mut Path, y: f64) -> Path {
        path.line(self.lane, y + ROUNDING);
        let end = Point { x: self.lane - self.sign * ROUNDING, y };
        path.corner(Point { x: self.lane, y }, end);
        head(Point { x: self.edge, y }, Point { x: -self.sign, y: 0.0 })
    }
}

/// An arrow head with its tip at `tip`.
fn head(tip: Point, direction: Point) -> Path {
    let base = Point { x: tip.x - direction.x * HEAD_LENGTH, y: tip.y - direction.y * HEAD_LENGTH };
    let across = Point { x: direction.y * HEAD_WIDTH / 2.0, y: direction.x * HEAD_WIDTH / 2.0 };
    let mut path = Path::start(base.x - across.x, base.y - across.y);
    path.line(tip.x, tip.y);
    path.line(base.x + across.x, base.y + across.y);
    path
}

/// Moves everything so that it starts at the origin, and takes its size.
fn framed(mut placement: Placement, problem: &Problem) -> Placement {
    let corners =
        |rect: &Rect| [Point { x: rect.x, y: rect.y }, Point { x: rect.right(), y: rect.bottom() }];
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
