//! The messages of a queue that can be received next: a window on rows that may be many more.

use std::collections::BTreeMap;

use crate::message::State;
use crate::queue::groups::Groups;

/// Rows that are read at a time.
const PAGE: usize = 1000;

/// All messages that are ready and come before `unread_from`, by their sequence number.
pub(crate) struct Line {
    ready: BTreeMap<u64, State>,
    /// Those from here on are rows alone; none if all are in memory.
    unread_from: Option<u64>,
    room: usize,
    /// Of FIFO queues.
    groups: Option<Groups>,
}

impl Line {
    /// Nothing is read yet.
    pub(crate) fn new(room: usize, fifo: bool) -> Self {
        let groups = fifo.then(Groups::default);
        Self { ready: BTreeMap::new(), unread_from: Some(0), room: room.max(2), groups }
    }

    /// There is nothing to read.
    pub(crate) fn empty(room: usize, fifo: bool) -> Self {
        Self { unread_from: None, ..Self::new(room, fifo) }
    }

    /// A message can be received. It is a row already; it is in memory too if there is room.
    pub(crate) fn add(&mut self, sequence: u64, state: State) {
        if self.unread_from.is_some_and(|from| sequence >= from) {
            return;
        }
        self.ready.insert(sequence, state);
        if let (Some(groups), Some(group)) = (&mut self.groups, state.group) {
            groups.add(group, sequence);
        }
        if self.ready.len() > self.room
            && let Some((last, _)) = self.ready.last_key_value()
        {
            let last = *last;
            self.unread_from = Some(last);
            self.remove(last);
        }
    }

    pub(crate) fn get(&self, sequence: u64) -> Option<&State> {
        self.ready.get(&sequence)
    }

    /// A message cannot be received any more.
    pub(crate) fn remove(&mut self, sequence: u64) -> Option<State> {
        let state = self.ready.remove(&sequence)?;
        if let (Some(groups), Some(group)) = (&mut self.groups, state.group) {
            groups.remove(group, sequence);
        }
        Some(state)
    }

    /// The oldest message.
    pub(crate) fn first(&self) -> Option<(u64, State)> {
        self.ready.first_key_value().map(|(sequence, state)| (*sequence, *state))
    }

    /// The next message to be received, after one of this group if there is one.
    pub(crate) fn next(&self, after: Option<crate::id::Group>) -> Option<(u64, State)> {
        let Some(groups) = &self.groups else { return self.first() };
        let sequence = groups.next(after)?;
        self.ready.get(&sequence).map(|state| (sequence, *state))
    }

    /// A message of a group is in flight: no other is received.
    pub(crate) fn lock(&mut self, state: &State) {
        if let (Some(groups), Some(group)) = (&mut self.groups, state.group) {
            groups.lock(group);
        }
    }

    pub(crate) fn unlock(&mut self, state: &State) {
        if let (Some(groups), Some(group)) = (&mut self.groups, state.group) {
            groups.unlock(group);
        }
    }

    /// Where to read on, and how many rows, if there is room and need.
    pub(crate) fn wants(&self) -> Option<(u64, usize)> {
        let from = self.unread_from?;
        let room = self.room - self.ready.len();
        let needed = self.ready.len() <= self.room / 2 || self.next(None).is_none();
        (room > 0 && needed).then_some((from, room.min(PAGE)))
    }

    /// Rows from `unread_from` on were read; `unread_from` is where the next begin, if there are any.
    pub(crate) fn has_read(&mut self, rows: BTreeMap<u64, State>, unread_from: Option<u64>) {
        self.unread_from = unread_from;
        for (sequence, state) in rows {
            self.add(sequence, state);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new(0, None)
    }

    #[test]
    fn only_the_first_are_in_memory() {
        let mut line = Line::empty(4, false);
        (10..20).for_each(|sequence| line.add(sequence, state()));
        assert_eq!((line.len(), line.unread_from), (4, Some(14)));
        assert_eq!(line.wants(), None);
        line.add(3, state());
        assert_eq!((line.len(), line.unread_from), (4, Some(13)));
        assert_eq!(line.next(None).map(|(sequence, _)| sequence), Some(3));
        assert!(line.remove(3).is_some() && line.remove(10).is_some());
        assert_eq!(line.wants(), Some((13, 2)));
        line.has_read(BTreeMap::from([(13, state()), (14, state())]), Some(15));
        assert_eq!((line.len(), line.unread_from), (4, Some(15)));
    }

    #[test]
    fn what_is_beyond_the_window_is_not_received_before_it_is_read() {
        let mut line = Line::new(4, false);
        line.add(7, state());
        assert_eq!((line.first(), line.wants()), (None, Some((0, 4))));
        line.has_read(BTreeMap::from([(7, state())]), None);
        assert!(line.get(7).is_some());
        assert_eq!(line.wants(), None);
    }
}
