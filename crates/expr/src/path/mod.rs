//! Paths and Reference Paths.
//!
//! Paths follow the dialect of Jayway JsonPath, because the service reads them with it: its
//! definite and indefinite paths, its loose comparisons, its words when nothing is found.
//! Nothing here knows which field of a state a path stands in.

mod evaluate;
mod filter;
mod function;
mod java;
mod literal;
mod parse;
mod reference;
mod relation;
mod token;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::{EvalError, Scope, SyntaxError};
use evaluate::Failure;
pub(crate) use java::write_java;
pub use reference::ReferencePath;
use token::Steps;

/// What a path starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// `$`
    Input,
    /// `$$`
    Context,
    /// `$name`
    Variable(String),
}

impl Root {
    /// The document a path with this root is applied to; `text` is the path as written.
    fn document<'a>(&self, scope: &Scope<'a>, text: &str) -> Result<&'a Value, EvalError> {
        match self {
            Self::Input => Ok(scope.input),
            Self::Context => Ok(scope.context),
            Self::Variable(name) => scope.variables.get(name).ok_or_else(|| EvalError::Path {
                path: text.to_owned(),
                reason: format!("No value has been assigned to the variable ${name}"),
            }),
        }
    }
}

/// As reasons show it: the first of two dollar signs is stripped before a path is read.
impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input | Self::Context => f.write_str("$"),
            Self::Variable(name) => write!(f, "${name}"),
        }
    }
}

/// A JSONPath in Jayway's dialect, beginning with `$`, `$$` or `$name`.
#[derive(Debug, Clone)]
pub struct Path {
    text: Box<str>,
    root: Root,
    steps: Steps,
}

impl Path {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let (root, steps) = parse::path(text)?;
        Ok(Self { text: text.into(), root, steps })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Whether it names one node at the most, whatever the data.
    #[must_use]
    pub fn is_definite(&self) -> bool {
        self.steps.is_definite()
    }

    /// Whether it is exactly `$`: the input as it stands.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.root == Root::Input && self.steps.is_empty()
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        if let Root::Variable(name) = &self.root {
            into(name);
        }
    }

    /// The value, borrowed from the scope wherever it stands there as it is.
    pub fn evaluate<'a>(&self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
        let document = self.root.document(scope, &self.text)?;
        let found = match self.steps.walk(document) {
            Some(found) => return Ok(Cow::Borrowed(found)),
            None => {
                scope.entropy.effort().check()?;
                evaluate::evaluate(&self.steps, document, &self.root)
            }
        };
        found.map_err(|failure| match failure {
            Failure::Limit(message) => EvalError::Limit { message },
            Failure::NotFound(reason) | Failure::Invalid(reason) | Failure::Fatal(reason) => {
                EvalError::Path { path: self.text.to_string(), reason }
            }
        })
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
