//! Intrinsic functions: `States.Format('{}', $.name)`.

use serde_json::Value;

use crate::{EvalError, Scope, SyntaxError};

/// A call with its arguments, nested calls included.
#[derive(Debug, Clone)]
pub struct Call {
    text: String,
}

impl Call {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Ok(Self {
            text: text.to_owned(),
        })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn evaluate(&self, _scope: &Scope<'_>) -> Result<Value, EvalError> {
        Ok(Value::Null)
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, _into: &mut dyn FnMut(&str)) {}
}
