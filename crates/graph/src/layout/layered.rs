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
use super::{LINE_GAP, Layers, NODE_GAP, Problem, Spot};

/// Sweeps over all ranks that pull vertices towards their neighbours.
const PULLS: usize = 12;

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
    let chains = chains(problem, &ranks, &mut mesh);
    order::order(&mut mesh);
    let places = places(&mesh);
    let spot = |vertex: usize| {
        let Vertex { rank, holds_label, .. } = mesh.vertices[vertex];
        Spot { rank, x: places[vertex], vertex, holds_label }
    };
    Layers {
        nodes: (0..problem.nodes.len()).map(spot).collect(),
        chains: chains.iter().map(|chain| chain.iter().copied().map(spot).collect()).collect(),
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
        let weight = f64::from(weight)
            * bends(&self.vertices[upper])
            * bends(&self.vertices[lower]);
        self.vertices[upper].down.push((lower, weight));
        self.vertices[lower].up.push((upper, weight));
    }

    fn gap(&self, left: usize, right: usize) -> f64 {
        let side = |vertex: usize| {
            let vertex = &self.vertices[vertex];
            let gap = if vertex.is_box { NODE_GAP } else { LINE_GAP };
            vertex.width / 2.0 + gap / 2.0
        };
        side(left) + side(right)
    }
}

/// The vertices each link passes, from its start to its end.
fn chains(problem: &Problem, ranks: &Ranks, mesh: &mut Mesh) -> Vec<Vec<usize>> {
    let mut shared: HashMap<(usize, u32, bool, usize), usize> = HashMap::new();
    let mut tied = HashSet::new();
    let mut chains = Vec::with_capacity(problem.links.len());
    for (link, &back) in problem.links.iter().zip(&ranks.back) {
        let mut chain = Vec::new();
        for (step, rank) in between(ranks.nodes[link.from], ranks.nodes[link.to]).enumerate() {
            let label = link.label.filter(|_| step == 0);
            let vertex = match label {
                Some(size) => mesh.add(Vertex {
                    width: size.width,
                    rank,
                    holds_label: true,
                    ..Vertex::default()
                }),
                None => *shared
                    .entry((link.to, link.bundle, back, rank))
                    .or_insert_with(|| mesh.add(Vertex { rank, ..Vertex::default() })),
            };
            chain.push(vertex);
        }
        let mut previous = link.from;
        for &vertex in chain.iter().chain([&link.to]) {
            let (upper, lower) = if back { (vertex, previous) } else { (previous, vertex) };
            if tied.insert((upper, lower)) {
                mesh.tie(upper, lower, link.weight);
            }
            previous = vertex;
        }
        chains.push(chain);
    }
    chains
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
        let ranks: Box<dyn Iterator<Item = &Vec<usize>>> =
            if down && !up { Box::new(mesh.ranks.iter().rev()) } else { Box::new(mesh.ranks.iter()) };
        for rank in ranks {
            settle(mesh, rank, &mut places, up, down);
        }
    }
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
    let (mut sum, mut weights) = (0.0, 0.0);
    for &(neighbour, weight) in above.chain(below) {
        sum += places[neighbour] * weight;
        weights += weight;
    }
    if weights == 0.0 {
        Wish { place: places[vertex], weight: 0.01 }
    } else {
        Wish { place: sum / weights, weight: weights }
    }
}
