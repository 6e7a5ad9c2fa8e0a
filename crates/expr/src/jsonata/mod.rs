//! JSONata as Step Functions has it: `{% … %}`, `$states`, added and refused functions.
//!
//! An [`Expression`] is compiled once and shared; a [`Session`] holds the data of one state
//! and evaluates expressions on it; a [`Template`] is JSON with expressions in it. No
//! expression can take more time, memory or stack than `limits` says.
//!
//! The engine below (`jsonata_core`) is not named in this module's interface.

mod analysis;
mod convert;
mod functions;
mod guard;
#[cfg(test)]
mod hostile;
mod limits;
mod linear;
mod nesting;
mod parse;
mod plan;
mod rewrite;
mod session;
pub mod suite;
mod template;
#[cfg(test)]
mod tests;
mod tokens;

use std::sync::Arc;

use parse::{Compiled, Dialect, compile};
pub use session::{Session, States};
pub use template::{Template, TemplateError, TemplateSyntaxError};

use crate::SyntaxError;

/// Whether a string of a definition is a JSONata expression, and if so the text inside.
///
/// The delimiters are the very first and the very last characters: ` {% 1 %}` is a string.
#[must_use]
pub fn delimited(text: &str) -> Option<&str> {
    text.strip_prefix("{%")?.strip_suffix("%}")
}

/// Every function that an expression can call without defining it.
#[must_use]
pub fn function_names() -> &'static [&'static str] {
    &functions::NAMES
}

/// A compiled expression; a clone is the same one.
#[derive(Debug, Clone)]
pub struct Expression {
    compiled: Arc<Compiled>,
}

impl Expression {
    /// `text` is what stands between `{%` and `%}`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        compile(text, Dialect::StepFunctions).map(Self::new)
    }

    fn new(compiled: Compiled) -> Self {
        Self { compiled: Arc::new(compiled) }
    }

    fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// As written, without the delimiters and the white space around it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.compiled.text
    }

    /// The names of the workflow variables it reads, `states` not among them.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        self.compiled.analysis.variables().for_each(into);
    }

    /// The functions it calls that do not exist: such a call always fails, since workflow variables hold data.
    pub fn unknown_functions(&self, into: &mut dyn FnMut(&str)) {
        self.compiled.analysis.unknown_functions().for_each(into);
    }

    /// The fields of `$states` it reads, as far as its text shows: `errorOutput` for
    /// `$states.errorOutput.Cause`, nothing for `$lookup($states, $name)`.
    pub fn states_fields(&self, into: &mut dyn FnMut(&str)) {
        self.compiled.analysis.states_fields.iter().for_each(|field| into(field));
    }
}
