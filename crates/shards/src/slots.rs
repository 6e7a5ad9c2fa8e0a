//! What a shard has in memory, until nothing needs it there.

use std::collections::{HashMap, VecDeque};

use crate::{Effect, Id, Ledger};

/// Something that is in memory.
pub trait Slot {
    /// The last commit that concerns it: until that is durable the store may not show it as it is.
    fn ticket(&self) -> u64;
}

pub struct Slots<I, S> {
    held: HashMap<I, Box<S>>,
    /// What leaves when a commit is acknowledged, unless it has changed by then.
    leaving: VecDeque<(u64, I)>,
}

impl<I, S> Default for Slots<I, S> {
    fn default() -> Self {
        Self { held: HashMap::new(), leaving: VecDeque::new() }
    }
}

impl<I: Id, S: Slot> Slots<I, S> {
    #[must_use]
    pub fn get(&self, id: I) -> Option<&S> {
        self.held.get(&id).map(|slot| &**slot)
    }

    pub fn get_mut(&mut self, id: I) -> Option<&mut S> {
        self.held.get_mut(&id).map(|slot| &mut **slot)
    }

    pub fn take(&mut self, id: I) -> Option<Box<S>> {
        self.held.remove(&id)
    }

    pub fn put(&mut self, id: I, slot: Box<S>) {
        self.held.insert(id, slot);
    }

    /// Lets something leave once it is durable as it is now.
    pub fn release(&mut self, id: I, ticket: u64) {
        self.leaving.push_back((ticket, id));
    }

    /// The next that may leave: it was released, is durable and has not changed since.
    pub fn next_released(&mut self, ledger: &Ledger<impl Effect>) -> Option<I> {
        while let Some((ticket, id)) = self.leaving.front().copied()
            && ledger.is_acknowledged(ticket)
        {
            self.leaving.pop_front();
            if self.get(id).is_some_and(|slot| slot.ticket() == ticket) {
                return Some(id);
            }
        }
        None
    }

    /// Whether everything about it is durable. What is not in memory is.
    #[must_use]
    pub fn is_durable(&self, id: I, ledger: &Ledger<impl Effect>) -> bool {
        self.get(id).is_none_or(|slot| ledger.is_acknowledged(slot.ticket()))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.held.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub fn values(&self) -> impl Iterator<Item = &S> {
        self.held.values().map(|slot| &**slot)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.held.values_mut().map(|slot| &mut **slot)
    }
}
