//! Changes that happen together.

use crate::{BATCH_BYTES_MAX, Error, KEY_BYTES_MAX, Result, Shard, Space, VALUE_BYTES_MAX};

/// Changes to the rows of one shard, all or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub shard: Shard,
    pub expectations: Vec<Expectation>,
    pub writes: Vec<Write>,
}

/// A row as it must be for the batch to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    pub space: Space,
    pub key: Vec<u8>,
    /// Its value, or that there is no such row.
    pub value: Option<Vec<u8>>,
}

/// One change. If a batch changes a row more than once, the last change counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub space: Space,
    pub key: Vec<u8>,
    /// The new value, or that the row is removed.
    pub value: Option<Vec<u8>>,
}

impl Batch {
    #[must_use]
    pub fn new(shard: Shard) -> Self {
        Self { shard, expectations: Vec::new(), writes: Vec::new() }
    }

    pub fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.writes.push(Write { space, key, value: Some(value) });
    }

    pub fn remove(&mut self, space: Space, key: Vec<u8>) {
        self.writes.push(Write { space, key, value: None });
    }

    /// Adds a row, and expects that it is not there yet.
    pub fn insert(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.expectations.push(Expectation { space, key: key.clone(), value: None });
        self.put(space, key, value);
    }

    /// Whether every store takes its keys and values.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], for the first that is too large, or for all together.
    pub fn check(&self) -> Result<()> {
        let too_large = |write: &Write| {
            let value = write.value.as_ref().map_or(0, Vec::len);
            let sizes = [(write.key.len(), KEY_BYTES_MAX), (value, VALUE_BYTES_MAX)];
            let large = sizes.into_iter().find(|(bytes, most)| bytes > most);
            large.map(|(bytes, _)| Error::TooLarge { space: write.space, bytes })
        };
        match (self.writes.iter().find_map(too_large), self.writes.first()) {
            (Some(error), _) => Err(error),
            (None, Some(first)) if self.size() > BATCH_BYTES_MAX => {
                Err(Error::TooLarge { space: first.space, bytes: self.size() })
            }
            _ => Ok(()),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.expectations.is_empty()
    }

    /// Bytes of its keys and values.
    #[must_use]
    pub fn size(&self) -> usize {
        let bytes = |write: &Write| write.key.len() + write.value.as_ref().map_or(0, Vec::len);
        self.writes.iter().map(bytes).sum()
    }
}
