//! Where records go that are not functions: URLs and state machines. Each delivery is seen, and answered when
//! the world says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_invocations::{Delivered, Delivery};

use crate::Fault;
use crate::disk::Disk;

pub(crate) struct Destinations {
    fault: Option<Fault>,
    disk: Arc<Disk>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Each with its number among all, and the number of the last batch that was durable.
    unseen: Vec<(Delivery, u64, u64)>,
    waiting: BTreeMap<u64, Delivered>,
    made: u64,
}

/// What a destination has taken.
#[derive(Default)]
pub(crate) struct Confirmed {
    /// What came first; all that come later are the same.
    pub(crate) first: Option<Delivery>,
    pub(crate) times: u32,
    /// The destination has said that it has it.
    pub(crate) confirmed: bool,
}

impl Destinations {
    pub(crate) fn new(fault: Option<Fault>, disk: Arc<Disk>) -> Self {
        Self { fault, disk, state: Mutex::default() }
    }

    pub(crate) fn take_unseen(&self) -> Vec<(Delivery, u64, u64)> {
        std::mem::take(&mut self.state().unseen)
    }

    pub(crate) fn take_waiting(&self, number: u64) -> Option<Delivered> {
        self.state().waiting.remove(&number)
    }

    /// The engine has died: no answer is awaited.
    pub(crate) fn die(&self) {
        let waiting = std::mem::take(&mut self.state().waiting);
        drop(waiting);
        self.state().unseen.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl everstep_invocations::Destinations for Destinations {
    fn deliver(&self, delivery: Delivery, done: Delivered) {
        let early = if self.fault == Some(Fault::DeliversEarly) { 3 } else { 0 };
        let durable_to = self.disk.durable_to().saturating_sub(early);
        let mut state = self.state();
        state.made += 1;
        let number = state.made;
        state.waiting.insert(number, done);
        state.unseen.push((delivery, number, durable_to));
    }
}
