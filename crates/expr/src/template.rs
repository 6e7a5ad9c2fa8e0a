//! Payload templates: JSON in which fields named `….$` hold expressions.

use serde_json::Value;

use crate::intrinsic::Call;
use crate::path::Path;
use crate::{EvalError, Scope, SyntaxError};

/// What the value of a `….$` field can be.
#[derive(Debug, Clone)]
pub enum Expression {
    Path(Path),
    Call(Call),
}

impl Expression {
    /// A text that begins with `$` is a path, any other an intrinsic function.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        if text.starts_with('$') {
            Path::parse(text).map(Self::Path)
        } else {
            Call::parse(text).map(Self::Call)
        }
    }
}

/// A compiled payload template.
#[derive(Debug, Clone)]
pub struct Template {
    value: Value,
}

/// Why a template cannot be compiled; `pointer` is the JSON pointer of the field inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateSyntaxError {
    pub pointer: String,
    pub kind: TemplateSyntaxErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateSyntaxErrorKind {
    /// The value of a `….$` field is not a string.
    NotAString,
    /// The value of a `….$` field is neither a path nor an intrinsic function.
    Expression(SyntaxError),
    /// Two fields have the same name once `.$` is stripped.
    Duplicate { name: String },
}

/// Why a template has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateError {
    /// The field as written, `value.$`.
    pub field: String,
    pub error: EvalError,
}

impl Template {
    /// Compiles, or says all that is wrong.
    pub fn parse(value: &Value) -> Result<Self, Vec<TemplateSyntaxError>> {
        Ok(Self {
            value: value.clone(),
        })
    }

    pub fn evaluate(&self, _scope: &Scope<'_>) -> Result<Value, TemplateError> {
        Ok(self.value.clone())
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, _into: &mut dyn FnMut(&str)) {}
}
