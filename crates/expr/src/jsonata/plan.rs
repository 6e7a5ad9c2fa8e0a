//! Expressions that need no engine: literals, and plain paths into `$states` or a variable.

use jsonata_core::ast::{AstNode, PathStep};
use serde_json::{Value, json};

/// An expression whose value can be had from the JSON as it is.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    Literal(Value),
    /// `$root.a.b`; for other than objects on the way, the engine knows better.
    Path {
        root: String,
        fields: Vec<String>,
    },
}

/// What a [`Plan::Path`] meets.
pub(super) enum Selected<'a> {
    Found(&'a Value),
    /// There is no such field.
    Missing,
    /// Something on the way is an array.
    Unclear,
}

pub(super) fn plan(node: &AstNode) -> Option<Plan> {
    match node {
        AstNode::String(text) => Some(Plan::Literal(json!(text))),
        AstNode::Boolean(flag) => Some(Plan::Literal(json!(flag))),
        AstNode::Null => Some(Plan::Literal(Value::Null)),
        AstNode::Variable(root) if !root.is_empty() => {
            Some(Plan::Path { root: root.clone(), fields: Vec::new() })
        }
        AstNode::Path { steps } => path(steps),
        _ => None,
    }
}

fn path(steps: &[PathStep]) -> Option<Plan> {
    let (first, rest) = steps.split_first()?;
    let AstNode::Variable(root) = &first.node else {
        return None;
    };
    if root.is_empty() || !steps.iter().all(is_plain) {
        return None;
    }
    let fields = rest.iter().map(|step| match &step.node {
        AstNode::Name(name) => Some(name.clone()),
        _ => None,
    });
    Some(Plan::Path { root: root.clone(), fields: fields.collect::<Option<_>>()? })
}

fn is_plain(step: &PathStep) -> bool {
    step.stages.is_empty() && step.focus.is_none() && step.index_var.is_none() && !step.is_tuple
}

pub(super) fn select<'a>(root: &'a Value, fields: &[String]) -> Selected<'a> {
    let mut value = root;
    for field in fields {
        match value {
            Value::Object(map) => match map.get(field) {
                Some(inner) => value = inner,
                None => return Selected::Missing,
            },
            Value::Array(_) => return Selected::Unclear,
            _ => return Selected::Missing,
        }
    }
    Selected::Found(value)
}
