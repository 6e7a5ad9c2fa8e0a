//! Times the drawing of machines of several sizes and shapes.
//!
//! `cargo run --release -p everstep-graph --example measure`

use std::time::Instant;

use everstep_graph::{Edge, EdgeKind, Graph, Kind, Node};

fn main() {
    for count in [20, 100, 300, 2_000, 10_000] {
        let spread = move |index: usize| (index * 7_919 + 13) % count;
        measure("chain, all caught by one", count, |index| {
            vec![(index + 1, false), (count - 1, true)]
        });
        measure("chain, caught all over", count, |index| {
            vec![(index + 1, false), (spread(index), true)]
        });
        measure("tree", count, |index| vec![(2 * index + 1, false), (2 * index + 2, false)]);
        measure("one wide choice", count, |index| match index {
            0 => (1..count).map(|to| (to, false)).collect(),
            _ => vec![(count - 1, false)],
        });
    }
}

fn measure(shape: &str, count: usize, ways: impl Fn(usize) -> Vec<(usize, bool)>) {
    let mut graph = Graph { start: Some(0), ..Graph::default() };
    for index in 0..count {
        graph.nodes.push(Node::new(format!("State number {index}"), Kind::Task));
        for (to, is_error) in ways(index).into_iter().filter(|&(to, _)| to < count) {
            let kind = if is_error {
                EdgeKind::Catch { errors: vec!["States.ALL".to_owned()] }
            } else {
                EdgeKind::Next
            };
            graph.edges.push(Edge::new(index, to, kind));
        }
    }
    let start = Instant::now();
    let bytes = everstep_graph::svg(&graph).len();
    println!("{count:>6} states, {shape:<24} {:>9.1?} {bytes:>9} bytes", start.elapsed());
}
