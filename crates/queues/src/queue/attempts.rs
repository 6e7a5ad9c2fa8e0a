//! Receives that a caller may repeat because it has seen no answer. In memory alone: after a restart, a repeated
//! receive is a new one, and what was in flight is visible again at its time.

use std::collections::{HashMap, VecDeque};

/// For how long, and how many.
const REMEMBERED_MS: i64 = 5 * 60 * 1000;
const REMEMBERED_MAX: usize = 1000;

/// The messages that were received, each with the number of the receive.
pub(crate) type Messages = Vec<(u64, u32)>;

#[derive(Default)]
pub(crate) struct Attempts {
    known: HashMap<String, (i64, Messages)>,
    order: VecDeque<(i64, String)>,
}

impl Attempts {
    pub(crate) fn get(&self, id: &str, now_ms: i64) -> Option<&Messages> {
        let (at_ms, messages) = self.known.get(id)?;
        (now_ms < at_ms.saturating_add(REMEMBERED_MS)).then_some(messages)
    }

    pub(crate) fn put(&mut self, id: String, messages: Messages, now_ms: i64) {
        self.order.push_back((now_ms, id.clone()));
        self.known.insert(id, (now_ms, messages));
        while self.order.len() > REMEMBERED_MAX
            || self.order.front().is_some_and(|(at_ms, _)| at_ms + REMEMBERED_MS <= now_ms)
        {
            let Some((at_ms, id)) = self.order.pop_front() else { return };
            if self.known.get(&id).is_some_and(|(known_ms, _)| *known_ms == at_ms) {
                self.known.remove(&id);
            }
        }
    }
}
