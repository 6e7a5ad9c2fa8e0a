//! Takes the kinks out of long lines.
//!
//! Pulling each rank on its own leaves a long line wavering. Here a whole line moves at once, to
//! the one place that is free in all the ranks it passes.

use super::layered::Mesh;
use super::ports::PORT_INSET;

/// Rounds over all lines: one that moves makes way for others.
const ROUNDS: usize = 3;

pub(crate) fn straighten(mesh: &Mesh, places: &mut [f64]) {
    let mut lines = lines(mesh);
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    let neighbours = neighbours(mesh);
    for _ in 0..ROUNDS {
        for line in &lines {
            straighten_line(mesh, line, &neighbours, places);
        }
    }
}

/// Runs of passing vertices that follow each other from rank to rank.
fn lines(mesh: &Mesh) -> Vec<Vec<usize>> {
    let below = |vertex: usize| {
        let mut passing =
            mesh.vertices[vertex].down.iter().filter(|(to, _)| !mesh.vertices[*to].is_box);
        let first = passing.next().map(|&(to, _)| to);
        first.filter(|_| passing.next().is_none())
    };
    let mut met = vec![false; mesh.vertices.len()];
    let mut lines = Vec::new();
    for &first in mesh.ranks.iter().flatten() {
        if mesh.vertices[first].is_box || met[first] {
            continue;
        }
        let mut line = vec![first];
        met[first] = true;
        let mut last = first;
        while let Some(next) = below(last).filter(|&next| !met[next]) {
            met[next] = true;
            line.push(next);
            last = next;
        }
        lines.push(line);
    }
    lines
}

/// The vertices on the left and on the right of each, in its rank.
fn neighbours(mesh: &Mesh) -> Vec<(Option<usize>, Option<usize>)> {
    let mut neighbours = vec![(None, None); mesh.vertices.len()];
    for pair in mesh.ranks.iter().flat_map(|rank| rank.windows(2)) {
        neighbours[pair[0]].1 = Some(pair[1]);
        neighbours[pair[1]].0 = Some(pair[0]);
    }
    neighbours
}

fn straighten_line(
    mesh: &Mesh,
    line: &[usize],
    neighbours: &[(Option<usize>, Option<usize>)],
    places: &mut [f64],
) {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for &vertex in line {
        let (left, right) = neighbours[vertex];
        if let Some(left) = left {
            low = low.max(places[left] + mesh.gap(left, vertex));
        }
        if let Some(right) = right {
            high = high.min(places[right] - mesh.gap(vertex, right));
        }
    }
    if low <= high {
        let place = wish(mesh, line, places).clamp(low, high);
        line.iter().for_each(|&vertex| places[vertex] = place);
    }
}

/// A line would best run straight into the box at one of its ends; else where most of it is.
fn wish(mesh: &Mesh, line: &[usize], places: &[f64]) -> f64 {
    let mut along: Vec<f64> = line.iter().map(|&vertex| places[vertex]).collect();
    along.sort_by(f64::total_cmp);
    let middle = along[along.len() / 2];
    let first = line.first().map(|&vertex| &mesh.vertices[vertex].up);
    let last = line.last().map(|&vertex| &mesh.vertices[vertex].down);
    let ends = last.into_iter().chain(first).flatten().map(|&(end, _)| end);
    let nearest = ends.filter(|&end| mesh.vertices[end].is_box).map(|end| {
        let reach = (mesh.vertices[end].width / 2.0 - PORT_INSET).max(0.0);
        middle.clamp(places[end] - reach, places[end] + reach)
    });
    nearest.min_by(|a, b| (a - middle).abs().total_cmp(&(b - middle).abs())).unwrap_or(middle)
}
