//! Why the runtime cannot do what it is asked.

use std::fmt;
use std::sync::Arc;

use everstep_shards::Refused;

use everstep_interpreter::Refusal;

use crate::summary::Summary;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq)]
pub enum Error {
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
    /// The execution is not continued: it has done harm before.
    Quarantined(Arc<str>),
    /// The execution ended without a result: the engine has a defect.
    Panicked(Arc<str>),
    /// Too many requests are waiting already: retry later.
    Busy,
    /// The engine has been stopped.
    Stopped,
    /// The engine or its store is broken.
    Failed(everstep_shards::Error),
}

impl Error {
    #[must_use]
    pub fn damaged(what: &str) -> Self {
        Self::Failed(everstep_shards::Error::damaged(what))
    }
}

everstep_shards::engine_error!(Error);

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
            | Refusal::NotDue
            | Refusal::NotReady => Self::NoSuchTask,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyExists(known) => {
                write!(f, "execution already exists: '{}'", known.arn)
            }
            Self::NotFound => f.write_str("there is no such execution"),
            Self::WrongStatus(known) => write!(f, "'{}' is {:?}", known.arn, known.standing),
            Self::Settled => f.write_str("the task has had its result, or its time is over"),
            Self::NoSuchTask => f.write_str("there is no such task"),
            Self::InvalidDefinition => f.write_str("the definition has errors"),
            Self::Quarantined(why) => {
                write!(f, "the execution is quarantined, stop it or release it: {why}")
            }
            Self::Panicked(why) => write!(f, "the execution has ended: {why}"),
            Self::Busy => Refused::Busy.fmt(f),
            Self::Stopped => Refused::Stopped.fmt(f),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
