//! What the process tells its caller.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All is well.
    Good = 0,
    /// A definition has problems, or an execution failed.
    Problems = 1,
    /// The command line is wrong, or a file cannot be read or written.
    Unusable = 2,
    /// Ctrl-C, as shells report it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
