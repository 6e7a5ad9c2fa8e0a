//! Which rank each box stands in.
//!
//! Boxes stand in even ranks; the odd ones between hold the labels of lines.

use super::Problem;

/// Ranks of the nodes, and for each link whether it runs upwards.
pub(crate) struct Ranks {
    pub(crate) nodes: Vec<usize>,
    pub(crate) back: Vec<bool>,
}

pub(crate) fn ranks(problem: &Problem) -> Ranks {
    let count = problem.nodes.len();
    let (back, order) = walk(problem);
    let mut ranks = vec![0; count];
    let mut incoming = vec![Vec::new(); count];
    let mut outgoing = vec![Vec::new(); count];
    for (link, &back) in problem.links.iter().zip(&back) {
        let (upper, lower) = if back { (link.to, link.from) } else { (link.from, link.to) };
        incoming[lower].push(upper);
        outgoing[upper].push(lower);
    }
    for &node in &order {
        ranks[node] = incoming[node].iter().map(|&from: &usize| ranks[from] + 2).max().unwrap_or(0);
    }
    // What nothing leads to stands next to what it leads to.
    for &node in order.iter().rev().filter(|&&node| incoming[node].is_empty()) {
        ranks[node] = outgoing[node].iter().map(|&to: &usize| ranks[to] - 2).min().unwrap_or(0);
    }
    Ranks { nodes: ranks, back }
}

/// Walks the graph depth first, on a stack of its own: long machines must not end ours.
///
/// Gives the links that close a cycle, and the nodes such that the other links point forwards.
fn walk(problem: &Problem) -> (Vec<bool>, Vec<usize>) {
    let count = problem.nodes.len();
    let mut outgoing = vec![Vec::new(); count];
    for (index, link) in problem.links.iter().enumerate() {
        outgoing[link.from].push(index);
    }
    let mut back = vec![false; problem.links.len()];
    let mut entered = vec![false; count];
    let mut left = vec![false; count];
    let mut finished = Vec::with_capacity(count);
    for root in roots(problem) {
        let mut stack = Vec::new();
        if !entered[root] {
            entered[root] = true;
            stack.push((root, 0));
        }
        while let Some((node, next)) = stack.last_mut() {
            let Some(&index) = outgoing[*node].get(*next) else {
                left[*node] = true;
                finished.push(*node);
                stack.pop();
                continue;
            };
            *next += 1;
            let to = problem.links[index].to;
            if !entered[to] {
                entered[to] = true;
                stack.push((to, 0));
            } else if !left[to] {
                back[index] = true;
            }
        }
    }
    finished.reverse();
    (back, finished)
}

/// Nodes nothing leads to first, so that cycles are cut where the machine returns.
fn roots(problem: &Problem) -> Vec<usize> {
    let mut has_incoming = vec![false; problem.nodes.len()];
    for link in &problem.links {
        has_incoming[link.to] = true;
    }
    let nodes = 0..problem.nodes.len();
    let first = nodes.clone().filter(|&node| !has_incoming[node]);
    first.chain(nodes.filter(|&node| has_incoming[node])).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Bulk, Link};
    use super::*;

    fn check(links: &[(usize, usize)], expected: &[usize], back: &[usize]) {
        let link = |&(from, to)| Link { from, to, label: None, weight: 1, bundle: 0, jumps: false };
        let nodes = vec![Bulk::default(); expected.len()];
        let found = ranks(&Problem { nodes, links: links.iter().map(link).collect() });
        assert_eq!(found.nodes, expected, "{links:?}");
        let upwards: Vec<usize> = (0..links.len()).filter(|&i| found.back[i]).collect();
        assert_eq!(upwards, back, "{links:?}");
    }

    #[test]
    fn every_line_leads_down_but_those_that_return() {
        check(&[(0, 1), (1, 2), (0, 2)], &[0, 2, 4], &[]);
        check(&[(0, 1), (1, 2), (2, 1)], &[0, 2, 4], &[2]);
    }

    #[test]
    fn what_nothing_leads_to_stands_next_to_what_it_leads_to() {
        check(&[(0, 1), (1, 2), (3, 2)], &[0, 2, 4, 2], &[]);
    }
}
