//! Why an expression cannot be compiled, and why it cannot be evaluated.

use std::fmt;
use std::ops::Range;

/// A text that is not a valid expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub kind: SyntaxErrorKind,
    /// What is wrong: lowercase, no full stop.
    pub message: String,
    /// Where, as bytes of the expression's own text.
    pub span: Range<usize>,
    /// What to write instead, if that is known.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxErrorKind {
    /// No engine accepts this text.
    Invalid,
    /// Other engines accept this text; this one refuses it by name rather than guess.
    Unsupported,
}

impl SyntaxError {
    pub fn invalid(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { kind: SyntaxErrorKind::Invalid, message: message.into(), span, hint: None }
    }

    pub fn unsupported(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { kind: SyntaxErrorKind::Unsupported, message: message.into(), span, hint: None }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// A valid expression that has no value for this data.
///
/// A variant exists where callers raise a different error name or build a different message.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalError {
    /// A path selects nothing, or cannot be applied to the data.
    Path {
        /// The path as written.
        path: String,
        /// Why, in Jayway's words: `No results for path: $['x']`.
        reason: String,
    },
    /// An intrinsic function was given what it cannot take.
    Intrinsic {
        /// The call as written.
        call: String,
        reason: String,
    },
    /// A JSONata expression threw.
    Jsonata {
        /// JSONata's own code, such as `T1006`, where there is one.
        code: Option<String>,
        /// Without the code.
        message: String,
    },
    /// A JSONata expression has no value.
    Undefined,
    /// The value of a JSONata expression is or holds a function or a regular expression, which JSON does not have.
    NotJson,
    /// Evaluation was stopped: too deep, too long or too large.
    Limit { message: String },
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { path, reason } => write!(f, "invalid path '{path}': {reason}"),
            Self::Intrinsic { call, reason } => write!(f, "intrinsic function '{call}': {reason}"),
            Self::Jsonata { code: Some(code), message } => write!(f, "{code}: {message}"),
            Self::Jsonata { code: None, message } | Self::Limit { message } => f.write_str(message),
            Self::Undefined => f.write_str("returned nothing (undefined)"),
            Self::NotJson => f.write_str("The result holds a function, which is not JSON"),
        }
    }
}

impl std::error::Error for EvalError {}
