//! Activities: tasks that wait for workers, and workers that wait for tasks.
//!
//! What waits here is in the journal as well: after a crash it is dispatched again, unless a worker had
//! taken it. Both wait in the order in which they came.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_executions::{Cancelled, ExecutionId, Task};
use everstep_interpreter::Attempt;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::catalog::{Activity, Catalog};

/// Workers that may wait for the tasks of one activity, as the service has it.
const WORKERS_MAX: usize = 1000;

pub(crate) struct Activities {
    catalog: Catalog,
    waiting: Mutex<Waiting>,
}

/// All that waits. A queue in which nothing waits is not kept.
#[derive(Default)]
struct Waiting {
    queues: HashMap<Arc<str>, Queue>,
    /// Where each task waits.
    places: HashMap<(ExecutionId, Attempt), (Arc<str>, i64)>,
    /// The place of who comes next.
    next: i64,
}

/// By place: who came first has the lowest.
#[derive(Default)]
struct Queue {
    tasks: BTreeMap<i64, Task>,
    workers: BTreeMap<i64, oneshot::Sender<Task>>,
}

/// As many workers wait already as may.
#[derive(Debug)]
pub(crate) struct TooManyWorkers;

impl Activities {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self { catalog, waiting: Mutex::default() }
    }

    pub(crate) fn lacks(&self, arn: &str) -> bool {
        matches!(self.catalog.find::<Activity>(&Activity::key(arn)), Ok(None))
    }

    /// Gives a task to the worker that has waited longest, or lets it wait.
    pub(crate) fn offer(&self, arn: &str, task: Task) {
        let mut waiting = self.waiting();
        let place = waiting.draw();
        waiting.offer(&arn.into(), task, place);
    }

    /// Nobody wants the result any more; whether the task waited here.
    pub(crate) fn cancel(&self, cancelled: &Cancelled) -> bool {
        self.waiting().remove_task((cancelled.execution, cancelled.attempt))
    }

    /// The task that has waited longest; if there is none, the next one that comes in time.
    pub(crate) async fn poll(
        self: &Arc<Self>,
        arn: &str,
        until: Instant,
    ) -> Result<Option<Taken>, TooManyWorkers> {
        let arn: Arc<str> = arn.into();
        let mut worker = {
            let mut waiting = self.waiting();
            if let Some(task) = waiting.first_task(&arn) {
                return Ok(Some(Taken::new(self, arn, task)));
            }
            Worker::new(self, &mut waiting, arn.clone())?
        };
        let received = tokio::time::timeout_at(until, &mut worker.receiver).await;
        Ok(received.ok().and_then(Result::ok).map(|task| Taken::new(self, arn, task)))
    }

    /// A task that had been taken is the next one to be taken again.
    fn put_back(&self, arn: &Arc<str>, task: Task) {
        let mut waiting = self.waiting();
        let first = waiting.queues.get(arn).and_then(|queue| queue.tasks.keys().next().copied());
        let place = first.map_or_else(|| waiting.draw(), |first| first - 1);
        waiting.offer(arn, task, place);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn draw(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn offer(&mut self, arn: &Arc<str>, mut task: Task, place: i64) {
        let queue = self.queues.entry(arn.clone()).or_default();
        while let Some((_, worker)) = queue.workers.pop_first() {
            match worker.send(task) {
                Ok(()) => return self.tidy(arn),
                // It has gone away meanwhile.
                Err(back) => task = back,
            }
        }
        self.places.insert((task.execution, task.attempt), (arn.clone(), place));
        queue.tasks.insert(place, task);
    }

    fn first_task(&mut self, arn: &Arc<str>) -> Option<Task> {
        let (_, task) = self.queues.get_mut(arn)?.tasks.pop_first()?;
        self.places.remove(&(task.execution, task.attempt));
        self.tidy(arn);
        Some(task)
    }

    fn remove_task(&mut self, key: (ExecutionId, Attempt)) -> bool {
        let Some((arn, place)) = self.places.remove(&key) else { return false };
        if let Some(queue) = self.queues.get_mut(&arn) {
            queue.tasks.remove(&place);
        }
        self.tidy(&arn);
        true
    }

    fn remove_worker(&mut self, arn: &Arc<str>, place: i64) {
        if let Some(queue) = self.queues.get_mut(arn) {
            queue.workers.remove(&place);
        }
        self.tidy(arn);
    }

    fn tidy(&mut self, arn: &Arc<str>) {
        if let Some(queue) = self.queues.get(arn)
            && queue.tasks.is_empty()
            && queue.workers.is_empty()
        {
            self.queues.remove(arn);
        }
    }
}

/// A worker that waits. If it goes away just as a task is handed to it, the task goes to another.
struct Worker {
    activities: Arc<Activities>,
    arn: Arc<str>,
    place: i64,
    receiver: oneshot::Receiver<Task>,
}

impl Worker {
    fn new(
        activities: &Arc<Activities>,
        waiting: &mut Waiting,
        arn: Arc<str>,
    ) -> Result<Self, TooManyWorkers> {
        let place = waiting.draw();
        let queue = waiting.queues.entry(arn.clone()).or_default();
        if queue.workers.len() >= WORKERS_MAX {
            return Err(TooManyWorkers);
        }
        let (sender, receiver) = oneshot::channel();
        queue.workers.insert(place, sender);
        Ok(Self { activities: activities.clone(), arn, place, receiver })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.receiver.close();
        self.activities.waiting().remove_worker(&self.arn, self.place);
        if let Ok(task) = self.receiver.try_recv() {
            self.activities.put_back(&self.arn, task);
        }
    }
}

/// A task on its way to a worker. Unless it is handed over or given up, it goes back.
pub(crate) struct Taken {
    activities: Arc<Activities>,
    arn: Arc<str>,
    task: Option<Task>,
}

impl Taken {
    fn new(activities: &Arc<Activities>, arn: Arc<str>, task: Task) -> Self {
        Self { activities: activities.clone(), arn, task: Some(task) }
    }

    pub(crate) fn task(&self) -> &Task {
        self.task.as_ref().expect("it is only taken out when this is consumed")
    }

    /// The worker has it, or nobody wants it any more.
    pub(crate) fn hand_over(mut self) -> Task {
        self.task.take().expect("it is only taken out when this is consumed")
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            self.activities.put_back(&self.arn, task);
        }
    }
}
