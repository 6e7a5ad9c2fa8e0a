//! Activities: tasks that wait for workers, and workers that wait for tasks.
//!
//! What waits here is in the journal as well: after a crash it is dispatched again, unless a worker had
//! taken it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use everstep_runtime::Task;
use tokio::sync::oneshot;

use crate::catalog::{Activity, Catalog};

/// How long a worker waits for a task before it is told that there is none.
const POLL: Duration = Duration::from_secs(60);

pub(crate) struct Activities {
    catalog: Catalog,
    queues: Mutex<HashMap<String, Queue>>,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    workers: VecDeque<oneshot::Sender<Task>>,
}

impl Activities {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self { catalog, queues: Mutex::default() }
    }

    pub(crate) fn lacks(&self, arn: &str) -> bool {
        matches!(self.catalog.find::<Activity>(&Activity::key(arn)), Ok(None))
    }

    /// Gives a task to the worker that has waited longest, or lets it wait.
    pub(crate) fn offer(&self, arn: &str, task: Task) {
        let mut queues = self.queues();
        let queue = queues.entry(arn.to_owned()).or_default();
        let mut task = task;
        while let Some(worker) = queue.workers.pop_front() {
            match worker.send(task) {
                Ok(()) => return,
                // It has gone away meanwhile.
                Err(back) => task = back,
            }
        }
        queue.tasks.push_back(task);
    }

    /// The task that has waited longest; if there is none, the next one that comes in time.
    pub(crate) async fn poll(self: &Arc<Self>, arn: &str) -> Option<Task> {
        let receiver = {
            let mut queues = self.queues();
            let queue = queues.entry(arn.to_owned()).or_default();
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            queue.workers.retain(|worker| !worker.is_closed());
            let (sender, receiver) = oneshot::channel();
            queue.workers.push_back(sender);
            receiver
        };
        let mut held =
            Held { activities: self.clone(), arn: arn.to_owned(), receiver: Some(receiver) };
        let receiver = held.receiver.as_mut()?;
        let taken = tokio::time::timeout(POLL, receiver).await;
        let task = taken.ok().and_then(Result::ok);
        if task.is_some() {
            held.receiver = None;
        }
        task
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker that waits. If it goes away just as a task is handed to it, the task goes to another.
struct Held {
    activities: Arc<Activities>,
    arn: String,
    receiver: Option<oneshot::Receiver<Task>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(mut receiver) = self.receiver.take() {
            receiver.close();
            if let Ok(task) = receiver.try_recv() {
                self.activities.offer(&self.arn, task);
            }
        }
    }
}
