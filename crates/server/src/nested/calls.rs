//! Which calls have a driver now. A driver may yet start the execution that the cancellation of its task did not find:
//! so the cancellation is held, unconfirmed, until the driver is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use everstep_executions::{Cancelled, ExecutionId};
use everstep_interpreter::Attempt;

type Key = (ExecutionId, Attempt);

/// What is held is dropped with the last driver of its attempt.
#[derive(Debug)]
pub(crate) struct Calls<T = Cancelled> {
    live: Mutex<HashMap<Key, Weak<Held<T>>>>,
}

type Held<T> = Mutex<Vec<T>>;

/// A driver has it for as long as it runs.
#[derive(Debug)]
pub(crate) struct Open<T = Cancelled> {
    key: Key,
    calls: Arc<Calls<T>>,
    held: Option<Arc<Held<T>>>,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self { live: Mutex::default() }
    }
}

impl<T> Calls<T> {
    /// Must be called before the task can be cancelled: otherwise the cancellation would not be held.
    pub(crate) fn open(self: &Arc<Self>, execution: ExecutionId, attempt: Attempt) -> Open<T> {
        let key = (execution, attempt);
        let mut live = self.live();
        let held = live.get(&key).and_then(Weak::upgrade).unwrap_or_default();
        live.insert(key, Arc::downgrade(&held));
        Open { key, calls: self.clone(), held: Some(held) }
    }

    /// Holds something until the driver of an attempt is over, if it has one.
    pub(crate) fn hold(&self, execution: ExecutionId, attempt: Attempt, what: T) {
        let held = self.live().get(&(execution, attempt)).and_then(Weak::upgrade);
        if let Some(held) = held {
            held.lock().unwrap_or_else(PoisonError::into_inner).push(what);
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<Key, Weak<Held<T>>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Open<T> {
    fn drop(&mut self) {
        drop(self.held.take());
        let mut live = self.calls.live();
        if live.get(&self.key).is_some_and(|held| held.strong_count() == 0) {
            live.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use everstep_interpreter::FrameId;

    use super::*;

    #[test]
    fn a_cancellation_is_held_until_the_last_driver_of_its_attempt_is_over() {
        let calls: Arc<Calls<Arc<()>>> = Arc::default();
        let execution = ExecutionId::of("parent");
        let [attempt, other] = [0, 1].map(|number| Attempt { frame: FrameId(0), number });
        let cancelled = Arc::new(());
        let is_held = || Arc::strong_count(&cancelled) > 1;
        calls.hold(execution, attempt, cancelled.clone());
        assert!(!is_held(), "there is no driver");
        let (first, second) = (calls.open(execution, attempt), calls.open(execution, attempt));
        calls.hold(execution, other, cancelled.clone());
        assert!(!is_held(), "it is another attempt");
        calls.hold(execution, attempt, cancelled.clone());
        drop(first);
        assert!(is_held());
        drop(second);
        assert!(!is_held());
        assert!(calls.live().is_empty());
    }
}
