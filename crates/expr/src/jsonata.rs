//! JSONata as Step Functions has it: `{% … %}`, `$states`, added and refused functions.

use serde_json::Value;

use crate::{Entropy, EvalError, SyntaxError, Variables};

/// Whether a string of a definition is a JSONata expression, and if so the text inside.
#[must_use]
pub fn delimited(text: &str) -> Option<&str> {
    text.strip_prefix("{%")?.strip_suffix("%}")
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
}

impl Expression {
    /// `text` is what stands between `{%` and `%}`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Ok(Self {
            text: text.trim().to_owned(),
        })
    }

    /// As written, without the delimiters and the white space around it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the workflow variables it reads, `states` not among them.
    pub fn variables(&self, _into: &mut dyn FnMut(&str)) {}
}

/// The data of one state, converted once for all the expressions of that state.
pub struct Session<'a> {
    states: &'a Value,
    variables: &'a dyn Variables,
    entropy: &'a Entropy,
}

impl<'a> Session<'a> {
    /// `states` is the value of `$states`: an object with `input`, `context` and perhaps
    /// `result` or `errorOutput`.
    #[must_use]
    pub fn new(states: &'a Value, variables: &'a dyn Variables, entropy: &'a Entropy) -> Self {
        Self {
            states,
            variables,
            entropy,
        }
    }

    /// The value; `EvalError::Undefined` if there is none.
    pub fn evaluate(&self, _expression: &Expression) -> Result<Value, EvalError> {
        let _ = (self.states, self.entropy, self.variables.get(""));
        Err(EvalError::Undefined)
    }
}

/// JSON in which any string may be an expression.
#[derive(Debug, Clone)]
pub struct Template {
    value: Value,
}

/// Why a template cannot be compiled; `pointer` is the JSON pointer of the string inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateSyntaxError {
    pub pointer: String,
    pub error: SyntaxError,
}

/// Why a template has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateError {
    /// Field names and indexes down to the expression, without the template's own name:
    /// `["result"]` for `Output/result`; empty if the template is one expression.
    pub location: Vec<String>,
    /// The expression as written, without delimiters.
    pub expression: String,
    pub error: EvalError,
}

impl Template {
    /// Compiles, or says all that is wrong.
    pub fn parse(value: &Value) -> Result<Self, Vec<TemplateSyntaxError>> {
        Ok(Self {
            value: value.clone(),
        })
    }

    pub fn evaluate(&self, _session: &Session<'_>) -> Result<Value, TemplateError> {
        Ok(self.value.clone())
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, _into: &mut dyn FnMut(&str)) {}
}
