//! Why something that was asked of queues cannot be done.

use std::fmt;

use everstep_shards::Refused;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    NoSuchQueue(String),
    /// There is a queue of that name with another value of this attribute.
    Exists(&'static str),
    /// The name is not one that a queue can have.
    InvalidName(String),
    /// There are as many queues as there may be.
    TooManyQueues,
    /// The message is larger than the queue allows.
    TooLarge {
        most: u64,
    },
    /// A message of a FIFO queue has no group.
    NoGroup,
    /// A message of a FIFO queue has no deduplication id, and the content does not count.
    NoDeduplicationId,
    /// Only FIFO queues have deduplication ids.
    NotFifo,
    /// Messages of a FIFO queue have no delay of their own.
    DelayInFifo,
    /// The receipt is that of another queue.
    WrongQueue,
    /// The message was received again, or is visible again.
    ReceiptExpired,
    /// The message was deleted, or received again.
    NotInFlight,
    /// Hidden for longer than a message can be since it was received.
    HiddenTooLong,
    /// Too many messages are in flight.
    OverLimit,
    /// A task moves the messages of this queue already.
    TaskRuns,
    NoSuchTask,
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
        let text = match self {
            Self::NoSuchQueue(name) => return write!(f, "the queue '{name}' does not exist"),
            Self::Exists(attribute) => {
                return write!(f, "the queue exists with another value of {attribute}");
            }
            Self::InvalidName(name) => {
                return write!(
                    f,
                    "invalid queue name '{name}': use 1 to 80 letters, digits, hyphens and underscores; the name of a \
                     FIFO queue ends in .fifo"
                );
            }
            Self::TooLarge { most } => {
                return write!(
                    f,
                    "the message is larger than the {most} bytes that the queue allows"
                );
            }
            Self::TooManyQueues => "there are too many queues",
            Self::NoGroup => "a message for a FIFO queue needs a message group",
            Self::NoDeduplicationId => {
                "a message for a FIFO queue needs a deduplication id, unless the queue deduplicates by content"
            }
            Self::NotFifo => "only messages of FIFO queues have deduplication ids",
            Self::DelayInFifo => "messages of FIFO queues have no delay of their own",
            Self::WrongQueue => "the receipt handle is of another queue",
            Self::ReceiptExpired => "the receipt handle has expired",
            Self::NotInFlight => "the message was deleted, or received again",
            Self::HiddenTooLong => "a message can be hidden for 12 hours after it was received",
            Self::OverLimit => "too many messages are in flight: delete some",
            Self::TaskRuns => "messages of this queue are being moved already",
            Self::NoSuchTask => "there is no such task",
            Self::Busy => return Refused::Busy.fmt(f),
            Self::Stopped => return Refused::Stopped.fmt(f),
            Self::Failed(error) => return error.fmt(f),
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
