//! What the engine says to itself. In order for each execution, in any order among them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use everstep_executions::{ExecutionId, Message, Postbox};

use crate::dice::Dice;

#[derive(Default)]
pub(crate) struct Post(Mutex<BTreeMap<ExecutionId, VecDeque<Message>>>);

impl Post {
    pub(crate) fn take(&self, dice: &mut Dice) -> Option<Message> {
        let mut boxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = *boxes.keys().nth(dice.below(boxes.len()))?;
        let messages = boxes.get_mut(&id)?;
        let message = messages.pop_front();
        if messages.is_empty() {
            boxes.remove(&id);
        }
        message
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl Postbox for Post {
    fn post(&self, id: ExecutionId, message: Message) {
        let mut boxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        boxes.entry(id).or_default().push_back(message);
    }
}
