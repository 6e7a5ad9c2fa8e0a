//! The order of vertices within their ranks, chosen so that few lines cross.

use super::layered::Mesh;

/// Sweeps over all ranks; a picture rarely gains from more.
const SWEEPS: usize = 16;
/// Vertices beyond which fewer sweeps must do.
const LARGE: usize = 4_000;

pub(crate) fn order(mesh: &mut Mesh) {
    start(mesh);
    let sweeps = if mesh.vertices.len() > LARGE { SWEEPS / 4 } else { SWEEPS };
    let mut best = (crossings(mesh), mesh.ranks.clone());
    for sweep in 0..sweeps {
        if best.0 == 0 {
            break;
        }
        // Ties between equal vertices fall to either side in turn, to leave dead ends.
        let keep_ties = sweep % 4 < 2;
        let count = mesh.ranks.len();
        if sweep % 2 == 0 {
            (1..count).for_each(|rank| sort(mesh, rank, true, keep_ties));
        } else {
            (0..count.saturating_sub(1)).rev().for_each(|rank| sort(mesh, rank, false, keep_ties));
        }
        let found = crossings(mesh);
        if found < best.0 {
            best = (found, mesh.ranks.clone());
        }
    }
    mesh.ranks = best.1;
}

/// Starts with the order in which a walk from the first vertices meets the others: ways that
/// part stay apart.
fn start(mesh: &mut Mesh) {
    let mut met = vec![false; mesh.vertices.len()];
    let mut ranks = vec![Vec::new(); mesh.ranks.len()];
    for first in mesh.ranks.iter().flatten() {
        let mut stack = vec![*first];
        while let Some(vertex) = stack.pop() {
            if !std::mem::replace(&mut met[vertex], true) {
                ranks[mesh.vertices[vertex].rank].push(vertex);
                stack.extend(mesh.vertices[vertex].down.iter().rev().map(|&(next, _)| next));
            }
        }
    }
    mesh.ranks = ranks;
}

/// Sorts a rank by the mean place of each vertex's neighbours in the rank above or below.
fn sort(mesh: &mut Mesh, rank: usize, by_upper: bool, keep_ties: bool) {
    let fixed = if by_upper { rank - 1 } else { rank + 1 };
    let places = indices(mesh, fixed);
    let mean = |(index, &vertex): (usize, &usize)| {
        let vertex = &mesh.vertices[vertex];
        let ties = if by_upper { &vertex.up } else { &vertex.down };
        let (sum, weights) = ties.iter().fold((0.0, 0.0), |(sum, weights), &(to, weight)| {
            (sum + places[&to] as f64 * weight, weights + weight)
        });
        // A vertex without neighbours keeps its place among the others.
        if weights > 0.0 { sum / weights } else { index as f64 }
    };
    let mut keyed: Vec<(f64, usize)> =
        mesh.ranks[rank].iter().enumerate().map(|entry| (mean(entry), *entry.1)).collect();
    if !keep_ties {
        keyed.reverse();
    }
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    mesh.ranks[rank] = keyed.into_iter().map(|(_, vertex)| vertex).collect();
}

fn indices(mesh: &Mesh, rank: usize) -> std::collections::HashMap<usize, usize> {
    mesh.ranks[rank].iter().enumerate().map(|(index, &vertex)| (vertex, index)).collect()
}

/// How many pairs of ties cross between all neighbouring ranks.
fn crossings(mesh: &Mesh) -> usize {
    (1..mesh.ranks.len()).map(|rank| crossings_above(mesh, rank)).sum()
}

fn crossings_above(mesh: &Mesh, rank: usize) -> usize {
    let places = indices(mesh, rank - 1);
    let mut ends = Vec::new();
    for &vertex in &mesh.ranks[rank] {
        let start = ends.len();
        ends.extend(mesh.vertices[vertex].up.iter().map(|(upper, _)| places[upper]));
        ends[start..].sort_unstable();
    }
    inversions(&ends, mesh.ranks[rank - 1].len())
}

/// Counts pairs out of order with a binary indexed tree over the values, all below `limit`.
fn inversions(values: &[usize], limit: usize) -> usize {
    let mut tree = vec![0; limit + 1];
    let mut count = 0;
    for (seen, &value) in values.iter().enumerate() {
        let mut not_greater = 0;
        let mut index = value + 1;
        while index > 0 {
            not_greater += tree[index];
            index &= index - 1;
        }
        count += seen - not_greater;
        index = value + 1;
        while index <= limit {
            tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[usize], expected: usize) {
        assert_eq!(inversions(values, 10), expected, "{values:?}");
    }

    #[test]
    fn inversions_are_pairs_out_of_order() {
        check(&[], 0);
        check(&[0, 1, 1, 2], 0);
        check(&[2, 1, 0], 3);
        check(&[3, 0, 9, 9, 1], 4);
    }
}
