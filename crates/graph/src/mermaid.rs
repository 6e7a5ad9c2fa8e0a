//! Writes a machine as a Mermaid flowchart.
//!
//! States that hold scopes become subgraphs; errors are dotted red lines.

use crate::model::{Edge, Graph, Kind, Node};
use crate::text::shortened;

/// Longest label of an edge, in characters.
const LABEL_MAX: usize = 80;

const CLASSES: &str = "  classDef task stroke:#2563c4
  classDef pass stroke:#66707f
  classDef choice stroke:#a1620a
  classDef wait stroke:#7a4fc0
  classDef succeed stroke:#1d7f45
  classDef fail stroke:#c2362b
";

/// Writes a machine as a Mermaid flowchart.
pub fn mermaid(graph: &Graph) -> String {
    let mut writer = Writer { out: "flowchart TD\n".to_owned(), links: 0, errors: Vec::new() };
    writer.scope(graph, "s", 0);
    writer.out.push_str(CLASSES);
    if !writer.errors.is_empty() {
        let errors = writer.errors.join(",");
        writer.line(0, &format!("linkStyle {errors} stroke:#c2362b,color:#c2362b"));
    }
    writer.out
}

struct Writer {
    out: String,
    /// Links written so far: styles refer to links by number.
    links: usize,
    errors: Vec<String>,
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
        if let Some(start) = graph.sound_start() {
            self.line(depth, &format!("{id}start([Start])"));
            self.link(depth, &format!("{id}start --> {id}{start}"));
        }
        for edge in graph.sound_edges() {
            self.edge(edge, id, depth);
        }
        let ends = (0..graph.nodes.len()).filter(|&index| graph.nodes[index].shows_end());
        for (count, index) in ends.enumerate() {
            if count == 0 {
                self.line(depth, &format!("{id}end([End])"));
            }
            self.link(depth, &format!("{id}{index} --> {id}end"));
        }
    }

    fn node(&mut self, node: &Node, id: &str, depth: usize) {
        let label = escape(&node.label_lines(depth).join("\n"));
        let children = node.drawn_children(depth);
        if children.is_empty() {
            let (open, close) = brackets(node.kind);
            let class = match node.kind {
                Kind::Parallel | Kind::Map => "task".to_owned(),
                kind => kind.name().to_lowercase(),
            };
            return self.line(depth, &format!("{id}{open}\"{label}\"{close}:::{class}"));
        }
        self.line(depth, &format!("subgraph {id}[\"{label}\"]"));
        for (index, child) in children.iter().enumerate() {
            let title = child.title.as_deref().map(escape).filter(|title| !title.is_empty());
            let title = title.unwrap_or_else(|| " ".to_owned());
            self.indented(2 * depth + 2, &format!("subgraph {id}b{index}[\"{title}\"]"));
            self.scope(child, &format!("{id}b{index}s"), depth + 1);
            self.indented(2 * depth + 2, "end");
        }
        self.line(depth, "end");
    }

    fn edge(&mut self, edge: &Edge, id: &str, depth: usize) {
        let Edge { from, to, .. } = edge;
        let arrow = if edge.is_error() { "-.->" } else { "-->" };
        let label = edge.label().map(|label| escape(&shortened(&label, LABEL_MAX)));
        let label = label.map_or_else(String::new, |label| format!("|\"{label}\"|"));
        if edge.is_error() {
            self.errors.push(self.links.to_string());
        }
        self.link(depth, &format!("{id}{from} {arrow}{label} {id}{to}"));
    }

    fn link(&mut self, depth: usize, line: &str) {
        self.line(depth, line);
        self.links += 1;
    }
}

fn brackets(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Choice => ("{{", "}}"),
        Kind::Succeed | Kind::Fail => ("([", "])"),
        Kind::Pass => ("(", ")"),
        Kind::Wait => ("[/", "/]"),
        Kind::Task | Kind::Parallel | Kind::Map => ("[", "]"),
    }
}

/// Escapes a label that stands in quotes. Mermaid reads entities that start with `#` there, and
/// gives a meaning to much punctuation, so only harmless characters stay as they are.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            escaped.push_str("<br/>");
        }
        for c in crate::text::visible(line).chars() {
            let is_plain = !c.is_ascii_punctuation() || "-_.,:/()=?!+'[]".contains(c);
            let is_second_dollar = c == '$' && escaped.ends_with('$');
            if is_plain || (c == '$' && !is_second_dollar) {
                escaped.push(c);
            } else {
                escaped.push_str(&format!("#{};", c as u32));
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
        let text = mermaid(graph);
        let body = text.strip_prefix("flowchart TD\n").expect("a flowchart");
        assert_eq!(body.replace(CLASSES, ""), expected);
    }

    #[test]
    fn errors_are_dotted_and_choices_labelled() {
        check(
            &samples::order(),
            r#"  s0["Charge<br/>lambda:charge<br/>retry ×3"]:::task
  s1{{"Paid?"}}:::choice
  s2(["Done"]):::succeed
  s3(["Failed"]):::fail
  sstart([Start])
  sstart --> s0
  s0 --> s1
  s1 -->|"$.paid #62; 0"| s2
  s1 -->|"default"| s3
  s0 -.->|"CardExpired, States.ALL"| s3
  linkStyle 4 stroke:#c2362b,color:#c2362b
"#,
        );
    }

    #[test]
    fn branches_are_subgraphs() {
        check(
            &samples::parallel(),
            r#"  subgraph s0["Both"]
    subgraph s0b0["Branch 1"]
      s0b0s0("A"):::pass
      s0b0sstart([Start])
      s0b0sstart --> s0b0s0
      s0b0send([End])
      s0b0s0 --> s0b0send
    end
    subgraph s0b1[" "]
      s0b1s0[/"B"/]:::wait
      s0b1sstart([Start])
      s0b1sstart --> s0b1s0
      s0b1send([End])
      s0b1s0 --> s0b1send
    end
  end
  sstart([Start])
  sstart --> s0
  send([End])
  s0 --> send
"#,
        );
    }

    #[test]
    fn labels_cannot_leave_their_quotes() {
        check(
            &samples::named("\"]; click s0 \"javascript:x\" %%{init}%% `#lt;` $$"),
            "  s0[\"#34;]#59; click s0 #34;javascript:x#34; #37;#37;#123;init#125;#37;#37; \
             #96;#35;lt#59;#96; $#36;\"]:::task\n",
        );
    }
}
