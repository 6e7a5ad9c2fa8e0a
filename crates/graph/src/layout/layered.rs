//! Ranks, and the places of boxes and passing lines along them.
//!
//! A layout in the manner of Sugiyama: rank the boxes, let long lines pass the ranks between as
//! narrow vertices of their own, order each rank so that few lines cross, then pull everything
//! towards its neighbours. Lines of one bundle that end in the same box share their vertices: it
//! keeps a picture with a Catch on every state both readable and small.

use std::collections::{HashMap, HashSet};

use super::order;
use super::rank::{self, Ranks};
use super::spread::{Wish, spread};
use super::straighten;
use super::{Chain, LINE_GAP, Layers, Link, NODE_GAP, Problem, Spot};

/// Sweeps over all ranks that pull vertices towards their neighbours.
const PULLS: usize = 12;

/// Vertices of passing lines that a picture may have. Beyond, the longest lines jump.
const PASSING_MAX: usize = 6_000;

/// Boxes and passing lines, with the ties between neighbouring ranks.
#[derive(Debug, Default)]
pub(crate) struct Mesh {
    pub(crate) vertices: Vec<Vertex>,
    /// Vertices of each rank, from left to right.
    pub(crate) ranks: Vec<Vec<usize>>,
}

#[derive(Debug, Default)]
pub(crate) struct Vertex {
    pub(crate) width: f64,
    pub(crate) rank: usize,
    pub(crate) is_box: bool,
    pub(crate) holds_label: bool,
    /// Neighbours in the rank above and the rank below, with the weight of the tie.
    pub(crate) up: Vec<(usize, f64)>,
    pub(crate) down: Vec<(usize, f64)>,
}

pub(crate) fn layers(problem: &Problem) -> Layers {
    let ranks = rank::ranks(problem);
    let mut mesh = Mesh::default();
    for (bulk, &rank) in problem.nodes.iter().zip(&ranks.nodes) {
        let width = bulk.size.width + 2.0 * bulk.margin;
        mesh.add(Vertex { width, rank, is_box: true, ..Vertex::default() });
    }
    let ways = ways(problem, &ranks, &mut mesh);
    order::order(&mut mesh);
    let places = places(&mesh);
    let spot = |vertex: usize| {
        let Vertex { rank, holds_label, .. } = mesh.vertices[vertex];
        Spot { rank, x: places[vertex], vertex, holds_label }
    };
    let chain = |way: &Way| Chain {
        spots: way.vertices.iter().copied().map(spot).collect(),
        arrives: way.arrives,
    };
    Layers {
        nodes: (0..problem.nodes.len()).map(spot).collect(),
        chains: ways.iter().map(chain).collect(),
    }
}

impl Mesh {
    fn add(&mut self, vertex: Vertex) -> usize {
        let index = self.vertices.len();
        if self.ranks.len() <= vertex.rank {
            self.ranks.resize_with(vertex.rank + 1, Vec::new);
        }
        self.ranks[vertex.rank].push(index);
        self.vertices.push(vertex);
        index
    }

    fn tie(&mut self, upper: usize, lower: usize, weight: u32) {
        // Two passing lines kink visibly, two boxes hardly: straighten the former first.
        let bends = |vertex: &Vertex| if vertex.is_box { 1.0 } else { 3.0 };
        let weight =
            f64::from(weight) * bends(&self.vertices[upper]) * bends(&self.vertices[lower]);
        self.vertices[upper].down.push((lower, weight));
        self.vertices[lower].up.push((upper, weight));
    }

    pub(crate) fn gap(&self, left: usize, right: usize) -> f64 {
        let side = |vertex: usize| {
            let vertex = &self.vertices[vertex];
            let gap = if vertex.is_box { NODE_GAP } else { LINE_GAP };
            vertex.width / 2.0 + gap / 2.0
        };
        side(left) + side(right)
    }
}

pub(crate) fn too_long(problem: &Problem) -> Vec<bool> {
    let ranks = rank::ranks(problem).nodes;
    let span = |link: &Link| ranks[link.from].abs_diff(ranks[link.to]);
    let mut spans: HashMap<(usize, u32), usize> = HashMap::new();
    for link in &problem.links {
        let longest = spans.entry((link.to, link.bundle)).or_default();
        *longest = span(link).max(*longest);
    }
    let mut sorted: Vec<usize> = spans.into_values().collect();
    sorted.sort_unstable();
    let mut sum = 0;
    let fitting = sorted.iter().take_while(|&&span| {
        sum += span;
        sum <= PASSING_MAX
    });
    let limit = match fitting.count() {
        count if count == sorted.len() => usize::MAX,
        count => sorted[count].saturating_sub(1).max(2),
    };
    problem.links.iter().map(|link| span(link) > limit).collect()
}

/// The vertices a link passes, and whether it reaches its end itself.
struct Way {
    vertices: Vec<usize>,
    arrives: bool,
}

/// The way of each link, from its start to its end or to where it joins another.
fn ways(problem: &Problem, ranks: &Ranks, mesh: &mut Mesh) -> Vec<Way> {
    let mut shared = HashMap::new();
    let mut tied = HashSet::new();
    let links = problem.links.iter().zip(&ranks.back);
    let mut ways = Vec::with_capacity(problem.links.len());
    for (link, &back) in links {
        let way = way(link, back, ranks, mesh, &mut shared);
        let end = way.arrives.then_some(&link.to);
        let mut previous = link.from;
        for &vertex in way.vertices.iter().chain(end) {
            let (upper, lower) = if back { (vertex, previous) } else { (previous, vertex) };
            if tied.insert((upper, lower)) {
                mesh.tie(upper, lower, link.weight);
            }
            previous = vertex;
        }
        ways.push(way);
    }
    ways
}

/// Vertices by the node they lead to, the bundle, the direction and the rank.
type Shared = HashMap<(usize, u32, bool, usize), usize>;

fn way(link: &Link, back: bool, ranks: &Ranks, mesh: &mut Mesh, shared: &mut Shared) -> Way {
    let mut way = Way { vertices: Vec::new(), arrives: !link.jumps };
    for (step, rank) in between(ranks.nodes[link.from], ranks.nodes[link.to]).enumerate() {
        if let Some(size) = link.label.filter(|_| step == 0) {
            let vertex = Vertex { width: size.width, rank, ..Vertex::default() };
            way.vertices.push(mesh.add(Vertex { holds_label: true, ..vertex }));
        } else {
            let key = (link.to, link.bundle, back, rank);
            let met = shared.get(&key).copied();
            let vertex = met.unwrap_or_else(|| mesh.add(Vertex { rank, ..Vertex::default() }));
            shared.insert(key, vertex);
            way.vertices.push(vertex);
            // Odd ranks may vanish; lines meet where there surely is a rank.
            if met.is_some() && rank % 2 == 0 {
                way.arrives = false;
            }
        }
        if !way.arrives {
            break;
        }
    }
    way
}

/// The ranks strictly between two, starting next to the first.
fn between(from: usize, to: usize) -> Box<dyn Iterator<Item = usize>> {
    if from < to { Box::new(from + 1..to) } else { Box::new((to + 1..from).rev()) }
}

/// Where each vertex stands along its rank.
fn places(mesh: &Mesh) -> Vec<f64> {
    let mut places = vec![0.0; mesh.vertices.len()];
    for rank in &mesh.ranks {
        for pair in rank.windows(2) {
            places[pair[1]] = places[pair[0]] + mesh.gap(pair[0], pair[1]);
        }
    }
    for pull in 0..PULLS {
        // Look up, look down, look both ways; end with the ways a reader follows.
        let (up, down) = [(true, false), (false, true), (true, true)][pull % 3];
        let ranks: Box<dyn Iterator<Item = &Vec<usize>>> = if down && !up {
            Box::new(mesh.ranks.iter().rev())
        } else {
            Box::new(mesh.ranks.iter())
        };
        for rank in ranks {
            settle(mesh, rank, &mut places, up, down);
        }
    }
    straighten::straighten(mesh, &mut places);
    places
}

/// Gives each vertex of a rank the place nearest to its wish that the order and the gaps allow.
fn settle(mesh: &Mesh, rank: &[usize], places: &mut [f64], up: bool, down: bool) {
    let wishes: Vec<Wish> =
        rank.iter().map(|&vertex| wish(mesh, vertex, places, up, down)).collect();
    let gap = |left: usize| mesh.gap(rank[left], rank[left + 1]);
    for (&vertex, place) in rank.iter().zip(spread(&wishes, gap)) {
        places[vertex] = place;
    }
}

/// Where a vertex would stand if it were alone, and how much that matters.
fn wish(mesh: &Mesh, vertex: usize, places: &[f64], up: bool, down: bool) -> Wish {
    let Vertex { up: above, down: below, .. } = &mesh.vertices[vertex];
    let above = above.iter().filter(|_| up || below.is_empty());
    let below = below.iter().filter(|_| down || mesh.vertices[vertex].up.is_empty());
    let mut ties: Vec<(f64, f64)> =
        above.chain(below).map(|&(to, weight)| (places[to], weight)).collect();
    let weight: f64 = ties.iter().map(|tie| tie.1).sum();
    match median(&mut ties) {
        Some(place) => Wish { place, weight },
        None => Wish { place: places[vertex], weight: 0.01 },
    }
}

/// The place with half of the weight on either side: unlike the mean, it keeps the main way
/// straight whatever leaves it sideways.
fn median(ties: &mut [(f64, f64)]) -> Option<f64> {
    ties.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = ties.iter().map(|tie| tie.1).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    for (index, &(place, weight)) in ties.iter().enumerate() {
        passed += weight;
        if passed > half {
            return Some(place);
        }
        if passed == half {
            return ties.get(index + 1).map(|next| (place + next.0) / 2.0);
        }
    }
    None
}
