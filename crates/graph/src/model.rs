//! What is drawn: scopes of states, joined by edges.
//!
//! Deliberately poorer than the Amazon States Language: it holds only what a reader of a picture
//! sees.

/// How many scopes inside one another are drawn.
///
/// The states of deeper scopes are counted on the box that holds them instead. A picture of more
/// levels is not readable, and the bound keeps recursion over a model shallow.
pub const DEPTH_MAX: usize = 16;

/// One scope of states: a whole machine, a branch of a Parallel or the processor of a Map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// Stands above the scope where it is nested in a state, and names the whole picture.
    pub title: Option<String>,
    /// Index in `nodes` of the state that runs first. Out of range: no start is drawn.
    pub start: Option<usize>,
    pub nodes: Vec<Node>,
    /// Edges from or to a node that does not exist are not drawn.
    pub edges: Vec<Edge>,
}

/// One state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Also the value of the SVG's `data-state` attribute, by which a page finds the state.
    pub name: String,
    pub kind: Kind,
    /// What the state does, in few words: `lambda:charge-customer`, `wait 10 s`.
    pub detail: Option<String>,
    /// Short remarks: `retry ×3`.
    pub badges: Vec<String>,
    /// Whether the scope ends after this state. Succeed and Fail end it without saying so.
    pub ends: bool,
    /// How the state fared in one execution.
    pub status: Option<Status>,
    /// The state that the page around the picture is about.
    pub is_selected: bool,
    /// Where a click leads. Only `http`, `https` and relative addresses are written.
    pub href: Option<String>,
    /// The branches of a Parallel, the processor of a Map.
    pub children: Vec<Graph>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Task,
    Pass,
    Choice,
    Wait,
    Succeed,
    Fail,
    Parallel,
    Map,
}

/// The `data-status` attribute of a state in the SVG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    /// Failed, and waits for its next attempt or is in it.
    Retrying,
    Succeeded,
    Failed,
    /// Failed, and a Catch took over.
    Caught,
    Aborted,
}

/// A way from one state to the next, by their indices in [`Graph::nodes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
    /// One execution went this way.
    pub is_taken: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeKind {
    Next,
    /// Taken when the condition holds.
    Choice {
        condition: String,
    },
    /// Taken when no condition of a Choice holds.
    Default,
    /// Taken on one of these errors.
    Catch {
        errors: Vec<String>,
    },
}

impl Node {
    /// A state with a name and a kind, and nothing else to tell.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            detail: None,
            badges: Vec::new(),
            ends: false,
            status: None,
            is_selected: false,
            href: None,
            children: Vec::new(),
        }
    }

    /// Whether an end marker follows this state.
    pub(crate) fn shows_end(&self) -> bool {
        self.ends && !matches!(self.kind, Kind::Succeed | Kind::Fail)
    }

    /// The nested scopes to draw when this state itself stands `depth` scopes deep.
    pub(crate) fn drawn_children(&self, depth: usize) -> &[Graph] {
        if depth + 1 < DEPTH_MAX { &self.children } else { &[] }
    }

    /// What text formats say of the state, line by line.
    pub(crate) fn label_lines(&self, depth: usize) -> Vec<String> {
        let words = self.detail.iter().chain(&self.badges).cloned();
        std::iter::once(self.name.replace('\n', " "))
            .chain(words)
            .chain(self.hidden_note(depth))
            .collect()
    }

    /// Names nested scopes that [`Node::drawn_children`] leaves out.
    pub(crate) fn hidden_note(&self, depth: usize) -> Option<String> {
        if self.children.is_empty() || !self.drawn_children(depth).is_empty() {
            return None;
        }
        let mut count = 0;
        let mut scopes: Vec<&Graph> = self.children.iter().collect();
        while let Some(scope) = scopes.pop() {
            count += scope.nodes.len();
            scopes.extend(scope.nodes.iter().flat_map(|node| &node.children));
        }
        let plural = if count == 1 { "" } else { "s" };
        Some(format!("{count} state{plural} inside, nested too deep to draw"))
    }
}

impl Graph {
    /// The edges that join two existing nodes.
    pub(crate) fn sound_edges(&self) -> impl Iterator<Item = &Edge> {
        let count = self.nodes.len();
        self.edges.iter().filter(move |edge| edge.from < count && edge.to < count)
    }

    pub(crate) fn sound_start(&self) -> Option<usize> {
        self.start.filter(|&start| start < self.nodes.len())
    }
}

impl Kind {
    /// The type's name in the Amazon States Language.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Task => "Task",
            Kind::Pass => "Pass",
            Kind::Choice => "Choice",
            Kind::Wait => "Wait",
            Kind::Succeed => "Succeed",
            Kind::Fail => "Fail",
            Kind::Parallel => "Parallel",
            Kind::Map => "Map",
        }
    }
}

impl Status {
    /// The value of the `data-status` attribute.
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Retrying => "retrying",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Caught => "caught",
            Status::Aborted => "aborted",
        }
    }
}

impl Edge {
    pub fn new(from: usize, to: usize, kind: EdgeKind) -> Self {
        Self { from, to, kind, is_taken: false }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self.kind, EdgeKind::Catch { .. })
    }

    /// What the edge says about itself, whole.
    pub(crate) fn label(&self) -> Option<String> {
        match &self.kind {
            EdgeKind::Next => None,
            EdgeKind::Choice { condition } => Some(condition.clone()),
            EdgeKind::Default => Some("default".to_owned()),
            EdgeKind::Catch { errors } => Some(errors.join(", ")),
        }
        .filter(|label| !label.trim().is_empty())
    }
}

/// Small machines for tests.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    /// A task that is retried and caught, and a choice.
    pub(crate) fn order() -> Graph {
        let mut charge = Node::new("Charge", Kind::Task);
        charge.detail = Some("lambda:charge".to_owned());
        charge.badges = vec!["retry ×3".to_owned()];
        let errors = vec!["CardExpired".to_owned(), "States.ALL".to_owned()];
        let condition = "$.paid > 0".to_owned();
        Graph {
            start: Some(0),
            nodes: vec![
                charge,
                Node::new("Paid?", Kind::Choice),
                Node::new("Done", Kind::Succeed),
                Node::new("Failed", Kind::Fail),
            ],
            edges: vec![
                Edge::new(0, 1, EdgeKind::Next),
                Edge::new(1, 2, EdgeKind::Choice { condition }),
                Edge::new(1, 3, EdgeKind::Default),
                Edge::new(0, 3, EdgeKind::Catch { errors }),
            ],
            ..Graph::default()
        }
    }

    /// A Parallel with one titled and one nameless branch.
    pub(crate) fn parallel() -> Graph {
        let branch = |title: Option<&str>, name: &str, kind| {
            let node = Node { ends: true, ..Node::new(name, kind) };
            let title = title.map(str::to_owned);
            Graph { title, start: Some(0), nodes: vec![node], edges: Vec::new() }
        };
        let children =
            vec![branch(Some("Branch 1"), "A", Kind::Pass), branch(None, "B", Kind::Wait)];
        let both = Node { ends: true, children, ..Node::new("Both", Kind::Parallel) };
        Graph { start: Some(0), nodes: vec![both], ..Graph::default() }
    }

    /// A single task.
    pub(crate) fn named(name: &str) -> Graph {
        Graph { nodes: vec![Node::new(name, Kind::Task)], ..Graph::default() }
    }

    /// Parallels inside one another.
    pub(crate) fn nested(levels: usize) -> Graph {
        let mut graph = named("innermost");
        for level in 0..levels {
            let outer = Node {
                children: vec![graph],
                ..Node::new(format!("level {level}"), Kind::Parallel)
            };
            graph = Graph { start: Some(0), nodes: vec![outer], ..Graph::default() };
        }
        graph
    }
}
