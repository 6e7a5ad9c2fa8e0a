//! Expressions that need no engine: literals, plain paths into `$states` or a variable, and
//! comparisons and concatenations of these. Whatever is not plain when it is evaluated is
//! left to the engine.

use std::borrow::Cow;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep};
use jsonata_core::value::with_stack;
use serde_json::{Value, json};

use super::convert::number_from;
use super::limits::STRING_BYTES_MAX;

/// An expression whose value can be had from the JSON as it is.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    Literal(Value),
    /// `$root.a.b`
    Path {
        root: String,
        fields: Vec<String>,
    },
    Binary {
        op: BinaryOp,
        sides: Box<[Plan; 2]>,
    },
}

/// What a plan comes to without the engine.
pub(super) enum Planned<'a> {
    Value(Cow<'a, Value>),
    Undefined,
    /// The engine knows better.
    Unclear,
}

/// Finds where a path starts: its root by name, and perhaps by its first field.
pub(super) type Roots<'a, 'r> =
    dyn Fn(&str, &'a [String]) -> Option<(&'a Value, &'a [String])> + 'r;

pub(super) fn plan(node: &AstNode) -> Option<Plan> {
    match node {
        AstNode::String(text) => Some(Plan::Literal(json!(text))),
        AstNode::Number(number) => Some(Plan::Literal(Value::Number(number_from(*number).ok()?))),
        AstNode::Boolean(flag) => Some(Plan::Literal(json!(flag))),
        AstNode::Null => Some(Plan::Literal(Value::Null)),
        AstNode::Variable(root) if !root.is_empty() => {
            Some(Plan::Path { root: root.clone(), fields: Vec::new() })
        }
        AstNode::Path { steps } => path(steps),
        AstNode::Binary { op, lhs, rhs } if is_plain_operator(*op) => with_stack(|| {
            let sides = Box::new([plan(lhs)?, plan(rhs)?]);
            Some(Plan::Binary { op: *op, sides })
        }),
        _ => None,
    }
}

fn is_plain_operator(op: BinaryOp) -> bool {
    use BinaryOp as Op;
    matches!(
        op,
        Op::Equal
            | Op::NotEqual
            | Op::LessThan
            | Op::LessThanOrEqual
            | Op::GreaterThan
            | Op::GreaterThanOrEqual
            | Op::And
            | Op::Or
            | Op::Concatenate
    )
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

impl Plan {
    /// `roots` gives the value of a variable, or of a field of `$states`, and the fields left to go.
    pub(super) fn evaluate<'a>(&'a self, roots: &Roots<'a, '_>) -> Planned<'a> {
        match self {
            Self::Literal(value) => Planned::Value(Cow::Borrowed(value)),
            Self::Path { root, fields } => match roots(root, fields) {
                Some((root, fields)) => select(root, fields),
                // It may be the name of a function.
                None => Planned::Unclear,
            },
            Self::Binary { op, sides } => with_stack(|| {
                let [left, right] = &**sides;
                match (left.evaluate(roots), right.evaluate(roots)) {
                    (Planned::Value(left), Planned::Value(right)) => apply(*op, &left, &right),
                    _ => None,
                }
                .map_or(Planned::Unclear, |value| Planned::Value(Cow::Owned(value)))
            }),
        }
    }
}

fn select<'a>(root: &'a Value, fields: &[String]) -> Planned<'a> {
    let mut value = root;
    for field in fields {
        match value {
            Value::Object(map) => match map.get(field) {
                Some(inner) => value = inner,
                None => return Planned::Undefined,
            },
            Value::Array(_) => return Planned::Unclear,
            _ => return Planned::Undefined,
        }
    }
    Planned::Value(Cow::Borrowed(value))
}

/// The cases in which operands need no conversion and no rule of their own.
fn apply(op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64()?, right.as_f64()?);
            Some(Value::Bool(match op {
                #[expect(clippy::float_cmp, reason = "as JSONata does")]
                BinaryOp::Equal => left == right,
                #[expect(clippy::float_cmp, reason = "as JSONata does")]
                BinaryOp::NotEqual => left != right,
                BinaryOp::LessThan => left < right,
                BinaryOp::LessThanOrEqual => left <= right,
                BinaryOp::GreaterThan => left > right,
                BinaryOp::GreaterThanOrEqual => left >= right,
                _ => return None,
            }))
        }
        (Value::String(left), Value::String(right)) => match op {
            BinaryOp::Equal => Some(Value::Bool(left == right)),
            BinaryOp::NotEqual => Some(Value::Bool(left != right)),
            BinaryOp::Concatenate if left.len() + right.len() <= STRING_BYTES_MAX => {
                Some(Value::String(format!("{left}{right}")))
            }
            _ => None,
        },
        (Value::Bool(left), Value::Bool(right)) => match op {
            BinaryOp::Equal => Some(Value::Bool(left == right)),
            BinaryOp::NotEqual => Some(Value::Bool(left != right)),
            BinaryOp::And => Some(Value::Bool(*left && *right)),
            BinaryOp::Or => Some(Value::Bool(*left || *right)),
            _ => None,
        },
        _ => None,
    }
}
