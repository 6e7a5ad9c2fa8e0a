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
use function::{Function, Kind};

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
    /// The first argument that no input can make right, nested calls included.
    misfit: Option<SyntaxError>,
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
            Some(format) => format.fill(&arguments[1..], scope),
            None => self.function.call(arguments, scope),
        };
        result.map_err(|reason| EvalError::Intrinsic { call: self.text.to_string(), reason })
    }

    /// Why it fails for every input: an argument of the wrong kind. It can be called all the same.
    #[must_use]
    pub fn misfit(&self) -> Option<&SyntaxError> {
        self.misfit.as_ref()
    }

    /// Whether it can stand where a string is needed. A call that returns whatever the data holds is not
    /// enough for the service, an item of an array excepted.
    #[must_use]
    pub fn returns_text(&self) -> bool {
        self.function.returns() == Kind::Text || self.function == Function::ArrayGetItem
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
    fn misfit(&self) -> Option<&SyntaxError> {
        match self {
            Self::Call(call) => call.misfit(),
            Self::Value(_) | Self::Path(_) => None,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Value(value) => Kind::of(value),
            Self::Path(_) => Kind::Any,
            Self::Call(call) => call.function.returns(),
        }
    }

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
