//! Why there is no answer: the URL, what failed, and why.

use std::fmt;
use std::io;
use std::time::Duration;

use hyper_util::client::legacy;

use crate::address::Address;
use crate::reach::Refused;

/// A request that has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request cannot be made as it is: its URL, its headers, its signature.
    Request,
    /// Certificates to trust cannot be read.
    Trust,
    /// No server was there, or not a trusted one. Nothing of the request was sent.
    Connect,
    /// The address may not be called. Nothing was sent.
    Refused,
    /// It took too long. Whether the server handled it is not known.
    TimedOut,
    /// The answer was longer than is allowed.
    TooLong,
    /// The connection broke, or the answer was not HTTP. Whether the server handled the request is not known.
    Broken,
}

impl Error {
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn request(shown: &str, why: &str) -> Self {
        Self { kind: Kind::Request, message: format!("{shown} cannot be called: {why}") }
    }

    pub(crate) fn trust(what: &str, why: &str) -> Self {
        Self { kind: Kind::Trust, message: format!("{what} cannot be trusted: {why}") }
    }

    pub(crate) fn refused(address: &Address) -> Self {
        let message = format!("{} may not be called: {Refused}", address.shown);
        Self { kind: Kind::Refused, message }
    }

    pub(crate) fn timed_out(address: &Address, timeout: Duration) -> Self {
        let message = format!("{} did not answer within {timeout:?}", address.shown);
        Self { kind: Kind::TimedOut, message }
    }

    pub(crate) fn exchange(address: &Address, error: &legacy::Error) -> Self {
        let shown = &address.shown;
        let innermost = innermost(error);
        if innermost.is::<Refused>() {
            return Self::refused(address);
        }
        let why = words(innermost);
        if error.is_connect() {
            let message = format!("{shown} cannot be reached: {why}");
            return Self { kind: Kind::Connect, message };
        }
        Self { kind: Kind::Broken, message: format!("{shown} did not answer: {why}") }
    }

    pub(crate) fn body(
        address: &Address,
        error: &(dyn std::error::Error + Send + Sync + 'static),
        max: usize,
    ) -> Self {
        let shown = &address.shown;
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!("the answer of {shown} is longer than {max} bytes");
            return Self { kind: Kind::TooLong, message };
        }
        let why = words(innermost(error));
        Self { kind: Kind::Broken, message: format!("the answer of {shown} broke off: {why}") }
    }
}

/// The specific one.
fn innermost<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> &'e (dyn std::error::Error + 'static) {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost
}

fn words(innermost: &(dyn std::error::Error + 'static)) -> String {
    match innermost.downcast_ref::<io::Error>() {
        // The message of the system begins with a capital letter and ends with a number.
        Some(error) => kind(error).unwrap_or_else(|| error.to_string()),
        None => innermost.to_string(),
    }
}

fn kind(error: &io::Error) -> Option<String> {
    // An error with a message of its own is more specific than its kind.
    let plain = error.get_ref().is_none() && error.kind().to_string() != "uncategorized error";
    plain.then(|| error.kind().to_string())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
