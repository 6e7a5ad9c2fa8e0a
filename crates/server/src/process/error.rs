//! Why a server cannot start, or had to stop.

use std::fmt;
use std::fmt::Display;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// A message for the person who started the server. Nobody acts on the difference between causes, so it is
/// only text: what could not be done, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Adds what could not be done to why.
pub(crate) trait Context<T> {
    fn context(self, what: impl Display) -> Result<T>;
}

impl<T, E: Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl Display) -> Result<T> {
        self.map_err(|why| Error(format!("{what}: {why}")))
    }
}

/// Errors that say all there is to say.
macro_rules! from {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        })+
    };
}

from!(
    std::io::Error,
    everstep_api::protocol::Error,
    everstep_client::Error,
    everstep_executions::Error,
    everstep_invocations::Error,
    everstep_queues::Error,
    everstep_shards::Error,
    everstep_store_embedded::OpenError,
    everstep_store_postgres::OpenError,
    crate::http::TlsError,
);
