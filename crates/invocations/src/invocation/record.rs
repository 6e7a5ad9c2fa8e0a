//! An invocation as bytes: a version, then the record. What was written once is read for ever.

use everstep_shards::row;

use super::Invocation;
use crate::error::Result;

const VERSION: u8 = 1;

impl Invocation {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    /// # Errors
    ///
    /// If the row is damaged, or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("an invocation", VERSION, bytes)?)
    }
}
