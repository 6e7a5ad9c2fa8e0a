//! Writes a machine for Graphviz.
//!
//! States that hold scopes become clusters. Graphviz joins nodes only, so a line to or from a
//! cluster ends in a marker inside and is clipped at the cluster's edge.

use crate::model::{Edge, Graph, Kind, Node};
use crate::text::shortened;

/// Longest label of an edge, in characters.
const LABEL_MAX: usize = 80;

const HEADER: &str = "digraph {
  compound=true
  fontname=\"Helvetica\"
  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", fillcolor=white]
  edge [fontname=\"Helvetica\", fontsize=10]
";

/// Writes a machine in the DOT language.
pub fn dot(graph: &Graph) -> String {
    let mut writer = Writer { out: HEADER.to_owned() };
    writer.scope(graph, "s", 0);
    writer.out.push_str("}\n");
    writer.out
}

struct Writer {
    out: String,
}

impl Writer {
    /// Writes a line that stands directly in a scope `depth` scopes deep.
    fn line(&mut self, depth: usize, line: &str) {
        self.indented(2 * depth + 1, line);
    }

    fn indented(&mut self, indent: usize, line: &str) {
        self.out.push_str(&"  ".repeat(indent));
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// Writes the states of a scope, whose ids start with `id`, and what joins them.
    fn scope(&mut self, graph: &Graph, id: &str, depth: usize) {
        for (index, node) in graph.nodes.iter().enumerate() {
            self.node(node, &format!("{id}{index}"), depth);
        }
        let ends: Vec<usize> =
            (0..graph.nodes.len()).filter(|&index| graph.nodes[index].shows_end()).collect();
        let start = graph.sound_start();
        self.marker(&format!("{id}start"), "Start", start.is_some(), depth);
        self.marker(&format!("{id}end"), "End", !ends.is_empty(), depth);
        if let Some(start) = start {
            let to = Anchor::new(graph, start, id, depth);
            self.link(&format!("{id}start"), &to.entry, to.attributes("lhead"), depth);
        }
        for edge in graph.sound_edges() {
            self.edge(graph, edge, id, depth);
        }
        for index in ends {
            let from = Anchor::new(graph, index, id, depth);
            self.link(&from.exit, &format!("{id}end"), from.attributes("ltail"), depth);
        }
    }

    /// Inside a cluster markers are always there, for lines to end in.
    fn marker(&mut self, id: &str, word: &str, is_shown: bool, depth: usize) {
        if is_shown {
            self.line(depth, &format!("{id} [label=\"{word}\", shape=oval, fontsize=9]"));
        } else if depth > 0 {
            self.line(depth, &format!("{id} [label=\"\", shape=point, style=invis]"));
        }
    }

    fn node(&mut self, node: &Node, id: &str, depth: usize) {
        let label = escape(&node.label_lines(depth).join("\n"));
        let children = node.drawn_children(depth);
        if children.is_empty() {
            let look = look(node.kind);
            return self.line(depth, &format!("{id} [label=\"{label}\"{look}]"));
        }
        self.line(depth, &format!("subgraph cluster_{id} {{"));
        self.indented(2 * depth + 2, &format!("label=\"{label}\""));
        self.indented(2 * depth + 2, "style=rounded");
        for (index, child) in children.iter().enumerate() {
            let title = escape(child.title.as_deref().unwrap_or_default());
            self.indented(2 * depth + 2, &format!("subgraph cluster_{id}b{index} {{"));
            self.indented(2 * depth + 3, &format!("label=\"{title}\""));
            self.indented(2 * depth + 3, "style=dashed");
            self.scope(child, &format!("{id}b{index}s"), depth + 1);
            self.indented(2 * depth + 2, "}");
        }
        self.line(depth, "}");
    }

    fn edge(&mut self, graph: &Graph, edge: &Edge, id: &str, depth: usize) {
        let from = Anchor::new(graph, edge.from, id, depth);
        let to = Anchor::new(graph, edge.to, id, depth);
        let mut attributes = Vec::new();
        if let Some(label) = edge.label() {
            attributes.push(format!("label=\"{}\"", escape(&shortened(&label, LABEL_MAX))));
        }
        if edge.is_error() {
            attributes.push("style=dashed, color=\"#c2362b\", fontcolor=\"#c2362b\"".to_owned());
        }
        // A line from a cluster to itself cannot be clipped at its edge.
        if edge.from != edge.to {
            attributes.extend(from.attributes("ltail"));
            attributes.extend(to.attributes("lhead"));
        }
        self.link(&from.exit, &to.entry, attributes, depth);
    }

    fn link(
        &mut self,
        from: &str,
        to: &str,
        attributes: impl IntoIterator<Item = String>,
        depth: usize,
    ) {
        let attributes: Vec<String> = attributes.into_iter().collect();
        let list = attributes.join(", ");
        let list = if list.is_empty() { list } else { format!(" [{list}]") };
        self.line(depth, &format!("{from} -> {to}{list}"));
    }
}

/// The nodes that stand for a state where lines enter and leave it.
struct Anchor {
    entry: String,
    exit: String,
    cluster: Option<String>,
}

impl Anchor {
    fn new(graph: &Graph, index: usize, id: &str, depth: usize) -> Self {
        let node = format!("{id}{index}");
        if graph.nodes[index].drawn_children(depth).is_empty() {
            return Self { entry: node.clone(), exit: node, cluster: None };
        }
        Self {
            entry: format!("{node}b0sstart"),
            exit: format!("{node}b0send"),
            cluster: Some(format!("cluster_{node}")),
        }
    }

    fn attributes(&self, end: &str) -> Option<String> {
        self.cluster.as_ref().map(|cluster| format!("{end}={cluster}"))
    }
}

fn look(kind: Kind) -> &'static str {
    match kind {
        Kind::Task | Kind::Parallel | Kind::Map => "",
        Kind::Pass => ", color=\"#66707f\"",
        Kind::Choice => ", shape=hexagon, style=filled, color=\"#a1620a\"",
        Kind::Wait => ", color=\"#7a4fc0\"",
        Kind::Succeed => ", color=\"#1d7f45\", peripheries=2",
        Kind::Fail => ", color=\"#c2362b\", peripheries=2",
    }
}

/// Escapes a label that stands in quotes. Besides quotes and backslashes, Graphviz reads HTML
/// entities there.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            escaped.push_str("\\n");
        }
        for c in crate::text::visible(line).chars() {
            match c {
                '"' => escaped.push_str("\\\""),
                '\\' => escaped.push_str("\\\\"),
                '&' => escaped.push_str("&amp;"),
                c => escaped.push(c),
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples;

    fn check(graph: &Graph, expected: &str) {
        let text = dot(graph);
        assert_eq!(text.strip_prefix(HEADER).expect("a digraph"), expected);
    }

    #[test]
    fn errors_are_dashed_and_choices_labelled() {
        check(
            &samples::order(),
            r##"  s0 [label="Charge\nlambda:charge\nretry ×3"]
  s1 [label="Paid?", shape=hexagon, style=filled, color="#a1620a"]
  s2 [label="Done", color="#1d7f45", peripheries=2]
  s3 [label="Failed", color="#c2362b", peripheries=2]
  sstart [label="Start", shape=oval, fontsize=9]
  sstart -> s0
  s0 -> s1
  s1 -> s2 [label="$.paid > 0"]
  s1 -> s3 [label="default"]
  s0 -> s3 [label="CardExpired, States.ALL", style=dashed, color="#c2362b", fontcolor="#c2362b"]
}
"##,
        );
    }

    #[test]
    fn branches_are_clusters() {
        check(
            &samples::parallel(),
            r##"  subgraph cluster_s0 {
    label="Both"
    style=rounded
    subgraph cluster_s0b0 {
      label="Branch 1"
      style=dashed
      s0b0s0 [label="A", color="#66707f"]
      s0b0sstart [label="Start", shape=oval, fontsize=9]
      s0b0send [label="End", shape=oval, fontsize=9]
      s0b0sstart -> s0b0s0
      s0b0s0 -> s0b0send
    }
    subgraph cluster_s0b1 {
      label=""
      style=dashed
      s0b1s0 [label="B", color="#7a4fc0"]
      s0b1sstart [label="Start", shape=oval, fontsize=9]
      s0b1send [label="End", shape=oval, fontsize=9]
      s0b1sstart -> s0b1s0
      s0b1s0 -> s0b1send
    }
  }
  sstart [label="Start", shape=oval, fontsize=9]
  send [label="End", shape=oval, fontsize=9]
  sstart -> s0b0sstart [lhead=cluster_s0]
  s0b0send -> send [ltail=cluster_s0]
}
"##,
        );
    }

    #[test]
    fn labels_cannot_leave_their_quotes() {
        check(
            &samples::named("\"] \\N &quot; <b>"),
            "  s0 [label=\"\\\"] \\\\N &amp;quot; <b>\"]\n}\n",
        );
    }
}
