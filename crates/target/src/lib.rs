//! Targets: where results, failures and dead letters are delivered.
//!
//! `function:NAME`, `stateMachine:NAME`, `queue:NAME`, `file:PATH`, `https://…`: one type for the
//! configuration that names them, the rows that keep them and the drivers that deliver. How anything is
//! delivered is not known here.

mod arn;
mod execution_name;
mod url;

use std::fmt;

use minicbor::encode::Write;
use minicbor::{Decode, Decoder, Encode, Encoder};

pub use execution_name::{ExecutionName, Named, UnknownField};
pub use url::check_url;

/// A target, written out by [`fmt::Display`] as it is read by [`Target::parse`].
///
/// `T` is the text of a URL or a path. What is stored and shown is a `String` in which variables such as
/// `${env:HOOK}` stand as they were written; only the configuration knows their values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target<T = String> {
    Function(String),
    StateMachine(String),
    Queue(String),
    /// The whole URL.
    Http(T),
    /// The path.
    File(T),
    /// A text that names a target only once its variables are filled in: `${env:HOOK}`.
    Unresolved(T),
}

/// Why a text is not a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// None of the known forms.
    Form,
    /// A URL that cannot be called, and what to change.
    Url(&'static str),
}

/// What begins a variable.
const VARIABLE: &str = "${";

impl Target {
    /// Reads a target as it is written, with or without variables.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if !rest.is_empty() && !scheme.contains(VARIABLE) => {
                (scheme, rest)
            }
            _ if text.contains(VARIABLE) => return Ok(Self::Unresolved(text.to_owned())),
            _ => return Err(Invalid::Form),
        };
        let name = rest.to_owned();
        match scheme {
            "function" => Ok(Self::Function(name)),
            "stateMachine" => Ok(Self::StateMachine(name)),
            "queue" => Ok(Self::Queue(name)),
            "file" => Ok(Self::File(name)),
            "http" | "https" if text.contains(VARIABLE) => Ok(Self::Http(text.to_owned())),
            "http" | "https" => match check_url(text) {
                Ok(()) => Ok(Self::Http(text.to_owned())),
                Err(hint) => Err(Invalid::Url(hint)),
            },
            _ => Err(Invalid::Form),
        }
    }

    /// The function, state machine or queue of an ARN; region and account are ignored.
    #[must_use]
    pub fn from_arn(text: &str) -> Option<Self> {
        arn::target(text)
    }

    #[must_use]
    pub fn has_variables(&self) -> bool {
        match self {
            Self::Function(_) | Self::StateMachine(_) | Self::Queue(_) => false,
            Self::Http(text) | Self::File(text) | Self::Unresolved(text) => text.contains(VARIABLE),
        }
    }
}

impl<T> Target<T> {
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Function(name) => Some(name),
            _ => None,
        }
    }

    /// The same target with another text for its URL or path.
    pub fn map<U>(&self, text: impl FnOnce(&T) -> U) -> Target<U> {
        match self {
            Self::Function(name) => Target::Function(name.clone()),
            Self::StateMachine(name) => Target::StateMachine(name.clone()),
            Self::Queue(name) => Target::Queue(name.clone()),
            Self::Http(url) => Target::Http(text(url)),
            Self::File(path) => Target::File(text(path)),
            Self::Unresolved(written) => Target::Unresolved(text(written)),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Target<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(name) => write!(f, "function:{name}"),
            Self::StateMachine(name) => write!(f, "stateMachine:{name}"),
            Self::Queue(name) => write!(f, "queue:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Http(text) | Self::Unresolved(text) => text.fmt(f),
        }
    }
}

/// A text that has been accepted before: one that is not a target today is kept as it is.
impl From<&str> for Target {
    fn from(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|_| Self::Unresolved(text.to_owned()))
    }
}

/// Stored as its text.
impl<C> Encode<C> for Target {
    fn encode<W: Write>(
        &self,
        encoder: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        encoder.str(&self.to_string())?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Target {
    fn decode(decoder: &mut Decoder<'b>, _: &mut C) -> Result<Self, minicbor::decode::Error> {
        decoder.str().map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Target, Invalid>) {
        let parsed = Target::parse(text);
        if let Ok(target) = &parsed {
            assert_eq!(target.to_string(), text);
        }
        assert_eq!(parsed, expected, "{text}");
    }

    #[test]
    fn targets_are_written_as_they_are_read() {
        let text = |text: &str| text.to_owned();
        check("function:a", Ok(Target::Function(text("a"))));
        check("stateMachine:a", Ok(Target::StateMachine(text("a"))));
        check("queue:a.fifo", Ok(Target::Queue(text("a.fifo"))));
        check("file:out/x.jsonl", Ok(Target::File(text("out/x.jsonl"))));
        check("https://host/x", Ok(Target::Http(text("https://host/x"))));
        check("https://${env:HOST}/x", Ok(Target::Http(text("https://${env:HOST}/x"))));
        check("${env:HOOK}", Ok(Target::Unresolved(text("${env:HOOK}"))));
        for invalid in ["", "a", "function:", "https:", "ftp://x", "file:", "arn:aws:sns:r:a:t"] {
            check(invalid, Err(Invalid::Form));
        }
        for invalid in ["https://", "https:x", "http://host:0/"] {
            assert!(matches!(Target::parse(invalid), Err(Invalid::Url(_))), "{invalid}");
        }
    }

    #[test]
    fn a_stored_target_is_its_text() {
        for text in ["function:a", "file:a b", "${env:HOOK}", "of another version"] {
            let target = Target::from(text);
            let bytes = minicbor::to_vec(&target).expect("it is encoded");
            assert_eq!(bytes, minicbor::to_vec(text).expect("it is encoded"));
            assert_eq!(minicbor::decode::<Target>(&bytes).expect("it is decoded"), target);
            assert_eq!(target.to_string(), text);
        }
    }
}
