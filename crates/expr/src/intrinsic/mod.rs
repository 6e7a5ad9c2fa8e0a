//! Intrinsic functions: `States.Format('{}', $.name)`.
//!
//! Nothing here knows which error name a failure has: that depends on the dialect.

mod array;
mod format;
mod function;
mod math;
mod parse;
mod text;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::path::Path;
use crate::size::Allowance;
use crate::{EvalError, Scope, SyntaxError};
use format::Format;
use function::Function;

/// A call with its arguments, nested calls included.
#[derive(Debug, Clone)]
pub struct Call {
    text: Box<str>,
    function: Function,
    arguments: Box<[Argument]>,
    /// The first argument of `States.Format`, if it is a literal.
    format: Option<Format>,
    /// How many values it reads, nested calls included.
    reads: usize,
}

#[derive(Debug, Clone)]
enum Argument {
    Value(Value),
    Path(Path),
    Call(Call),
}

impl Call {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse::call(text)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, EvalError> {
        scope.entropy.effort().check()?;
        let allowance = Allowance::for_copies(self.reads);
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            let value = argument.evaluate(scope)?;
            allowance.spend(&value)?;
            arguments.push(value);
        }
        let result = match &self.format {
            Some(format) => format.fill(&arguments[1..]),
            None => self.function.call(arguments, scope.entropy),
        };
        result.map_err(|reason| EvalError::Intrinsic { call: self.text.to_string(), reason })
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        for argument in &self.arguments {
            match argument {
                Argument::Value(_) => {}
                Argument::Path(path) => path.variables(into),
                Argument::Call(call) => call.variables(into),
            }
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Argument {
    fn reads(&self) -> usize {
        match self {
            Self::Value(_) => 0,
            Self::Path(_) => 1,
            Self::Call(call) => call.reads,
        }
    }

    fn evaluate<'a>(&'a self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
        match self {
            Self::Value(value) => Ok(Cow::Borrowed(value)),
            Self::Path(path) => path.evaluate(scope),
            Self::Call(call) => call.evaluate(scope).map(Cow::Owned),
        }
    }
}
