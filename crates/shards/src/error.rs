//! Why an engine cannot do what it is asked, whatever it is an engine of.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub type Result<T> = std::result::Result<T, Error>;

/// The store, or the engine itself, is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The store cannot write or read.
    Store(everstep_store::Error),
    /// What was stored cannot be understood.
    Damaged(Arc<str>),
    /// The thread of a shard has panicked: the engine has a defect.
    Panicked { shard: u16, message: Arc<str> },
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Too many requests are waiting already: retry later.
    Busy,
    /// The engine has been stopped.
    Stopped,
    /// The engine has failed.
    Failed(Error),
}

impl Error {
    #[must_use]
    pub fn damaged(what: &str) -> Self {
        Self::Damaged(what.into())
    }

    pub(crate) fn panicked(shard: u16, panic: &(dyn Any + Send)) -> Self {
        Self::Panicked { shard, message: panic_text(panic).into() }
    }
}

/// What a panic said.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

impl From<everstep_store::Error> for Error {
    fn from(error: everstep_store::Error) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "the store: {error}"),
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::Panicked { shard, message } => {
                write!(f, "shard {shard} panicked, restart the engine: {message}")
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too many requests are waiting: retry later"),
            Self::Stopped => f.write_str("the engine is stopped"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Makes errors of this crate and of the store part of an engine's own, which has the variants of [`Refused`].
#[macro_export]
macro_rules! engine_error {
    ($name:ident) => {
        impl From<$crate::Refused> for $name {
            fn from(refused: $crate::Refused) -> Self {
                match refused {
                    $crate::Refused::Busy => Self::Busy,
                    $crate::Refused::Stopped => Self::Stopped,
                    $crate::Refused::Failed(error) => Self::Failed(error),
                }
            }
        }

        impl From<$crate::Error> for $name {
            fn from(error: $crate::Error) -> Self {
                Self::Failed(error)
            }
        }

        impl From<$crate::StoreError> for $name {
            fn from(error: $crate::StoreError) -> Self {
                Self::Failed(error.into())
            }
        }
    };
}
