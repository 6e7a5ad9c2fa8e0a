//! Activities as the server has them: who gets which task is `everstep_drivers::activities`; here tasks come in and
//! workers are answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use everstep_drivers::activities::{Input, ON_ITS_WAY_MS, Poll, Queues, Request, Started};
use everstep_executions::{Cancelled, Clock, Error as Engine, ExecutionId, Result, Task};
use everstep_interpreter::Attempt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::catalog::{Activity, Catalog, Change};
use crate::service::Service;

/// Where the mark is stored: the moment up to which all tasks that were started are with their workers.
const MARK: &str = "activities-mark";
/// How often it is written, while tasks are given to workers.
const MARK_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Activities {
    catalog: Catalog,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: Queues,
    /// Workers that wait for an answer.
    workers: HashMap<Poll, mpsc::UnboundedSender<Event>>,
    next_poll: Poll,
    /// When a task was last given to a worker.
    given_ms: Option<i64>,
    /// The mark as the store has it.
    mark_ms: Option<i64>,
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
    /// Reads which tasks the engine before has left with workers. Without a mark, from before there was one, all that
    /// were started are: they are left to their timeouts, as they were then.
    pub(crate) fn new(catalog: Catalog, clock: Arc<dyn Clock>) -> Self {
        let mark_ms = catalog.find::<i64>(MARK).ok().flatten().map(|mark| mark.value);
        let queues = Queues::new(mark_ms.unwrap_or_else(|| clock.now_ms()));
        let state = State { queues, mark_ms, ..State::default() };
        Self { catalog, clock, state: Mutex::new(state) }
    }

    async fn write_mark(&self) {
        if let Some((mark_ms, change)) = self.next_mark(ON_ITS_WAY_MS)
            && matches!(self.catalog.commit(change).await, Ok(true))
        {
            self.state().mark_ms = Some(mark_ms);
        }
    }

    /// Writes the mark for the last time: every answer has been sent. Waits for the store.
    pub(crate) fn close(&self) {
        if let Some((_, change)) = self.next_mark(0) {
            self.catalog.commit_and_wait(change);
        }
    }

    /// The next mark, if there is something to be marked.
    fn next_mark(&self, on_its_way_ms: i64) -> Option<(i64, Change)> {
        let (now_ms, mut state) = (self.clock.now_ms(), self.state());
        state.queues.tick(now_ms);
        let State { mark_ms, given_ms, .. } = *state;
        let wanted =
            mark_ms.is_none_or(|mark_ms| given_ms.is_some_and(|given_ms| given_ms > mark_ms));
        // The clock may have been set back.
        let late = mark_ms.is_some_and(|mark_ms| mark_ms > now_ms);
        if !wanted && !late {
            return None;
        }
        let next_ms = state.queues.mark_ms(now_ms, on_its_way_ms);
        let mut change = Change::new();
        change.put(MARK, &next_ms);
        (mark_ms != Some(next_ms)).then_some((next_ms, change))
    }

    pub(crate) fn lacks(&self, arn: &str) -> bool {
        matches!(self.catalog.find::<Activity>(&Activity::key(arn)), Ok(None))
    }

    /// Gives a task to the worker that has waited longest, or lets it wait.
    pub(crate) fn offer(&self, arn: &str, task: Task) {
        let now_ms = self.clock.now_ms();
        self.state().handle(Input::Offered { activity: arn.into(), task }, now_ms);
    }

    /// Nobody wants the result any more; whether the task waited here.
    pub(crate) fn cancel(&self, cancelled: &Cancelled) -> bool {
        let Cancelled { execution, attempt, .. } = *cancelled;
        self.state().handle(Input::Cancelled { execution, attempt }, self.clock.now_ms())
    }

    /// A worker that waits for a task of an activity.
    pub(crate) fn worker(&self, arn: &str) -> Worker<'_> {
        Worker::new(self, arn)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the mark now and then.
pub(crate) async fn keep_mark(service: Arc<Service>) {
    loop {
        service.activities.write_mark().await;
        // What the shards have dispatched has arrived in the queues a second later.
        let recovered = service.engine.is_recovered();
        tokio::time::sleep(MARK_EVERY).await;
        if recovered {
            service.activities.state().queues.recover();
        }
    }
}

impl State {
    /// Whether the input withdrew a task.
    fn handle(&mut self, input: Input, now_ms: i64) -> bool {
        let mut withdrawn = false;
        for request in self.queues.handle(input, now_ms) {
            match request {
                Request::Start { poll, execution, attempt } => {
                    self.send(poll, Event::Start(execution, attempt));
                }
                Request::Give { poll, task } => {
                    self.given_ms = Some(now_ms);
                    self.send(poll, Event::Give(task));
                }
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
        state.handle(Input::Polled { activity: arn.into(), poll }, activities.clock.now_ms());
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
        let (input, now_ms) =
            (Input::Started { poll: self.poll, outcome }, self.activities.clock.now_ms());
        self.activities.state().handle(input, now_ms);
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut state = self.activities.state();
        state.workers.remove(&self.poll);
        state.handle(Input::Left { poll: self.poll }, self.activities.clock.now_ms());
    }
}
