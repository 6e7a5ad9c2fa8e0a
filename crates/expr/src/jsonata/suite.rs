//! For the official test-suite only: the whole language, on any input and bindings.

use std::fmt;

use jsonata_core::evaluator::EvaluatorOptions;
use jsonata_core::value::JValue;
use serde_json::Value;

use super::parse::{Dialect, compile};
use super::{Expression, Session, convert, guard};
use crate::{Entropy, EvalError, Variables};

/// 2023-11-14T22:13:20Z, for the cases that ask.
const NOW_MS: i64 = 1_700_000_000_000;

/// Why a case of the suite has no result.
#[derive(Debug)]
pub enum Failure {
    Syntax(String),
    Evaluation(EvalError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => f.write_str(message),
            Self::Evaluation(error) => error.fmt(f),
        }
    }
}

/// Bounds that a case brings along; it cannot lift ours.
#[derive(Debug, Default, Clone, Copy)]
pub struct Bounds {
    pub time_ms: Option<u64>,
    pub depth: Option<usize>,
}

/// The value of `text` for `input`; `None` is undefined, on either side.
pub fn evaluate(
    text: &str,
    input: Option<&Value>,
    bindings: &dyn Variables,
    bounds: Bounds,
) -> Result<Option<Value>, Failure> {
    let compiled = compile(text, Dialect::Whole).map_err(|error| Failure::Syntax(error.message))?;
    let entropy = Entropy::new(NOW_MS, 1);
    let session = Session::new(&Value::Null, bindings, &entropy);
    let limits = guard::options();
    let options = EvaluatorOptions {
        timeout_ms: limits.timeout_ms.map(|ours| ours.min(bounds.time_ms.unwrap_or(ours))),
        max_stack_depth: limits.max_stack_depth.map(|ours| ours.min(bounds.depth.unwrap_or(ours))),
        ..limits
    };
    let input = input.map_or(Ok(JValue::Undefined), convert::to_engine);
    let result = input.and_then(|input| session.run(&Expression::new(compiled), &input, options));
    match result {
        Ok(value) => Ok(Some(value)),
        Err(EvalError::Undefined) => Ok(None),
        Err(error) => Err(Failure::Evaluation(error)),
    }
}
