//! Who runs tasks, and the witness of it: every dispatch and every answer, seen from outside the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use everstep_asl::model::{Pattern, Resource};
use everstep_executions::{Cancelled, ExecutionId, Job, Notification, Task, TaskRunner};
use everstep_history::Attempt;

use crate::Fault;
use crate::disk::Disk;

/// Takes what the engine asks for; the world looks at it when its turn comes.
pub(crate) struct Runner {
    fault: Option<Fault>,
    disk: Arc<Disk>,
    unseen: Mutex<Vec<Asked>>,
}

pub(crate) enum Asked {
    /// With the number of the last batch that was durable when it left.
    Dispatch(Box<Task>, u64),
    Cancel(Cancelled),
    /// Likewise.
    Notify(Box<Notification>, u64),
}

impl Runner {
    pub(crate) fn new(fault: Option<Fault>, disk: Arc<Disk>) -> Self {
        Self { fault, disk, unseen: Mutex::default() }
    }

    pub(crate) fn take_unseen(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.unseen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, asked: Asked) {
        self.unseen.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }
}

impl TaskRunner for Runner {
    fn dispatch(&self, mut task: Task) {
        let durable_to = self.disk.durable_to();
        match self.fault {
            Some(Fault::DispatchesTwice) => {
                self.push(Asked::Dispatch(Box::new(task.clone()), durable_to));
            }
            Some(Fault::RenamesTasks) if task.again => task.attempt.number += 1000,
            _ => {}
        }
        self.push(Asked::Dispatch(Box::new(task), durable_to));
    }

    fn cancel(&self, cancelled: Cancelled) {
        self.push(Asked::Cancel(cancelled));
    }

    fn notify(&self, notification: Notification) {
        if self.fault != Some(Fault::NotifiesNobody) {
            self.push(Asked::Notify(Box::new(notification), self.disk.durable_to()));
        }
    }
}

/// How the result of a task comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The engine calls and waits for the answer.
    Call,
    /// It is handed on, and the result comes with the token.
    Callback,
    /// A worker asks for it.
    Activity,
    /// This service does it itself.
    Driven,
}

pub(crate) fn way(job: &Job) -> Way {
    match job {
        Job::Call { resource, .. } => match (&**resource, resource.pattern()) {
            (Resource::Activity { .. }, _) => Way::Activity,
            (Resource::Service { service, .. }, _) if service == "states" => Way::Driven,
            (_, Pattern::WaitForTaskToken) => Way::Callback,
            _ => Way::Call,
        },
        Job::MapRun { .. } => Way::Driven,
    }
}

#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) tried: BTreeMap<(ExecutionId, Attempt), Tried>,
    pub(crate) dispatches: u64,
}

/// An attempt as those outside know it.
pub(crate) struct Tried {
    pub(crate) token: String,
    pub(crate) request_id: String,
    pub(crate) job: Job,
    pub(crate) dispatched: Vec<Dispatched>,
    pub(crate) answers: Vec<Given>,
    /// What workers are still going to say.
    pub(crate) flying: usize,
    /// It is not going to be answered, for now.
    pub(crate) held: bool,
    pub(crate) cancelled: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatched {
    pub(crate) generation: u32,
    #[expect(dead_code, reason = "shown in messages")]
    pub(crate) again: bool,
    #[expect(dead_code, reason = "shown in messages")]
    pub(crate) now_ms: i64,
}

/// A result that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) number: u64,
    pub(crate) failed: bool,
    pub(crate) fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not known, or not yet.
    Open,
    Counted,
    Refused,
}

impl Witness {
    pub(crate) fn see(&mut self, task: &Task, generation: u32, now_ms: i64) -> &mut Tried {
        self.dispatches += 1;
        let known = self.tried.entry((task.execution, task.attempt)).or_insert_with(|| Tried {
            token: task.attempt_name(),
            request_id: task.request_id(),
            job: task.job.clone(),
            dispatched: Vec::new(),
            answers: Vec::new(),
            flying: 0,
            held: false,
            cancelled: false,
        });
        if !task.again {
            // Perhaps a new execution of an old name.
            (known.held, known.cancelled) = (false, false);
        }
        known.dispatched.push(Dispatched { generation, again: task.again, now_ms });
        known
    }

    pub(crate) fn of(&mut self, id: ExecutionId, attempt: Attempt) -> Option<&mut Tried> {
        self.tried.get_mut(&(id, attempt))
    }
}
