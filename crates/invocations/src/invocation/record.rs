//! An invocation as bytes: a version, then the record. What was written once is read for ever.

use super::Invocation;
use crate::error::{Error, Result};

const VERSION: u8 = 1;

impl Invocation {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        minicbor::encode(self, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }

    /// # Errors
    ///
    /// If the row is damaged, or of a later version.
    pub fn decode(row: &[u8]) -> Result<Self> {
        match row.split_first() {
            Some((&VERSION, record)) => minicbor::decode(record)
                .map_err(|error| Error::damaged(&format!("an invocation cannot be read: {error}"))),
            Some((version, _)) => Err(Error::damaged(&format!(
                "an invocation has format {version}, and the newest known is {VERSION}"
            ))),
            None => Err(Error::damaged("an invocation's row is empty")),
        }
    }
}
