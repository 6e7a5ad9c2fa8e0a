//! What an expression reads, as far as its text shows: free names, parts of `$states`,
//! and uses of a context where there is none.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};
use jsonata_core::value::with_stack;
use regex::bytes::RegexBuilder;

use super::{functions, limits};

/// What [`analyse`] finds out.
#[derive(Debug, Default)]
pub(super) struct Analysis {
    /// Every free name, those of functions among them.
    pub(super) names: Vec<String>,
    /// Of these, the ones that are read, not only called.
    read: Vec<String>,
    /// Of these, the ones that are called.
    called: Vec<String>,
    /// Whether `$states` is used other than by naming its fields.
    pub(super) states_whole: bool,
    /// The fields of `$states` that are named, even if it is used as a whole as well.
    pub(super) states_fields: Vec<String>,
    /// The first use of the context at the top level, where there is none.
    pub(super) context: Option<ContextUse>,
    /// The first regular expression that does not compile, and why.
    pub(super) regex: Option<(String, String)>,
}

impl Analysis {
    /// Free names that only a workflow variable can stand for.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self.read.iter().map(String::as_str);
        names.filter(|name| *name != "states" && !functions::is_function(name))
    }

    /// Calls that always fail: of neither JSONata's functions nor the expression's own.
    pub(super) fn unknown_functions(&self) -> impl Iterator<Item = &str> {
        self.called.iter().map(String::as_str).filter(|name| !functions::is_function(name))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContextUse {
    /// `$`
    Context,
    /// `$$`
    Root,
    /// `name`
    Name(String),
    /// `*` or `**`
    Wildcard,
}

pub(super) fn analyse(node: &AstNode) -> Analysis {
    let mut walk = Walk::default();
    walk.node(node);
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Analysis,
    /// Names that lambdas and blocks around this node have bound.
    bound: Vec<String>,
    /// How many steps, predicates and functions give this node a context.
    contexts: usize,
}

impl Walk {
    fn node(&mut self, node: &AstNode) {
        with_stack(|| self.visit(node));
    }

    fn nodes<'a>(&mut self, nodes: impl IntoIterator<Item = &'a AstNode>) {
        nodes.into_iter().for_each(|node| self.node(node));
    }

    fn pairs(&mut self, pairs: &[(AstNode, AstNode)]) {
        self.nodes(pairs.iter().flat_map(|(key, value)| [key, value]));
    }

    /// Visits what is evaluated once per item, with that item as its context.
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.contexts += 1;
        visit(self);
        self.contexts -= 1;
    }

    /// Visits what forgets the names it binds.
    fn scoped(&mut self, visit: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        visit(self);
        self.bound.truncate(outer);
    }

    fn visit(&mut self, node: &AstNode) {
        match node {
            AstNode::Variable(name) if name.is_empty() => self.context(|| ContextUse::Context),
            AstNode::Variable(name) => self.variable(name),
            AstNode::ParentVariable(_) => self.context(|| ContextUse::Root),
            AstNode::Name(name) => self.context(|| ContextUse::Name(name.clone())),
            AstNode::Wildcard | AstNode::Descendant => self.context(|| ContextUse::Wildcard),
            AstNode::Regex { pattern, flags } => self.regex(pattern, flags),
            AstNode::Path { steps } => self.path(steps),
            AstNode::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs),
            AstNode::Unary { operand, .. } => self.node(operand),
            AstNode::Function { name, args, is_builtin } => {
                if *is_builtin && self.free_name(name) {
                    note(&mut self.found.called, name);
                }
                self.nodes(args);
            }
            AstNode::Call { procedure, args } => {
                self.node(procedure);
                self.nodes(args);
            }
            AstNode::Lambda { params, body, .. } => self.scoped(|walk| {
                walk.bound.extend(params.iter().cloned());
                walk.within(|walk| walk.node(body));
            }),
            AstNode::Array(items) | AstNode::ArrayGroup(items) => self.nodes(items),
            AstNode::Object(pairs) => self.pairs(pairs),
            AstNode::ObjectTransform { input, pattern } => {
                self.node(input);
                self.within(|walk| walk.pairs(pattern));
            }
            AstNode::Block(nodes) => self.scoped(|walk| walk.nodes(nodes)),
            AstNode::Conditional { condition, then_branch, else_branch } => {
                self.nodes([&**condition, then_branch]);
                self.nodes(else_branch.as_deref());
            }
            AstNode::FunctionApplication(inner) => self.node(inner),
            AstNode::Sort { input, terms } => {
                self.node(input);
                self.within(|walk| walk.nodes(terms.iter().map(|(term, _)| term)));
            }
            AstNode::Transform { location, update, delete } => self.within(|walk| {
                walk.nodes([&**location, update]);
                walk.nodes(delete.as_deref());
            }),
            AstNode::String(_)
            | AstNode::Number(_)
            | AstNode::Boolean(_)
            | AstNode::Null
            | AstNode::Undefined
            | AstNode::Placeholder
            | AstNode::Parent(_) => {}
        }
    }

    fn context(&mut self, found: impl FnOnce() -> ContextUse) {
        if self.contexts == 0 {
            self.found.context.get_or_insert_with(found);
        }
    }

    /// `$name` as a value. As the start of a path, `$states` is met in [`Walk::path`].
    fn variable(&mut self, name: &str) {
        if name == "states" {
            self.found.states_whole = true;
        }
        if self.free_name(name) {
            note(&mut self.found.read, name);
        }
    }

    /// Whether `name` is free; if so it is noted.
    fn free_name(&mut self, name: &str) -> bool {
        let free = !self.is_bound(name);
        if free {
            note(&mut self.found.names, name);
        }
        free
    }

    fn is_bound(&self, name: &str) -> bool {
        self.bound.iter().any(|bound| bound == name)
    }

    fn regex(&mut self, pattern: &str, flags: &str) {
        if self.found.regex.is_none()
            && let Err(reason) = check_regex(pattern, flags)
        {
            self.found.regex = Some((pattern.to_owned(), reason));
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: &AstNode, rhs: &AstNode) {
        let (BinaryOp::ColonEqual, AstNode::Variable(name)) = (op, lhs) else {
            return self.nodes([lhs, rhs]);
        };
        // A function may call itself by the name it is bound to.
        if matches!(rhs, AstNode::Lambda { .. }) {
            self.bound.push(name.clone());
            self.node(rhs);
        } else {
            self.node(rhs);
            self.bound.push(name.clone());
        }
    }

    fn path(&mut self, steps: &[PathStep]) {
        let Some((first, rest)) = steps.split_first() else {
            return;
        };
        if !self.states_field(first, rest) {
            self.node(&first.node);
        }
        self.stages(first);
        self.within(|walk| {
            for step in rest {
                walk.node(&step.node);
                walk.stages(step);
            }
        });
    }

    /// `$states.field`: only that field is read.
    fn states_field(&mut self, first: &PathStep, rest: &[PathStep]) -> bool {
        let AstNode::Variable(root) = &first.node else {
            return false;
        };
        let Some(AstNode::Name(field)) = rest.first().map(|step| &step.node) else {
            return false;
        };
        if root != "states" || self.is_bound(root) || !first.stages.is_empty() {
            return false;
        }
        if !self.found.states_fields.contains(field) {
            self.found.states_fields.push(field.clone());
        }
        self.free_name(root);
        true
    }

    fn stages(&mut self, step: &PathStep) {
        self.bound.extend(step.focus.iter().cloned());
        self.bound.extend(step.index_var.iter().cloned());
        for stage in &step.stages {
            match stage {
                Stage::Filter(predicate) => self.within(|walk| walk.node(predicate)),
                Stage::Index(name) => self.bound.push(name.clone()),
                Stage::KeepArray => {}
            }
        }
    }
}

fn note(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Why a regular expression cannot be used.
fn check_regex(pattern: &str, flags: &str) -> Result<(), String> {
    let built = jsonata_core::functions::string::build_regex(pattern, flags);
    built.map_err(|error| error.to_string())?;
    // Classes of Unicode are large, but as fast as any other, so they are not counted.
    let size =
        RegexBuilder::new(pattern).unicode(false).size_limit(limits::REGEX_BYTES_MAX).build();
    match size {
        Err(regex::Error::CompiledTooBig(_)) => {
            Err("it repeats too much, and searches would take too long".to_owned())
        }
        _ => Ok(()),
    }
}
