//! What kind of failure it was, as rules may name it.

use serde::{Deserialize, Serialize};

/// `Error.User`, `Error.Runtime`, `Error.Timeout`, `Error.DataLimitExceeded`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// The code has raised an error.
    User,
    /// The process ended, could not start, or answered what is no answer.
    Runtime,
    Timeout,
    DataLimitExceeded,
}
