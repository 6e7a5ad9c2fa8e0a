//! The groups of a FIFO queue: which of them have a message that can be received now.

use std::collections::{BTreeSet, HashMap};

use crate::id::Group;

#[derive(Default)]
pub(crate) struct Groups {
    /// Those with messages in the window or in flight.
    known: HashMap<Group, Known>,
    /// Groups of which nothing is in flight, by their first message.
    open: BTreeSet<(u64, Group)>,
}

#[derive(Default)]
struct Known {
    waiting: BTreeSet<u64>,
    in_flight: usize,
    /// Its place among the open ones.
    open_at: Option<u64>,
}

impl Groups {
    pub(crate) fn add(&mut self, group: Group, sequence: u64) {
        self.change(group, |known| known.waiting.extend([sequence]));
    }

    pub(crate) fn remove(&mut self, group: Group, sequence: u64) {
        self.change(group, |known| {
            known.waiting.remove(&sequence);
        });
    }

    pub(crate) fn lock(&mut self, group: Group) {
        self.change(group, |known| known.in_flight += 1);
    }

    pub(crate) fn unlock(&mut self, group: Group) {
        self.change(group, |known| known.in_flight = known.in_flight.saturating_sub(1));
    }

    /// The first message of the group that `after` is, which the same receive has locked; else of the group whose first
    /// message is the oldest.
    pub(crate) fn next(&self, after: Option<Group>) -> Option<u64> {
        let same = after.and_then(|group| self.known.get(&group)?.waiting.first().copied());
        same.or_else(|| self.open.first().map(|(sequence, _)| *sequence))
    }

    fn change(&mut self, group: Group, change: impl FnOnce(&mut Known)) {
        let known = self.known.entry(group).or_default();
        change(known);
        let open_at = known.waiting.first().copied().filter(|_| known.in_flight == 0);
        if let Some(before) = std::mem::replace(&mut known.open_at, open_at) {
            self.open.remove(&(before, group));
        }
        self.open.extend(open_at.map(|sequence| (sequence, group)));
        if known.waiting.is_empty() && known.in_flight == 0 {
            self.known.remove(&group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_with_a_message_in_flight_is_closed() {
        let (a, b) = (Group::named("a"), Group::named("b"));
        let mut groups = Groups::default();
        groups.add(a, 1);
        groups.add(a, 2);
        groups.add(b, 3);
        assert_eq!(groups.next(None), Some(1));
        groups.remove(a, 1);
        groups.lock(a);
        assert_eq!((groups.next(None), groups.next(Some(a))), (Some(3), Some(2)));
        groups.lock(b);
        groups.remove(b, 3);
        assert_eq!(groups.next(None), None);
        groups.unlock(a);
        assert_eq!(groups.next(None), Some(2));
        groups.remove(a, 2);
        groups.unlock(b);
        assert!(groups.known.is_empty() && groups.open.is_empty());
    }
}
