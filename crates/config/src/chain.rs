//! Functions that follow each other: whether a chain of them leads back to where it was.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::reader::{Cx, Field};
use crate::rule::Rule;
use everstep_source::Diagnostic;

/// Every edge of every function. Which of them are taken is only known when they run, so all count.
#[derive(Default)]
pub(crate) struct Chains {
    edges: RefCell<Vec<Edge>>,
}

struct Edge {
    from: String,
    to: String,
    /// At the name of the function that follows.
    diagnostic: Diagnostic,
}

/// More circles than anyone has written.
const SEARCHES_MAX: usize = 1000;

impl Chains {
    pub(crate) fn add(&self, from: &str, to: &str, field: &Field<'_>) {
        let diagnostic = field.report(Rule::EndlessChain, String::new());
        let (from, to) = (from.to_owned(), to.to_owned());
        self.edges.borrow_mut().push(Edge { from, to, diagnostic });
    }

    /// Warns of each circle once: of its first edge in the order of the file.
    pub(crate) fn check(&self, cx: &Cx<'_>, hint: &str) {
        let edges = self.edges.take();
        let mut following: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for edge in &edges {
            following.entry(&edge.from).or_default().push(&edge.to);
        }
        let circling = circling(&following);
        let mut told: BTreeSet<&str> = BTreeSet::new();
        let mut searches = 0;
        for Edge { from, to, diagnostic } in &edges {
            let may = circling.contains(from.as_str()) && circling.contains(to.as_str());
            if !may || told.contains(from.as_str()) || searches == SEARCHES_MAX {
                continue;
            }
            searches += 1;
            let Some(way) = way(&following, to, from) else { continue };
            told.extend(&way);
            let circle: Vec<&str> = std::iter::once(from.as_str()).chain(way).collect();
            let found = Diagnostic {
                message: format!("`{from}` follows itself: {}", shown(&circle)),
                ..diagnostic.clone()
            };
            cx.report(found.hint(hint));
        }
    }
}

/// What is left when all that nothing leads to is taken away, again and again: all circles, and what follows
/// them. Few configurations have any, so that mostly nothing is searched for.
fn circling<'e>(following: &BTreeMap<&'e str, Vec<&'e str>>) -> BTreeSet<&'e str> {
    let mut leading: BTreeMap<&str, usize> = following.keys().map(|name| (*name, 0)).collect();
    for name in following.values().flatten() {
        *leading.entry(name).or_default() += 1;
    }
    let mut first: Vec<&str> =
        leading.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    while let Some(name) = first.pop() {
        leading.remove(name);
        for next in following.get(name).into_iter().flatten() {
            if let Some(count) = leading.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    first.push(next);
                }
            }
        }
    }
    leading.into_keys().collect()
}

/// Circles of more functions are shortened.
const SHOWN_MAX: usize = 8;

fn shown(circle: &[&str]) -> String {
    let Some((last, rest)) = circle.split_last().filter(|_| circle.len() > SHOWN_MAX) else {
        return circle.join(" → ");
    };
    format!("{} → … → {last}", rest[..SHOWN_MAX - 1].join(" → "))
}

/// The shortest way from one function to another, both included.
fn way<'e>(
    following: &BTreeMap<&'e str, Vec<&'e str>>,
    from: &'e str,
    to: &str,
) -> Option<Vec<&'e str>> {
    let mut before: BTreeMap<&str, Option<&str>> = BTreeMap::from([(from, None)]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if at == to {
            let back = std::iter::successors(Some(at), |at| before.get(at).copied().flatten());
            let mut way: Vec<&str> = back.collect();
            way.reverse();
            return Some(way);
        }
        for next in following.get(at).into_iter().flatten() {
            if !before.contains_key(next) {
                before.insert(next, Some(at));
                queue.push_back(next);
            }
        }
    }
    None
}
