//! The messages that an engine sends to itself. In order for each id, in any order among ids.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::dice::Dice;

pub(crate) struct Post<I, M>(Mutex<BTreeMap<I, VecDeque<M>>>);

impl<I, M> Default for Post<I, M> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<I: Ord + Copy, M> Post<I, M> {
    pub(crate) fn put(&self, id: I, message: M) {
        self.boxes().entry(id).or_default().push_back(message);
    }

    pub(crate) fn take(&self, dice: &mut Dice) -> Option<M> {
        let mut boxes = self.boxes();
        let id = *boxes.keys().nth(dice.below(boxes.len()))?;
        let messages = boxes.get_mut(&id)?;
        let message = messages.pop_front();
        if messages.is_empty() {
            boxes.remove(&id);
        }
        message
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.boxes().is_empty()
    }

    /// Drops all messages, and those that their end leads to.
    pub(crate) fn clear(&self) {
        loop {
            let dropped = std::mem::take(&mut *self.boxes());
            if dropped.is_empty() {
                return;
            }
        }
    }

    fn boxes(&self) -> MutexGuard<'_, BTreeMap<I, VecDeque<M>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
