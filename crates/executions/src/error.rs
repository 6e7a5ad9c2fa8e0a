//! Why the runtime cannot do what it is asked.

use std::fmt;
use std::sync::Arc;

use everstep_interpreter::Refusal;

use crate::summary::Summary;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// Too much is waiting already: try again later.
    Busy,
    /// There is an execution of that name, and it is not the one that was meant.
    AlreadyExists(Box<Summary>),
    /// There is no such execution.
    NotFound,
    /// The execution is over, or not, and that is not what the request needs.
    WrongStatus(Box<Summary>),
    /// The attempt has had its result, or its time is over.
    Settled,
    /// There never was such an attempt.
    NoSuchTask,
    /// The definition has errors.
    InvalidDefinition,
    /// The store cannot write or read.
    Store(everstep_store::Error),
    /// What was stored cannot be understood.
    Damaged(Arc<str>),
    /// The engine has been stopped.
    Stopped,
}

impl Error {
    pub(crate) fn damaged(what: &str) -> Self {
        Self::Damaged(what.into())
    }
}

impl From<Refusal> for Error {
    /// For a report or heartbeat of an attempt.
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::StaleAttempt | Refusal::Ended => Self::Settled,
            Refusal::UnknownAttempt
            | Refusal::WrongAttempt
            | Refusal::NotStarted
            | Refusal::AlreadyStarted
            | Refusal::NotRedrivable
            | Refusal::Repeated
            | Refusal::NotDue => Self::NoSuchTask,
        }
    }
}

impl From<everstep_store::Error> for Error {
    fn from(error: everstep_store::Error) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too many requests are waiting, try again later"),
            Self::AlreadyExists(known) => {
                write!(f, "execution already exists: '{}'", known.arn)
            }
            Self::NotFound => f.write_str("there is no such execution"),
            Self::WrongStatus(known) => write!(f, "'{}' is {:?}", known.arn, known.standing),
            Self::Settled => f.write_str("the task has had its result, or its time is over"),
            Self::NoSuchTask => f.write_str("there is no such task"),
            Self::InvalidDefinition => f.write_str("the definition has errors"),
            Self::Store(error) => write!(f, "the store: {error}"),
            Self::Damaged(what) => write!(f, "the store is damaged: {what}"),
            Self::Stopped => f.write_str("the engine is stopped"),
        }
    }
}

impl std::error::Error for Error {}
