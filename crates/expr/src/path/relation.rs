//! The operators of filters, with Jayway's loose typing: `1 == '1'`.

use std::borrow::Cow;
use std::cmp::Ordering;

use regex::Regex;
use serde_json::{Number, Value};

use super::evaluate::Failure;
use super::parse::Parser;
use crate::SyntaxError;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operator {
    Equals,
    NotEquals,
    TypedEquals,
    TypedNotEquals,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Matches,
    In,
    NotIn,
    SubsetOf,
    AnyOf,
    NoneOf,
    Size,
    Empty,
    Contains,
}

/// One side of a comparison.
pub(super) enum Operand<'a> {
    /// The path leads nowhere.
    Undefined,
    Value(Cow<'a, Value>),
    Pattern(&'a Regex),
}

impl Operator {
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, SyntaxError> {
        let from = parser.at;
        let symbol = |byte| matches!(byte, b'<' | b'>' | b'=' | b'~' | b'!');
        let text = match parser.peek() {
            Some(byte) if symbol(byte) => parser.take_while(symbol),
            _ => parser.take_while(|byte| byte.is_ascii_alphanumeric()),
        };
        Ok(match text.to_ascii_lowercase().as_str() {
            "==" => Self::Equals,
            "!=" => Self::NotEquals,
            "===" => Self::TypedEquals,
            "!==" => Self::TypedNotEquals,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "=~" => Self::Matches,
            "in" => Self::In,
            "nin" => Self::NotIn,
            "subsetof" => Self::SubsetOf,
            "anyof" => Self::AnyOf,
            "noneof" => Self::NoneOf,
            "size" => Self::Size,
            "empty" => Self::Empty,
            "contains" => Self::Contains,
            "all" | "type" | "matches" | "exists" => {
                let message = format!("the operator `{text}` is not supported");
                return Err(parser.unsupported(message, from));
            }
            "" => return Err(parser.invalid("expected an operator").with_hint(HINT)),
            _ => {
                let message = format!("unknown operator `{text}`");
                return Err(SyntaxError::invalid(message, from..parser.at).with_hint(HINT));
            }
        })
    }

    /// How many nodes the comparison may look at.
    pub(super) fn work(self, left: &Operand<'_>, right: &Operand<'_>) -> usize {
        let bulk = |operand: &Operand<'_>| operand.value().map_or(0, bulk);
        match self {
            Self::Size | Self::Empty => 0,
            Self::SubsetOf | Self::AnyOf | Self::NoneOf => bulk(left).saturating_mul(bulk(right)),
            _ => bulk(left).saturating_add(bulk(right)),
        }
    }

    pub(super) fn holds(self, left: &Operand<'_>, right: &Operand<'_>) -> Result<bool, Failure> {
        Ok(match self {
            Self::Equals => equal(left, right),
            Self::NotEquals => !equal(left, right),
            Self::TypedEquals => same_type(left, right) && equal(left, right),
            Self::TypedNotEquals => !(same_type(left, right) && equal(left, right)),
            Self::Less => compare(left, right) == Some(Ordering::Less),
            Self::LessOrEqual => compare(left, right).is_some_and(Ordering::is_le),
            Self::Greater => compare(left, right) == Some(Ordering::Greater),
            Self::GreaterOrEqual => compare(left, right).is_some_and(Ordering::is_ge),
            Self::Matches => matches(left, right),
            Self::In => is_in(left, right)?,
            Self::NotIn => !is_in(left, right)?,
            Self::SubsetOf => lists(left, right)?
                .is_some_and(|(left, right)| left.iter().all(|item| contains(right, item))),
            Self::AnyOf => lists(left, right)?
                .is_some_and(|(left, right)| left.iter().any(|item| contains(right, item))),
            Self::NoneOf => lists(left, right)?
                .is_some_and(|(left, right)| !left.iter().any(|item| contains(right, item))),
            Self::Size => has_size(left, right),
            Self::Empty => is_empty(left, right)?,
            Self::Contains => has(left, right),
        })
    }
}

const HINT: &str = "operators are == != < <= > >= =~ in nin subsetof anyof noneof size empty \
                    contains";

impl<'a> Operand<'a> {
    fn value(&'a self) -> Option<&'a Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }
}

fn bulk(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 1 + bulk(item)).sum(),
        Value::Object(fields) => fields.values().map(|value| 1 + bulk(value)).sum(),
        Value::String(text) => text.len() / 16,
        _ => 0,
    }
}

fn equal(left: &Operand<'_>, right: &Operand<'_>) -> bool {
    match (left, right) {
        (Operand::Value(left), Operand::Value(right)) => equal_values(left, right),
        (Operand::Pattern(left), Operand::Pattern(right)) => left.as_str() == right.as_str(),
        _ => false,
    }
}

/// The left side decides how a number and a string are compared.
fn equal_values(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => order(left, right) == Some(Ordering::Equal),
        (Value::Number(left), Value::String(right)) => {
            let right = right.parse().ok().and_then(Number::from_f64);
            right.is_some_and(|right| order(left, &right) == Some(Ordering::Equal))
        }
        (Value::String(left), Value::Number(right)) => *left == right.to_string(),
        _ => left == right,
    }
}

fn same_type(left: &Operand<'_>, right: &Operand<'_>) -> bool {
    let kind = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => 0,
        Value::String(_) => 1,
        Value::Number(_) => 2,
        Value::Bool(_) => 3,
        Value::Null => 4,
    };
    match (left.value(), right.value()) {
        (Some(left), Some(right)) => kind(left) == kind(right),
        _ => false,
    }
}

fn compare(left: &Operand<'_>, right: &Operand<'_>) -> Option<Ordering> {
    match (left.value()?, right.value()?) {
        (Value::Number(left), Value::Number(right)) => order(left, right),
        (Value::String(left), Value::String(right)) => {
            Some(left.encode_utf16().cmp(right.encode_utf16()))
        }
        _ => None,
    }
}

fn order(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// A pattern on one side, a text on the other; any item of a list will do.
fn matches(left: &Operand<'_>, right: &Operand<'_>) -> bool {
    let (pattern, other) = match (left, right) {
        (Operand::Pattern(_), Operand::Pattern(_)) => return false,
        (Operand::Pattern(pattern), other) | (other, Operand::Pattern(pattern)) => (pattern, other),
        _ => return false,
    };
    match other.value() {
        Some(Value::Array(items)) => items.iter().any(|item| pattern.is_match(&text(item))),
        Some(value) => pattern.is_match(&text(value)),
        None => pattern.is_match(""),
    }
}

fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(_) | Value::Bool(_) => Cow::Owned(value.to_string()),
        _ => Cow::Borrowed(""),
    }
}

fn is_in(left: &Operand<'_>, right: &Operand<'_>) -> Result<bool, Failure> {
    let Some(items) = list(right)? else {
        return Ok(false);
    };
    Ok(left.value().is_some_and(|left| contains(items, left)))
}

fn contains(items: &[Value], wanted: &Value) -> bool {
    items.iter().any(|item| equal_values(wanted, item))
}

/// Both sides, where both are lists.
type Lists<'a> = (&'a [Value], &'a [Value]);

fn lists<'a>(left: &'a Operand<'_>, right: &'a Operand<'_>) -> Result<Option<Lists<'a>>, Failure> {
    let Some(right) = list(right)? else {
        return Ok(None);
    };
    Ok(list(left)?.map(|left| (left, right)))
}

/// The items of an array; none of an object; an error for what can never be a list.
fn list<'a>(operand: &'a Operand<'_>) -> Result<Option<&'a [Value]>, Failure> {
    match operand.value() {
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(Value::Object(_)) => Ok(None),
        _ => Err(Failure::Invalid("Expected value list node".into())),
    }
}

fn has_size(left: &Operand<'_>, right: &Operand<'_>) -> bool {
    let Some(wanted) = right.value().and_then(Value::as_f64) else {
        return false;
    };
    let size = match left.value() {
        Some(Value::String(text)) => text.encode_utf16().count(),
        Some(Value::Array(items)) => items.len(),
        _ => return false,
    };
    u32::try_from(size).is_ok_and(|size| f64::from(size) == wanted.trunc())
}

fn is_empty(left: &Operand<'_>, right: &Operand<'_>) -> Result<bool, Failure> {
    let empty = match left.value() {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        _ => return Ok(false),
    };
    match right.value() {
        Some(Value::Bool(wanted)) => Ok(empty == *wanted),
        _ => Err(Failure::Invalid("Expected boolean node".into())),
    }
}

fn has(left: &Operand<'_>, right: &Operand<'_>) -> bool {
    match (left.value(), right.value()) {
        (Some(Value::String(left)), Some(Value::String(right))) => left.contains(&**right),
        (Some(Value::Array(items)), Some(right)) => contains(items, right),
        _ => false,
    }
}
