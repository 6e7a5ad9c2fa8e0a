//! Why a store cannot do what it is asked.

use std::fmt;
use std::sync::Arc;

use crate::{BATCH_BYTES_MAX, KEY_BYTES_MAX, Space, VALUE_BYTES_MAX};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A row is not as the batch expects it. Nothing of the batch has happened.
    Unexpected { space: Space },
    /// A key, a value or the whole batch has more bytes than a store takes. Nothing of the batch has happened.
    TooLarge { space: Space, bytes: usize },
    /// The store can write no more: what happened, and what to do about it. Final until it is opened
    /// again.
    Failed(Arc<str>),
    /// Another owner has the shard: nothing of the batch has happened. Who, and what to do about it. Final until
    /// the store is opened again.
    Fenced(Arc<str>),
    /// A row is there but cannot be read: its file is damaged.
    Damaged(Arc<str>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { space } => {
                write!(
                    f,
                    "a row of {} is not as it was expected: another owner has written",
                    space.name()
                )
            }
            Self::TooLarge { space, bytes } => write!(
                f,
                "{bytes} bytes for {} are too many: a key may have {KEY_BYTES_MAX}, a value {VALUE_BYTES_MAX}, \
                 a batch {BATCH_BYTES_MAX}",
                space.name()
            ),
            Self::Failed(why) | Self::Fenced(why) | Self::Damaged(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}
