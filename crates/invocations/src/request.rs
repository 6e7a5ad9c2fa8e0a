//! What users ask for.

use crate::error::{Error, Result};
use crate::invocation::Source;
use crate::report::check_json;

/// An event for a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub function: String,
    /// JSON text.
    pub payload: Vec<u8>,
    pub source: Source,
    /// The id of the message, or the caller's idempotency key. Of all requests with the same source's name
    /// and the same key one is invoked, and the others find it, as long as it is kept.
    pub key: Option<String>,
    /// What came cannot be an event: it goes to the dead letters as it is, and nothing runs.
    pub unparseable: bool,
}

impl Request {
    pub(crate) fn check(&self, bytes_max: usize) -> Result<()> {
        check(&self.payload, self.unparseable, bytes_max)
    }
}

pub(crate) fn check(payload: &[u8], unparseable: bool, bytes_max: usize) -> Result<()> {
    if payload.len() > bytes_max {
        return Err(Error::TooLarge { bytes: payload.len(), most: bytes_max });
    }
    if unparseable {
        return Ok(());
    }
    check_json(payload).map_err(Error::NotJson)
}

/// How dead letters are sent back. Each becomes a new invocation with a fresh budget.
#[derive(Debug, Clone, Default)]
pub struct Redrive {
    /// With the function as it is now; otherwise with version, policy and routes as they were.
    pub latest: bool,
    /// With this event instead of their own.
    pub payload: Option<Vec<u8>>,
    /// So long after each other, for a function that could not take them all at once.
    pub spacing_ms: u64,
    /// So many at most; all if there is none.
    pub limit: Option<usize>,
    /// Only say which.
    pub dry_run: bool,
}
