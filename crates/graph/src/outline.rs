//! Writes a machine as text, scope by scope. What the lines look like is the [`Syntax`]'s.

use crate::model::{Edge, Graph, Kind, Node};
use crate::text::shortened;

/// Longest label of an edge, in characters.
const LABEL_MAX: usize = 80;

/// How a language for graphs writes the parts of a machine.
pub(crate) trait Syntax {
    /// What ends a state that holds scopes, and a scope.
    const CLOSE: &str;

    /// A label as it stands in quotes.
    fn escape(text: &str) -> String;

    /// A state that holds no scopes.
    fn state(&self, id: &str, label: &str, kind: Kind) -> String;

    /// The begin of a state that holds scopes, and what stands inside it first.
    fn open_state(&self, id: &str, label: &str) -> Vec<String>;

    /// The begin of a scope, and what stands inside it first.
    fn open_scope(&self, id: &str, title: &str) -> Vec<String>;

    /// `Start` or `End` of a scope, `depth` scopes deep.
    fn marker(&self, id: &str, word: &str, is_shown: bool, depth: usize) -> Option<String>;

    fn link(&mut self, link: &Link<'_>) -> String;
}

/// A line from one state or marker to another.
pub(crate) struct Link<'g> {
    pub(crate) from: End,
    pub(crate) to: End,
    /// The transition; none for lines from and to markers.
    pub(crate) edge: Option<&'g Edge>,
    /// Of the edge, escaped.
    pub(crate) label: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) id: String,
    /// Whether it is a state that holds scopes.
    pub(crate) holds_scopes: bool,
}

impl End {
    fn marker(id: String) -> Self {
        Self { id, holds_scopes: false }
    }

    fn state(graph: &Graph, index: usize, id: &str, depth: usize) -> Self {
        let holds_scopes = !graph.nodes[index].drawn_children(depth).is_empty();
        Self { id: format!("{id}{index}"), holds_scopes }
    }
}

pub(crate) struct Outline<S> {
    pub(crate) syntax: S,
    pub(crate) out: String,
}

impl<S: Syntax> Outline<S> {
    /// Writes all of a machine behind `header`.
    pub(crate) fn of(graph: &Graph, header: &str, syntax: S) -> Self {
        let mut outline = Self { syntax, out: header.to_owned() };
        outline.scope(graph, "s", 0);
        outline
    }

    pub(crate) fn line(&mut self, indent: usize, line: &str) {
        self.out.push_str(&"  ".repeat(indent));
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn lines(&mut self, indent: usize, lines: &[String]) {
        for (index, line) in lines.iter().enumerate() {
            self.line(indent + index.min(1), line);
        }
    }

    /// Writes the states of a scope, whose ids start with `id`, and what joins them.
    fn scope(&mut self, graph: &Graph, id: &str, depth: usize) {
        for (index, node) in graph.nodes.iter().enumerate() {
            self.node(node, &format!("{id}{index}"), depth);
        }
        let (start_id, end_id) = (format!("{id}start"), format!("{id}end"));
        let start = graph.sound_start();
        let ends: Vec<usize> =
            (0..graph.nodes.len()).filter(|&index| graph.nodes[index].shows_end()).collect();
        for (id, word, is_shown) in
            [(&start_id, "Start", start.is_some()), (&end_id, "End", !ends.is_empty())]
        {
            if let Some(marker) = self.syntax.marker(id, word, is_shown, depth) {
                self.line(2 * depth + 1, &marker);
            }
        }
        let state = |index| End::state(graph, index, id, depth);
        if let Some(start) = start {
            self.link(depth, End::marker(start_id), state(start), None);
        }
        for edge in graph.sound_edges() {
            self.link(depth, state(edge.from), state(edge.to), Some(edge));
        }
        for index in ends {
            self.link(depth, state(index), End::marker(end_id.clone()), None);
        }
    }

    fn node(&mut self, node: &Node, id: &str, depth: usize) {
        let label = S::escape(&node.label_lines(depth).join("\n"));
        let children = node.drawn_children(depth);
        let indent = 2 * depth + 1;
        if children.is_empty() {
            let state = self.syntax.state(id, &label, node.kind);
            return self.line(indent, &state);
        }
        let open = self.syntax.open_state(id, &label);
        self.lines(indent, &open);
        for (index, child) in children.iter().enumerate() {
            let title = S::escape(child.title.as_deref().unwrap_or_default());
            let open = self.syntax.open_scope(&format!("{id}b{index}"), &title);
            self.lines(indent + 1, &open);
            self.scope(child, &format!("{id}b{index}s"), depth + 1);
            self.line(indent + 1, S::CLOSE);
        }
        self.line(indent, S::CLOSE);
    }

    fn link(&mut self, depth: usize, from: End, to: End, edge: Option<&Edge>) {
        let label =
            edge.and_then(Edge::label).map(|label| S::escape(&shortened(&label, LABEL_MAX)));
        let line = self.syntax.link(&Link { from, to, edge, label });
        self.line(2 * depth + 1, &line);
    }
}

/// Escapes a label line by line: `escape` adds a character to what is escaped so far.
pub(crate) fn escaped(text: &str, newline: &str, escape: impl Fn(&mut String, char)) -> String {
    let mut escaped = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            escaped.push_str(newline);
        }
        for c in crate::text::visible(line).chars() {
            escape(&mut escaped, c);
        }
    }
    escaped
}
