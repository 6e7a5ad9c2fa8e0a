//! Writes a machine as a Mermaid flowchart.
//!
//! States that hold scopes become subgraphs; errors are dotted red lines.

use crate::model::{Edge, Graph, Kind};
use crate::outline::{Link, Outline, Syntax, escaped};

const CLASSES: &str = "  classDef task stroke:#2563c4
  classDef pass stroke:#66707f
  classDef choice stroke:#a1620a
  classDef wait stroke:#7a4fc0
  classDef succeed stroke:#1d7f45
  classDef fail stroke:#c2362b
";

/// Writes a machine as a Mermaid flowchart.
pub fn mermaid(graph: &Graph) -> String {
    let mut outline = Outline::of(graph, "flowchart TD\n", Mermaid::default());
    outline.out.push_str(CLASSES);
    if !outline.syntax.errors.is_empty() {
        let errors = outline.syntax.errors.join(",");
        outline.line(1, &format!("linkStyle {errors} stroke:#c2362b,color:#c2362b"));
    }
    outline.out
}

#[derive(Default)]
struct Mermaid {
    /// Links written so far: styles refer to links by number.
    links: usize,
    errors: Vec<String>,
}

impl Syntax for Mermaid {
    const CLOSE: &str = "end";

    fn escape(text: &str) -> String {
        escape(text)
    }

    fn state(&self, id: &str, label: &str, kind: Kind) -> String {
        let (open, close) = brackets(kind);
        let class = match kind {
            Kind::Parallel | Kind::Map => "task".to_owned(),
            kind => kind.name().to_lowercase(),
        };
        format!("{id}{open}\"{label}\"{close}:::{class}")
    }

    fn open_state(&self, id: &str, label: &str) -> Vec<String> {
        vec![format!("subgraph {id}[\"{label}\"]")]
    }

    fn open_scope(&self, id: &str, title: &str) -> Vec<String> {
        let title = if title.is_empty() { " " } else { title };
        vec![format!("subgraph {id}[\"{title}\"]")]
    }

    fn marker(&self, id: &str, word: &str, is_shown: bool, _: usize) -> Option<String> {
        is_shown.then(|| format!("{id}([{word}])"))
    }

    fn link(&mut self, link: &Link<'_>) -> String {
        let is_error = link.edge.is_some_and(Edge::is_error);
        if is_error {
            self.errors.push(self.links.to_string());
        }
        self.links += 1;
        let arrow = if is_error { "-.->" } else { "-->" };
        let label = link.label.as_ref().map(|label| format!("|\"{label}\"|")).unwrap_or_default();
        format!("{} {arrow}{label} {}", link.from.id, link.to.id)
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
    escaped(text, "<br/>", |out, c| {
        let is_plain = !c.is_ascii_punctuation() || "-_.,:/()=?!+'[]".contains(c);
        let is_second_dollar = c == '$' && out.ends_with('$');
        if is_plain || (c == '$' && !is_second_dollar) {
            out.push(c);
        } else {
            out.push_str(&format!("#{};", c as u32));
        }
    })
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
      s0b0send([End])
      s0b0sstart --> s0b0s0
      s0b0s0 --> s0b0send
    end
    subgraph s0b1[" "]
      s0b1s0[/"B"/]:::wait
      s0b1sstart([Start])
      s0b1send([End])
      s0b1sstart --> s0b1s0
      s0b1s0 --> s0b1send
    end
  end
  sstart([Start])
  send([End])
  sstart --> s0
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
