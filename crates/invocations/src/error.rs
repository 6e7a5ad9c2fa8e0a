//! Why something that was asked of invocations cannot be done.

use std::fmt;
use std::sync::Arc;

use everstep_shards::Refused;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// All slots of the function are taken, and a synchronous call does not wait.
    Throttled,
    /// The function may not run at all.
    Forbidden,
    /// There is no such function.
    NoSuchFunction(String),
    /// There is no such invocation, session or dead letter.
    NotFound,
    /// The attempt has had its result, or was given up.
    StaleResult,
    /// The invocation is over, or is not a dead letter: not what the request needs.
    WrongState,
    /// The event is not JSON.
    NotJson(String),
    /// A call with a key has a client context, which cannot be kept with it.
    ContextWithKey,
    TooLarge {
        bytes: usize,
        most: usize,
    },
    /// The invocation is not continued: it has done harm before.
    Quarantined(Arc<str>),
    /// Too many requests are waiting already: retry later.
    Busy,
    /// The engine has been stopped.
    Stopped,
    /// The engine or its store is broken.
    Failed(everstep_shards::Error),
}

impl Error {
    pub(crate) fn damaged(what: &str) -> Self {
        Self::Failed(everstep_shards::Error::damaged(what))
    }
}

everstep_shards::engine_error!(Error);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throttled => f.write_str(
                "all slots of the function are taken: try again later or raise its concurrency",
            ),
            Self::Forbidden => f.write_str("the function may not run: its concurrency is 0"),
            Self::NoSuchFunction(name) => write!(f, "there is no function '{name}'"),
            Self::ContextWithKey => f.write_str(
                "a call with an idempotency key cannot have a client context, which is not kept with it: put what the \
                 function must know into the payload",
            ),
            Self::NotFound => f.write_str("there is no such invocation"),
            Self::StaleResult => {
                f.write_str("the attempt already has its result, or was given up")
            }
            Self::WrongState => f.write_str("the invocation is not in a state for that"),
            Self::NotJson(why) => write!(f, "the event is not JSON: {why}"),
            Self::TooLarge { bytes, most } => {
                write!(f, "the event has {bytes} bytes, and may have {most}")
            }
            Self::Quarantined(why) => {
                write!(f, "the invocation is quarantined, cancel it or release it: {why}")
            }
            Self::Busy => Refused::Busy.fmt(f),
            Self::Stopped => Refused::Stopped.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
