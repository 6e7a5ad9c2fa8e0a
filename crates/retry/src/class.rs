//! What kind of failure it was, as rules may name it.

use serde::{Deserialize, Serialize};

/// `Error.User`, `Error.Runtime`, `Error.Timeout`, `Error.DataLimitExceeded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// The code has raised an error.
    User,
    /// The process ended, could not start, or gave an invalid response.
    Runtime,
    Timeout,
    DataLimitExceeded,
}

impl Class {
    /// Matches a failure of any class.
    pub const ALL: &str = "Error.ALL";
    /// Every name of a class that a rule may have.
    pub const NAMES: [&str; 5] =
        [Self::ALL, "Error.User", "Error.Runtime", "Error.Timeout", "Error.DataLimitExceeded"];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "Error.User",
            Self::Runtime => "Error.Runtime",
            Self::Timeout => "Error.Timeout",
            Self::DataLimitExceeded => "Error.DataLimitExceeded",
        }
    }
}
