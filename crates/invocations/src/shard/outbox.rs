//! Which deliveries are under way, or wait to be made again.
//!
//! Addressees do not get into each other's way: of each so many deliveries are known here, and others are
//! rows until there is room. One that is down for long costs its own deliveries time, and nobody else's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::id::{Addressee, InvocationId};

/// Waits between deliveries double from the first to the last of these.
const AGAIN_MS_MIN: i64 = 1000;
const AGAIN_MS_MAX: i64 = 5 * 60 * 1000;

/// A delivery, by its invocation and the place of its route.
pub(super) type Place = (InvocationId, u32);

#[derive(Default)]
pub(super) struct Outbox {
    known: HashMap<Place, Known>,
    again: BTreeSet<(i64, Place)>,
    /// Read in their order, so that a run can be repeated.
    trays: BTreeMap<Addressee, Tray>,
}

struct Known {
    to: Addressee,
    /// How often it has failed since the start.
    failures: u32,
}

#[derive(Default)]
struct Tray {
    known: usize,
    /// Where to go on reading, if there may be rows that are not known here.
    behind: Option<Cursor>,
    /// There was no room for a delivery since the reading began at the start.
    missed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cursor {
    Start,
    /// After this key.
    After(Vec<u8>),
}

impl Outbox {
    pub(super) fn knows(&self, place: Place) -> bool {
        self.known.contains_key(&place)
    }

    /// Takes a delivery; not if so many to its addressee are known already: then it is read later.
    pub(super) fn enter(&mut self, place: Place, to: Addressee, most: usize) -> bool {
        if self.knows(place) {
            return true;
        }
        let tray = self.trays.entry(to).or_default();
        if tray.known >= most {
            tray.behind.get_or_insert(Cursor::Start);
            tray.missed = true;
            return false;
        }
        tray.known += 1;
        self.known.insert(place, Known { to, failures: 0 });
        true
    }

    /// There are rows for an addressee.
    pub(super) fn found(&mut self, to: Addressee) {
        self.trays.entry(to).or_default().behind.get_or_insert(Cursor::Start);
    }

    /// It has arrived.
    pub(super) fn leave(&mut self, place: Place) {
        let Some(Known { to, .. }) = self.known.remove(&place) else { return };
        if let Some(tray) = self.trays.get_mut(&to) {
            tray.known -= 1;
            if tray.known == 0 && tray.behind.is_none() {
                self.trays.remove(&to);
            }
        }
    }

    /// It has not arrived, and is made again after a while.
    pub(super) fn repeat(&mut self, place: Place, now_ms: i64) {
        let Some(known) = self.known.get_mut(&place) else { return };
        let wait_ms = (AGAIN_MS_MIN << known.failures.min(16)).min(AGAIN_MS_MAX);
        known.failures += 1;
        self.again.insert((now_ms.saturating_add(wait_ms), place));
    }

    pub(super) fn pop_due(&mut self, now_ms: i64) -> Option<Place> {
        let (at_ms, place) = self.again.first().copied()?;
        (at_ms <= now_ms).then(|| {
            self.again.remove(&(at_ms, place));
            place
        })
    }

    /// An addressee with rows to be read and room for them: where to go on, and for how many.
    pub(super) fn next_to_read(&self, most: usize) -> Option<(Addressee, Cursor, usize)> {
        self.trays.iter().find_map(|(to, tray)| {
            let cursor = tray.behind.clone().filter(|_| tray.known <= most / 2)?;
            Some((*to, cursor, (most - tray.known).max(1)))
        })
    }

    /// So far rows have been read; to the end if there is no last one. What found no room since the reading
    /// began may be behind it, and is found the next time round. To read once more without such a reason
    /// would never end: rows stay until they are confirmed.
    pub(super) fn has_read(&mut self, to: Addressee, from: &Cursor, last: Option<Vec<u8>>) {
        let tray = self.trays.entry(to).or_default();
        tray.missed &= *from != Cursor::Start;
        tray.behind = match last {
            Some(last) => Some(Cursor::After(last)),
            None => tray.missed.then_some(Cursor::Start),
        };
        if tray.known == 0 && tray.behind.is_none() {
            self.trays.remove(&to);
        }
    }

    pub(super) fn next_ms(&self, most: usize, now_ms: i64) -> Option<i64> {
        let behind = self.next_to_read(most).map(|_| now_ms);
        self.again.first().map(|(at_ms, _)| *at_ms).into_iter().chain(behind).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u64) -> Place {
        (InvocationId::drawn([0, number]), 0)
    }

    #[test]
    fn one_addressee_leaves_room_for_another() {
        let (down, up) = (Addressee::named("down"), Addressee::named("up"));
        let mut outbox = Outbox::default();
        let taken = (0..10).filter(|number| outbox.enter(place(*number), down, 4)).count();
        assert_eq!(taken, 4);
        assert!(outbox.enter(place(0), down, 4), "it has its room already");
        assert!(outbox.enter(place(10), up, 4));
        assert_eq!(outbox.next_to_read(4), None, "no room for what is behind");
        outbox.leave(place(0));
        outbox.leave(place(1));
        assert_eq!(outbox.next_to_read(4), Some((down, Cursor::Start, 2)));
    }

    #[test]
    fn what_was_passed_over_is_read_again() {
        let to = Addressee::named("f");
        let mut outbox = Outbox::default();
        outbox.found(to);
        outbox.has_read(to, &Cursor::Start, Some(vec![1]));
        for number in 0..5 {
            outbox.enter(place(number), to, 4);
        }
        (0..4).for_each(|number| outbox.leave(place(number)));
        let (_, cursor, _) = outbox.next_to_read(4).expect("there is more");
        outbox.has_read(to, &cursor, None);
        assert_eq!(outbox.next_to_read(4), Some((to, Cursor::Start, 4)));
        outbox.has_read(to, &Cursor::Start, None);
        assert_eq!(outbox.next_to_read(4), None);
        assert!(outbox.trays.is_empty());
    }

    #[test]
    fn reading_ends_while_all_that_was_read_is_under_way() {
        let to = Addressee::named("f");
        let mut outbox = Outbox::default();
        outbox.found(to);
        (0..2).for_each(|number| assert!(outbox.enter(place(number), to, 4)));
        let (_, cursor, room) = outbox.next_to_read(4).expect("there may be rows");
        assert_eq!((&cursor, room), (&Cursor::Start, 2), "as many as there are");
        outbox.has_read(to, &cursor, Some(vec![1]));
        let (_, cursor, _) = outbox.next_to_read(4).expect("there may be more");
        outbox.has_read(to, &cursor, None);
        assert_eq!(outbox.next_to_read(4), None);
    }

    #[test]
    fn waits_double_up_to_five_minutes() {
        let mut outbox = Outbox::default();
        assert!(outbox.enter(place(0), Addressee::named("f"), 4));
        let mut waits = Vec::new();
        for _ in 0..11 {
            outbox.repeat(place(0), 0);
            waits.extend(outbox.next_ms(4, 0));
            assert_eq!(outbox.pop_due(i64::MAX), Some(place(0)));
        }
        assert_eq!(waits[..3], [1000, 2000, 4000]);
        assert_eq!(waits[8..], [256_000, 300_000, 300_000]);
    }
}
