//! Where the rows are: the keys of each space. `docs/design/queues.md` says the same in words.

use everstep_shards::{Cursor, keys};
use everstep_store::after_prefix;

use crate::id::{Fingerprint, MoveId, Recipient, RowsId};

/// `Queues`: what a row is about is the first byte of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    /// A queue, by its name.
    Queue = 0,
    /// A message, by its sequence number.
    Message = 1,
    /// What was sent in the last minutes, so that it does not count twice.
    Seen = 2,
    /// A move that has arrived, until its sender knows.
    Arrival = 3,
    /// How many messages wait.
    Counts = 4,
    /// A message on its way to another queue, by that queue.
    Move = 5,
    /// Rows of a queue that was deleted or purged: to be removed.
    Discarded = 6,
}

/// `QueueOrders`: each message of a queue is in one of the first three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Can be received, in the order of arrival.
    Ready = 0,
    /// Cannot be received before its time.
    Delayed = 1,
    /// Was received, and is hidden until its time.
    InFlight = 2,
    /// What was sent in the last minutes, by when.
    Seen = 3,
}

/// Everything that is kept by [`RowsId`]: first byte of keys in `Queues`, then in `QueueOrders`.
pub(crate) const PARTS: [Part; 4] = [Part::Message, Part::Seen, Part::Arrival, Part::Counts];
pub(crate) const ORDERS: [Order; 4] = [Order::Ready, Order::Delayed, Order::InFlight, Order::Seen];

pub(crate) fn queue(name: &str) -> Vec<u8> {
    [&[Part::Queue as u8], name.as_bytes()].concat()
}

pub(crate) fn message(rows: RowsId, sequence: u64) -> Vec<u8> {
    [&of(Part::Message, rows)[..], &sequence.to_be_bytes()].concat()
}

pub(crate) fn seen(rows: RowsId, fingerprint: Fingerprint) -> Vec<u8> {
    [&of(Part::Seen, rows)[..], fingerprint.bytes()].concat()
}

pub(crate) fn arrival(rows: RowsId, moved: MoveId) -> Vec<u8> {
    [&of(Part::Arrival, rows)[..], moved.bytes()].concat()
}

pub(crate) fn counts(rows: RowsId) -> Vec<u8> {
    of(Part::Counts, rows)
}

/// What all keys of a part begin with.
pub(crate) fn of(part: Part, rows: RowsId) -> Vec<u8> {
    [&[part as u8], &rows.bytes()[..]].concat()
}

pub(crate) fn discarded(rows: RowsId) -> Vec<u8> {
    of(Part::Discarded, rows)
}

pub(crate) fn parse_discarded(key: &[u8]) -> Option<RowsId> {
    RowsId::from_bytes(key.get(1..)?)
}

pub(crate) fn moved(to: Recipient, id: MoveId) -> Vec<u8> {
    [&[Part::Move as u8], &to.bytes()[..], id.bytes()].concat()
}

/// Where moves to a queue are to be read from.
pub(crate) fn moves(to: Recipient, from: &Cursor) -> Vec<u8> {
    match from {
        Cursor::Start => [&[Part::Move as u8], &to.bytes()[..]].concat(),
        Cursor::After(key) => [key.as_slice(), &[0]].concat(),
    }
}

/// The first key after all moves to a queue.
pub(crate) fn after_moves(to: Recipient) -> Vec<u8> {
    after_prefix(&moves(to, &Cursor::Start))
}

pub(crate) fn parse_move(key: &[u8]) -> Option<(Recipient, MoveId)> {
    Some((Recipient::from_bytes(key.get(1..9)?)?, MoveId::from_bytes(key.get(9..)?)?))
}

pub(crate) fn end(part: Part) -> Vec<u8> {
    after_prefix(&[part as u8])
}

/// What all keys of an order begin with.
pub(crate) fn in_order(order: Order, rows: RowsId) -> Vec<u8> {
    [&[order as u8], &rows.bytes()[..]].concat()
}

pub(crate) fn ready(rows: RowsId, sequence: u64) -> Vec<u8> {
    [&in_order(Order::Ready, rows)[..], &sequence.to_be_bytes()].concat()
}

pub(crate) fn parse_ready(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(9..)?.try_into().ok()?))
}

/// A place among what is delayed or in flight: earliest first, then by sequence number.
pub(crate) fn at(order: Order, rows: RowsId, at_ms: i64, sequence: u64) -> Vec<u8> {
    [&from(order, rows, at_ms)[..], &sequence.to_be_bytes()].concat()
}

/// Where a moment begins.
pub(crate) fn from(order: Order, rows: RowsId, at_ms: i64) -> Vec<u8> {
    [&in_order(order, rows)[..], &keys::ordered(at_ms)].concat()
}

pub(crate) fn parse_at(key: &[u8]) -> Option<(i64, u64)> {
    let sequence = u64::from_be_bytes(key.get(17..)?.try_into().ok()?);
    Some((keys::parse_ordered(key.get(9..17)?)?, sequence))
}

pub(crate) fn seen_at(rows: RowsId, at_ms: i64, fingerprint: Fingerprint) -> Vec<u8> {
    [&from(Order::Seen, rows, at_ms)[..], fingerprint.bytes()].concat()
}

pub(crate) fn parse_seen_at(key: &[u8]) -> Option<(i64, Fingerprint)> {
    Some((keys::parse_ordered(key.get(9..17)?)?, Fingerprint::from_bytes(key.get(17..)?)?))
}

/// `Catalog`, in each shard: the owner of its queues. Every commit expects to find itself there.
pub(crate) const OWNER: &[u8] = b"owner/queues";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_they_name() {
        let (rows, id) = (RowsId::drawn(9), MoveId::of(RowsId::drawn(9), 1));
        assert_eq!(parse_ready(&ready(rows, 7)), Some(7));
        assert_eq!(parse_at(&at(Order::InFlight, rows, -5, 7)), Some((-5, 7)));
        let to = Recipient::named("q");
        assert_eq!(parse_move(&moved(to, id)), Some((to, id)));
        assert!(moves(to, &Cursor::Start) < moved(to, id) && moved(to, id) < after_moves(to));
        let seen = Fingerprint::of_id("a", None);
        assert_eq!(parse_seen_at(&seen_at(rows, 4, seen)), Some((4, seen)));
        assert_eq!(parse_discarded(&discarded(rows)), Some(rows));
        assert_eq!((parse_ready(b"short"), parse_at(b"short")), (None, None));
    }

    #[test]
    fn keys_are_in_the_order_of_what_they_name() {
        let rows = RowsId::drawn(9);
        assert!([0, 1, 255, 256, u64::MAX].map(|sequence| ready(rows, sequence)).is_sorted());
        let moments = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(moments.map(|at_ms| at(Order::Delayed, rows, at_ms, 3)).is_sorted());
        assert!(from(Order::Delayed, rows, 5) <= at(Order::Delayed, rows, 5, 0));
    }
}
