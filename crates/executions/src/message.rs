//! All that can wake a shard.

use std::fmt;
use std::sync::Arc;

use everstep_interpreter::{Attempt, Failure, Payload, Status};

use crate::error::{Error, Result};
use crate::id::{ExecutionId, ListId};
use crate::notification::{Notification, NotificationId};
use crate::revision::Prepared;
use crate::task::Report;
use crate::work::{Decided, Loaded};

/// Called exactly once, when what it answers is durable or refused.
pub type Reply<T> = Box<dyn FnOnce(Result<T>) + Send>;

pub enum Message {
    /// `watcher` is answered when the execution is over.
    Start {
        start: Box<Start>,
        reply: Reply<Started>,
        watcher: Option<Reply<Ended>>,
    },
    /// What is said of an attempt; answered when it counts.
    Report {
        id: ExecutionId,
        attempt: Attempt,
        report: Report,
        reply: Option<Reply<()>>,
    },
    Heartbeat {
        id: ExecutionId,
        attempt: Attempt,
        reply: Reply<()>,
    },
    /// Answered with the moment of the end.
    Stop {
        id: ExecutionId,
        failure: Failure,
        reply: Reply<i64>,
    },
    /// Answered with the moment of the redrive.
    Redrive {
        id: ExecutionId,
        reply: Reply<i64>,
    },
    /// Answered when the execution is over.
    Watch {
        id: ExecutionId,
        reply: Reply<Ended>,
    },
    /// Removes an execution that is over, with all that is stored of it.
    Delete {
        id: ExecutionId,
        reply: Reply<()>,
    },
    /// Writes notes beside an execution that is stored. See [`Note`].
    Note {
        id: ExecutionId,
        notes: Vec<Note>,
        reply: Reply<()>,
    },
    /// What a step asked for outside has been done.
    Delivered {
        id: ExecutionId,
        sequence: u32,
    },
    /// The failure of an execution is durable: its destination is to be notified.
    Notify(Box<Notification>),
    Notified(NotificationId),
    /// The destination could not be notified.
    NotNotified(NotificationId),
    /// A notification is not stored any more.
    NotificationRemoved(NotificationId),
    /// A turn ended before all was decided, and what was is durable.
    Continue {
        id: ExecutionId,
    },
    /// What was decided outside the shard.
    Decided(Decided),
    /// An execution that was read outside the shard.
    Loaded(Loaded),
    /// Ends the quarantine of an execution; whether there was one.
    Release {
        id: ExecutionId,
        reply: Reply<bool>,
    },
}

/// Data that a client of the engine keeps beside an execution, removed with it. The execution itself does
/// not read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub key: Vec<u8>,
    /// Removed if there is nothing.
    pub text: Option<Vec<u8>>,
}

/// An execution to be started.
#[derive(Debug, Clone)]
pub struct Start {
    pub id: ExecutionId,
    pub arn: Arc<str>,
    pub prepared: Arc<Prepared>,
    pub input: Payload,
    pub lists: Vec<ListId>,
    pub labels: Vec<(String, String)>,
}

impl Start {
    /// An execution in the list of its machine.
    #[must_use]
    pub fn new(arn: &str, prepared: Arc<Prepared>, input: Payload) -> Self {
        let lists = vec![ListId::of(&prepared.revision.machine_arn)];
        let (id, arn) = (ExecutionId::of(arn), arn.into());
        Self { id, arn, prepared, input, lists, labels: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    pub started_ms: i64,
    /// It was running already, with the same input.
    pub known: bool,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub status: Status,
    pub started_ms: i64,
    pub stopped_ms: i64,
}

impl Message {
    /// Answers without having done anything.
    pub fn refuse(self, error: Error) {
        match self {
            Self::Start { reply, watcher, .. } => {
                if let Some(watcher) = watcher {
                    watcher(Err(error.clone()));
                }
                reply(Err(error));
            }
            Self::Report { reply, .. } => {
                if let Some(reply) = reply {
                    reply(Err(error));
                }
            }
            Self::Heartbeat { reply, .. }
            | Self::Delete { reply, .. }
            | Self::Note { reply, .. } => reply(Err(error)),
            Self::Stop { reply, .. } | Self::Redrive { reply, .. } => reply(Err(error)),
            Self::Release { reply, .. } => reply(Err(error)),
            Self::Decided(decided) => decided.refuse(&error),
            Self::Loaded(loaded) => loaded.refuse(&error),
            Self::Watch { reply, .. } => reply(Err(error)),
            Self::Delivered { .. }
            | Self::Notify(_)
            | Self::Notified(_)
            | Self::NotNotified(_)
            | Self::NotificationRemoved(_)
            | Self::Continue { .. } => {}
        }
    }

    /// Whether it is for the execution itself, which must be in memory then.
    pub(crate) fn needs_execution(&self) -> bool {
        matches!(
            self,
            Self::Start { .. }
                | Self::Report { .. }
                | Self::Heartbeat { .. }
                | Self::Stop { .. }
                | Self::Redrive { .. }
                | Self::Watch { .. }
                | Self::Delete { .. }
                | Self::Continue { .. }
        )
    }

    /// Whether it can reach an execution in quarantine. One that is not stored yet is, and waits.
    pub(crate) fn evaluates_nothing(&self) -> bool {
        matches!(
            self,
            Self::Start { .. } | Self::Stop { .. } | Self::Watch { .. } | Self::Delete { .. }
        )
    }

    /// Whether somebody who can ask again waits for the answer.
    pub(crate) fn can_be_refused(&self) -> bool {
        !matches!(
            self,
            Self::Report { reply: None, .. } | Self::Stop { .. } | Self::Continue { .. }
        )
    }

    /// The execution it is for.
    #[must_use]
    pub fn id(&self) -> ExecutionId {
        match self {
            Self::Start { start, .. } => start.id,
            Self::Report { id, .. }
            | Self::Heartbeat { id, .. }
            | Self::Stop { id, .. }
            | Self::Redrive { id, .. }
            | Self::Watch { id, .. }
            | Self::Delete { id, .. }
            | Self::Note { id, .. }
            | Self::Continue { id }
            | Self::Release { id, .. }
            | Self::Delivered { id, .. } => *id,
            Self::Decided(decided) => decided.id,
            Self::Loaded(loaded) => loaded.id,
            Self::Notify(notification) => notification.execution,
            Self::Notified(id) | Self::NotNotified(id) | Self::NotificationRemoved(id) => {
                id.execution
            }
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { start, .. } => write!(f, "Start({})", start.arn),
            Self::Report { id, attempt, report, .. } => {
                write!(f, "Report({id:?}, {attempt:?}, {report:?})")
            }
            Self::Heartbeat { id, attempt, .. } => write!(f, "Heartbeat({id:?}, {attempt:?})"),
            Self::Stop { id, .. } => write!(f, "Stop({id:?})"),
            Self::Redrive { id, .. } => write!(f, "Redrive({id:?})"),
            Self::Watch { id, .. } => write!(f, "Watch({id:?})"),
            Self::Delete { id, .. } => write!(f, "Delete({id:?})"),
            Self::Note { id, notes, .. } => write!(f, "Note({id:?}, {})", notes.len()),
            Self::Delivered { id, sequence } => write!(f, "Delivered({id:?}, {sequence})"),
            Self::Notify(notification) => write!(f, "Notify({notification:?})"),
            Self::Notified(id) => write!(f, "Notified({id:?})"),
            Self::NotNotified(id) => write!(f, "NotNotified({id:?})"),
            Self::NotificationRemoved(id) => write!(f, "NotificationRemoved({id:?})"),
            Self::Continue { id } => write!(f, "Continue({id:?})"),
            Self::Release { id, .. } => write!(f, "Release({id:?})"),
            Self::Decided(decided) => write!(f, "Decided({:?})", decided.id),
            Self::Loaded(loaded) => write!(f, "Loaded({:?})", loaded.id),
        }
    }
}
