//! What waits to be written, and who waits because too much does.
//!
//! Knows nothing of rows, files or databases: batches go in at one end and leave in groups at the other.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use crate::{Batch, Done, Error, Result};

/// Waiting batches above which `push` waits.
const BATCHES_MAX: usize = 4096;
/// Waiting bytes above which `push` waits.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Batches of one group.
const GROUP_BATCHES_MAX: usize = 1024;
/// Bytes of one group; a single larger batch is a group by itself.
const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A batch on its way.
pub struct Pending {
    pub batch: Batch,
    pub done: Done,
    bytes: usize,
}

/// Batches that wait to be written, between those who hand them over and the thread that writes.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    /// Signals that there is something to take, or that nothing will come any more.
    filled: Condvar,
    /// Signals that there is room, or that there will never be any.
    drained: Condvar,
    /// The thread that takes: it must never wait for room that only it can make.
    taker: OnceLock<ThreadId>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Pending>,
    bytes: usize,
    closed: bool,
    failed: Option<Error>,
}

impl Queue {
    /// Writes everything that comes, group by group, on the calling thread, until the queue is closed and empty.
    /// `write` makes a group durable and says what became of each of its batches; its error is the error of
    /// all, and of every later batch.
    pub fn serve(&self, mut write: impl FnMut(&mut [Pending]) -> Result<Vec<Result<()>>>) {
        self.adopt();
        let mut group = Vec::new();
        while self.take(&mut group) {
            let answers = match self.failure() {
                Some(error) => Err(error),
                None => write(&mut group),
            };
            if let Err(error) = &answers {
                self.fail(error.clone());
            }
            for (index, pending) in group.drain(..).enumerate() {
                let answer = answers
                    .as_ref()
                    .map_or_else(|error| Err(error.clone()), |all| all[index].clone());
                (pending.done)(answer);
            }
        }
    }

    /// Adds a batch, and waits while too many are before it.
    pub fn push(&self, batch: Batch, done: Done) {
        let bytes = batch.size();
        let mut state = self.state();
        while state.is_full(bytes) && !self.is_taker() {
            state = self.drained.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = state.failed.clone() {
            drop(state);
            return done(Err(error));
        }
        state.bytes += bytes;
        state.waiting.push_back(Pending { batch, done, bytes });
        drop(state);
        self.filled.notify_one();
    }

    /// Waits for something, and moves as much of it as one group may hold to `group`. False when the
    /// queue is closed and empty.
    fn take(&self, group: &mut Vec<Pending>) -> bool {
        let mut state = self.state();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.move_group(group);
        drop(state);
        self.drained.notify_all();
        true
    }

    /// The calling thread is the one that takes.
    fn adopt(&self) {
        self.taker.get_or_init(|| thread::current().id());
    }

    /// Whether this is the thread that writes: it must not wait for itself.
    #[must_use]
    pub fn is_taker(&self) -> bool {
        self.taker.get() == Some(&thread::current().id())
    }

    /// Nothing more will come; what waits is still taken.
    pub fn close(&self) {
        self.state().closed = true;
        self.filled.notify_one();
    }

    /// Fails everything that waits and all that will come. The first reason stays.
    pub fn fail(&self, error: Error) {
        let mut state = self.state();
        let error = state.failed.get_or_insert(error).clone();
        state.bytes = 0;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.drained.notify_all();
        for pending in waiting {
            (pending.done)(Err(error.clone()));
        }
    }

    fn failure(&self) -> Option<Error> {
        self.state().failed.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A batch that is larger than all that may wait still fits into an empty queue.
    fn is_full(&self, bytes: usize) -> bool {
        let full = self.waiting.len() >= BATCHES_MAX || self.bytes + bytes > BYTES_MAX;
        full && !self.waiting.is_empty() && self.failed.is_none()
    }

    fn move_group(&mut self, group: &mut Vec<Pending>) {
        let mut bytes = 0;
        while let Some(next) = self.waiting.front() {
            let fits = bytes + next.bytes <= GROUP_BYTES_MAX && group.len() < GROUP_BATCHES_MAX;
            if !group.is_empty() && !fits {
                break;
            }
            bytes += next.bytes;
            group.extend(self.waiting.pop_front());
        }
        self.bytes -= bytes;
    }
}
