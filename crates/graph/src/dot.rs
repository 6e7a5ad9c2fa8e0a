//! Writes a machine for Graphviz.
//!
//! States that hold scopes become clusters. Graphviz joins nodes only, so a line to or from a
//! cluster ends in a marker inside and is clipped at the cluster's edge.

use crate::model::{Graph, Kind};
use crate::outline::{End, Link, Outline, Syntax, escaped};

const HEADER: &str = "digraph {
  compound=true
  fontname=\"Helvetica\"
  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", fillcolor=white]
  edge [fontname=\"Helvetica\", fontsize=10]
";

/// Writes a machine in the DOT language.
pub fn dot(graph: &Graph) -> String {
    Outline::of(graph, HEADER, Dot).out + "}\n"
}

struct Dot;

impl Syntax for Dot {
    const CLOSE: &str = "}";

    fn escape(text: &str) -> String {
        escape(text)
    }

    fn state(&self, id: &str, label: &str, kind: Kind) -> String {
        format!("{id} [label=\"{label}\"{}]", look(kind))
    }

    fn open_state(&self, id: &str, label: &str) -> Vec<String> {
        cluster(id, label, "rounded")
    }

    fn open_scope(&self, id: &str, title: &str) -> Vec<String> {
        cluster(id, title, "dashed")
    }

    /// Inside a cluster markers are always there, for lines to end in.
    fn marker(&self, id: &str, word: &str, is_shown: bool, depth: usize) -> Option<String> {
        if is_shown {
            Some(format!("{id} [label=\"{word}\", shape=oval, fontsize=9]"))
        } else {
            (depth > 0).then(|| format!("{id} [label=\"\", shape=point, style=invis]"))
        }
    }

    fn link(&mut self, link: &Link<'_>) -> String {
        let mut attributes: Vec<String> =
            link.label.iter().map(|label| format!("label=\"{label}\"")).collect();
        if link.edge.is_some_and(|edge| edge.is_error()) {
            attributes.push("style=dashed, color=\"#c2362b\", fontcolor=\"#c2362b\"".to_owned());
        }
        // A line from a cluster to itself cannot be clipped at its edge.
        if link.from != link.to {
            attributes.extend(clipped("ltail", &link.from));
            attributes.extend(clipped("lhead", &link.to));
        }
        let list = attributes.join(", ");
        let list = if list.is_empty() { list } else { format!(" [{list}]") };
        format!("{} -> {}{list}", anchor(&link.from, "end"), anchor(&link.to, "start"))
    }
}

fn cluster(id: &str, label: &str, style: &str) -> Vec<String> {
    vec![
        format!("subgraph cluster_{id} {{"),
        format!("label=\"{label}\""),
        format!("style={style}"),
    ]
}

/// The node that stands for a state where lines enter or leave it: of a cluster, a marker of its first scope.
fn anchor(end: &End, marker: &str) -> String {
    let End { id, holds_scopes } = end;
    if *holds_scopes { format!("{id}b0s{marker}") } else { id.clone() }
}

fn clipped(attribute: &str, end: &End) -> Option<String> {
    end.holds_scopes.then(|| format!("{attribute}=cluster_{}", end.id))
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
    escaped(text, "\\n", |out, c| match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '&' => out.push_str("&amp;"),
        c => out.push(c),
    })
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
