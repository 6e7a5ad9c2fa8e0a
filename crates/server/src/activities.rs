//! Activities as the server has them: who gets which task is `everstep_drivers::activities`; here tasks come in and
//! workers are answered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use everstep_drivers::activities::{Input, Poll, Queues, Request, Started};
use everstep_executions::{Cancelled, Error as Engine, ExecutionId, Result, Task};
use everstep_interpreter::Attempt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::catalog::{Activity, Catalog};

pub(crate) struct Activities {
    catalog: Catalog,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: Queues,
    /// Workers that wait for an answer.
    workers: HashMap<Poll, mpsc::UnboundedSender<Event>>,
    next_poll: Poll,
}

/// What a waiting worker is asked for, and what it gets.
pub(crate) enum Event {
    /// Records that it has the task, and then calls [`Worker::started`].
    Start(ExecutionId, Attempt),
    Give(Task),
    /// Too many workers wait already.
    Refuse,
    /// It gets no task because its start could not be recorded.
    Fail,
}

impl Activities {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self { catalog, state: Mutex::default() }
    }

    pub(crate) fn lacks(&self, arn: &str) -> bool {
        matches!(self.catalog.find::<Activity>(&Activity::key(arn)), Ok(None))
    }

    /// Gives a task to the worker that has waited longest, or lets it wait.
    pub(crate) fn offer(&self, arn: &str, task: Task) {
        self.state().handle(Input::Offered { activity: arn.into(), task });
    }

    /// Nobody wants the result any more; whether the task waited here.
    pub(crate) fn cancel(&self, cancelled: &Cancelled) -> bool {
        let Cancelled { execution, attempt, .. } = *cancelled;
        self.state().handle(Input::Cancelled { execution, attempt })
    }

    /// A worker that waits for a task of an activity.
    pub(crate) fn worker(&self, arn: &str) -> Worker<'_> {
        Worker::new(self, arn)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the input withdrew a task.
    fn handle(&mut self, input: Input) -> bool {
        let mut withdrawn = false;
        for request in self.queues.handle(input) {
            match request {
                Request::Start { poll, execution, attempt } => {
                    self.send(poll, Event::Start(execution, attempt));
                }
                Request::Give { poll, task } => self.send(poll, Event::Give(task)),
                Request::Refuse { poll } => self.send(poll, Event::Refuse),
                Request::Fail { poll } => self.send(poll, Event::Fail),
                Request::Withdraw { .. } => withdrawn = true,
            }
        }
        withdrawn
    }

    /// A worker that is gone has left, or is about to: then its task goes to another.
    fn send(&self, poll: Poll, event: Event) {
        if let Some(worker) = self.workers.get(&poll) {
            let _ = worker.send(event);
        }
    }
}

/// A worker that waits, until it is dropped: then a task that it was to get goes to another.
pub(crate) struct Worker<'a> {
    activities: &'a Activities,
    poll: Poll,
    events: mpsc::UnboundedReceiver<Event>,
}

impl<'a> Worker<'a> {
    fn new(activities: &'a Activities, arn: &str) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let mut state = activities.state();
        state.next_poll += 1;
        let poll = state.next_poll;
        state.workers.insert(poll, sender);
        state.handle(Input::Polled { activity: arn.into(), poll });
        drop(state);
        Self { activities, poll, events }
    }

    /// Nothing if nothing comes in time.
    pub(crate) async fn next(&mut self, until: Instant) -> Option<Event> {
        tokio::time::timeout_at(until, self.events.recv()).await.ok().flatten()
    }

    /// Whether it is durable that it has the task.
    pub(crate) fn started(&self, outcome: &Result<()>) {
        let outcome = match outcome {
            Ok(()) => Started::Durable,
            Err(Engine::Settled | Engine::NoSuchTask | Engine::NotFound) => Started::Settled,
            Err(_) => Started::Refused,
        };
        self.activities.state().handle(Input::Started { poll: self.poll, outcome });
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut state = self.activities.state();
        state.workers.remove(&self.poll);
        state.handle(Input::Left { poll: self.poll });
    }
}
