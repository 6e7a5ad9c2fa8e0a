//! Where lines leave and enter boxes, along the x axis.

use super::spread::{Wish, spread};
use super::{Chain, Layers, Problem};

/// Distance of ports from the corners of a box, and between ports.
pub(crate) const PORT_INSET: f64 = 20.0;
const PORT_GAP: f64 = 18.0;

/// Where lines leave and enter the tops and bottoms of their boxes, along the x axis.
pub(crate) struct Ports {
    pub(crate) from: Vec<f64>,
    pub(crate) to: Vec<f64>,
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
    pub(crate) fn new(problem: &Problem, layers: &Layers, chains: &[Chain]) -> Self {
        let count = problem.nodes.len();
        let mut bottoms: Vec<Vec<PortWish>> = (0..count).map(|_| Vec::new()).collect();
        let mut tops: Vec<Vec<PortWish>> = (0..count).map(|_| Vec::new()).collect();
        let reach = |node: usize| {
            let half = (problem.nodes[node].size.width / 2.0 - PORT_INSET).max(0.0);
            (layers.nodes[node].x - half, layers.nodes[node].x + half)
        };
        let mut ports = Self {
            from: problem.links.iter().map(|link| layers.nodes[link.from].x).collect(),
            to: problem.links.iter().map(|link| layers.nodes[link.to].x).collect(),
        };
        for (index, (link, chain)) in problem.links.iter().zip(chains).enumerate() {
            let is_down = layers.nodes[link.from].rank < layers.nodes[link.to].rank;
            let (out, into) = match (chain.spots.first(), chain.spots.last()) {
                (Some(first), Some(last)) => (first.x, last.x),
                _ if is_down => facing(reach(link.from), reach(link.to)),
                _ => continue,
            };
            let shares = chain.spots.last().map(|spot| spot.vertex);
            let out = PortWish { port: Port::From(index), x: out, shares: None };
            let into = PortWish { port: Port::To(index), x: into, shares };
            let (outs, intos) =
                if is_down { (&mut bottoms, &mut tops) } else { (&mut tops, &mut bottoms) };
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
        return if upper.1 < lower.0 { (upper.1, lower.0) } else { (upper.0, lower.1) };
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
        let x = places[group].max(low).min(high.max(low));
        match wish.port {
            Port::From(link) => ports.from[link] = x,
            Port::To(link) => ports.to[link] = x,
        }
    }
}
