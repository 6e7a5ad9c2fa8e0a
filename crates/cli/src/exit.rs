//! Exit codes.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Success.
    Good = 0,
    /// A definition has problems, or an execution failed.
    Problems = 1,
    /// Invalid arguments, or a file cannot be read or written.
    Unusable = 2,
    /// Ctrl-C, as shells report it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
