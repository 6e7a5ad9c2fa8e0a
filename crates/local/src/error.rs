//! Why an execution cannot be run here.

use std::fmt;

/// A mock file that is wrong, a task that nothing answers, a command that does not start. The message says
/// what to do; callers do the same about all of them: they show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
