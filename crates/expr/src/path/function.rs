//! Functions at the end of a path: `$.numbers.sum()`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::{Number, Value};

use super::evaluate::{Failure, Frame};
use super::java;
use super::token::{Steps, Token};
use crate::SyntaxError;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Name {
    Length,
    Keys,
    Min,
    Max,
    Avg,
    Sum,
    Stddev,
    First,
    Last,
    Index,
    Append,
    Concat,
}

impl Name {
    pub(super) const HINT: &str = "functions are length size keys min max avg sum stddev first \
                                   last index append concat";

    pub(super) fn find(name: &str) -> Option<Self> {
        Some(match name {
            "length" | "size" => Self::Length,
            "keys" => Self::Keys,
            "min" => Self::Min,
            "max" => Self::Max,
            "avg" => Self::Avg,
            "sum" => Self::Sum,
            "stddev" => Self::Stddev,
            "first" => Self::First,
            "last" => Self::Last,
            "index" => Self::Index,
            "append" => Self::Append,
            "concat" => Self::Concat,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) name: Name,
    pub(super) arguments: Vec<Argument>,
}

#[derive(Debug, Clone)]
pub(super) enum Argument {
    Value(Value),
    /// A path from the document.
    Steps(Steps),
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:?}", self.name).to_lowercase();
        let arguments = if self.arguments.is_empty() { "" } else { "..." };
        write!(f, "{name}({arguments})")
    }
}

impl Function {
    /// What can be known before there is data.
    pub(super) fn check(&self, span: Range<usize>) -> Result<(), SyntaxError> {
        match (self.name, self.arguments.as_slice()) {
            (Name::Index, [Argument::Value(Value::Number(_))]) => Ok(()),
            (Name::Index, _) => Err(SyntaxError::unsupported("index() takes one number", span)),
            (Name::Length, [] | [Argument::Steps(_)]) => Ok(()),
            (Name::Keys | Name::First | Name::Last, []) => Ok(()),
            (Name::Length | Name::Keys | Name::First | Name::Last, _) => {
                Err(SyntaxError::unsupported(format!("{self} takes no such argument"), span))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn call<'a>(
        &self,
        node: &'a Value,
        frame: &Frame<'_>,
    ) -> Result<Cow<'a, Value>, Failure> {
        let value = match self.name {
            Name::Length => self.length(node, frame)?,
            Name::Keys => match node {
                Value::Object(fields) => fields.keys().cloned().collect(),
                _ => Value::Null,
            },
            Name::Min | Name::Max | Name::Avg | Name::Sum | Name::Stddev => {
                aggregate(self.name, &self.numbers(node, frame)?)?
            }
            Name::First | Name::Last | Name::Index => {
                return self.item(node).map(Cow::Borrowed);
            }
            Name::Append => {
                let mut value = node.clone();
                if let Value::Array(items) = &mut value {
                    for argument in &self.arguments {
                        items.push(argument.value(frame)?.into_owned());
                    }
                }
                value
            }
            Name::Concat => self.concat(node, frame)?,
        };
        Ok(Cow::Owned(value))
    }

    fn length(&self, node: &Value, frame: &Frame<'_>) -> Result<Value, Failure> {
        if let Some(Argument::Steps(steps)) = self.arguments.first() {
            let mut tokens = steps.tokens().to_vec();
            if !matches!(tokens.last(), None | Some(Token::Function(_))) {
                tokens.push(Token::Wildcard);
            }
            let count = frame.count(&Steps::new(tokens))?;
            return Ok(count.map_or(Value::Null, Value::from));
        }
        Ok(match node {
            Value::Array(items) => items.len().into(),
            Value::Object(fields) => fields.len().into(),
            _ => Value::Null,
        })
    }

    fn numbers(&self, node: &Value, frame: &Frame<'_>) -> Result<Vec<f64>, Failure> {
        let mut numbers = Vec::new();
        if let Value::Array(items) = node {
            numbers.extend(items.iter().filter_map(Value::as_f64));
        }
        for argument in &self.arguments {
            match &*argument.value(frame)? {
                Value::Array(items) => numbers.extend(items.iter().filter_map(Value::as_f64)),
                other => numbers.extend(other.as_f64()),
            }
        }
        Ok(numbers)
    }

    fn item<'a>(&self, node: &'a Value) -> Result<&'a Value, Failure> {
        let Value::Array(items) = node else {
            return Err(empty());
        };
        let index = match (self.name, self.arguments.first()) {
            (Name::First, _) => 0,
            (Name::Last, _) => -1,
            (_, Some(Argument::Value(index))) => index.as_i64().unwrap_or(i64::MAX),
            _ => i64::MAX,
        };
        let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let position = if index < 0 { len + index } else { index };
        let found = usize::try_from(position).ok().and_then(|at| items.get(at));
        found.ok_or_else(|| {
            Failure::Fatal(format!("Target index:{index} larger than object count:{}", items.len()))
        })
    }

    fn concat(&self, node: &Value, frame: &Frame<'_>) -> Result<Value, Failure> {
        let mut text = String::new();
        if let Value::Array(items) = node {
            for item in items.iter().filter_map(Value::as_str) {
                text.push_str(item);
            }
        }
        for argument in &self.arguments {
            match &*argument.value(frame)? {
                Value::String(argument) => text.push_str(argument),
                Value::Array(items) => {
                    for item in items.iter().filter(|item| !item.is_null()) {
                        let _ = java::write_java(item, &mut text);
                    }
                }
                _ => {}
            }
        }
        Ok(Value::String(text))
    }
}

impl Argument {
    fn value<'a>(&'a self, frame: &'a Frame<'_>) -> Result<Cow<'a, Value>, Failure> {
        match self {
            Self::Value(value) => Ok(Cow::Borrowed(value)),
            Self::Steps(steps) => frame.value(steps, frame.document),
        }
    }
}

fn empty() -> Failure {
    Failure::Fatal("Aggregation function attempted to calculate value using empty array".into())
}

// No array has so many items that an f64 could not count them.
fn aggregate(name: Name, numbers: &[f64]) -> Result<Value, Failure> {
    if numbers.is_empty() {
        return Err(empty());
    }
    let count = numbers.len() as f64;
    let sum: f64 = numbers.iter().sum();
    let result = match name {
        Name::Min => numbers.iter().copied().fold(f64::INFINITY, f64::min),
        Name::Max => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Name::Avg => sum / count,
        Name::Stddev => {
            let squares: f64 = numbers.iter().map(|number| number * number).sum();
            (squares / count - sum * sum / count / count).sqrt()
        }
        _ => sum,
    };
    Number::from_f64(result)
        .map(Value::Number)
        .ok_or_else(|| Failure::Fatal("The result is not a number".into()))
}
