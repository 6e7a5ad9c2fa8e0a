//! Map Runs: the child executions of a distributed Map.
//!
//! A child is named after its Map Run and its place among the inputs, so whoever asks for it again, after
//! a crash or a redrive, finds it. What became of a STANDARD child is in the child itself; of an EXPRESS
//! child nothing is stored, so its outcome becomes a note beside the parent before it counts. The
//! parent's own history has the start and the end of the run and nothing of its children.
//!
//! - `record`: what is stored of a run beside its parent;
//! - `tally`: how its children and items stand;
//! - `child`: what one child is, and how it is found again;
//! - `driver`: runs the children;
//! - `cancel`: ends a run that nobody waits for.

mod cancel;
mod child;
mod driver;
mod record;
mod tally;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_executions::{Cancelled, ExecutionId, Summary, Task};
use everstep_interpreter::Attempt;
use tokio::sync::mpsc;

pub(crate) use cancel::cancel;
pub(crate) use child::{ITEMS, MAP_RUN};
pub(crate) use driver::run;
pub(crate) use record::{Found, Settings, Status, find, of_execution, update};
use tally::Tallies;

/// The runs that have a driver now.
#[derive(Default)]
pub(crate) struct MapRuns {
    live: Mutex<HashMap<Key, Live>>,
}

type Key = (ExecutionId, Attempt);

#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) tallies: Arc<Mutex<Tallies>>,
    words: mpsc::UnboundedSender<Word>,
}

/// What reaches a driver from outside.
enum Word {
    /// About a child.
    Child(u32, child::News),
    /// Notes have been written.
    Kept(everstep_executions::Result<()>),
    /// `UpdateMapRun`.
    Changed(Settings),
    Cancelled(Cancelled),
}

/// The driver's end of it.
pub(crate) struct Helm {
    live: Live,
    heard: mpsc::UnboundedReceiver<Word>,
}

impl MapRuns {
    /// Must be called before the task can be cancelled: a run that was not known then would go on.
    pub(crate) fn open(&self, task: &Task) -> Helm {
        let (words, heard) = mpsc::unbounded_channel();
        let live = Live { tallies: Arc::default(), words };
        self.live().insert((task.execution, task.attempt), live.clone());
        Helm { live, heard }
    }

    fn close(&self, task: &Task) {
        self.live().remove(&(task.execution, task.attempt));
    }

    pub(crate) fn find(&self, execution: ExecutionId, attempt: Attempt) -> Option<Live> {
        self.live().get(&(execution, attempt)).cloned()
    }

    /// Tells the driver of the run; gives the cancellation back if there is none.
    pub(crate) fn cancel(&self, cancelled: Cancelled) -> Option<Cancelled> {
        match self.find(cancelled.execution, cancelled.attempt) {
            Some(live) => live.cancel(cancelled),
            None => Some(cancelled),
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<Key, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    pub(crate) fn tallies(&self) -> Tallies {
        *self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, settings: Settings) {
        let _ = self.words.send(Word::Changed(settings));
    }

    /// Gives the cancellation back if there is no driver any more.
    fn cancel(&self, cancelled: Cancelled) -> Option<Cancelled> {
        match self.words.send(Word::Cancelled(cancelled)) {
            Err(mpsc::error::SendError(Word::Cancelled(cancelled))) => Some(cancelled),
            _ => None,
        }
    }
}

/// The Map Run that has started an execution, if one has.
pub(crate) fn parent_run(summary: &Summary) -> Option<&str> {
    crate::operations::start_execution::label(summary, MAP_RUN)
}
