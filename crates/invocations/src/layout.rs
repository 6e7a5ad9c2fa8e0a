//! Where the rows are: the keys of each space. `docs/design/invocations.md` says the same in words.

use everstep_shards::keys;
pub(crate) use everstep_shards::keys::parse_at;
use everstep_store::after_prefix;

use crate::id::{InvocationId, Recipient};
use everstep_shards::Cursor;

/// `Invocations`: what is known of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    Record = 0,
    Payload = 1,
    /// What the last attempt that ended has said.
    Response = 2,
    Session = 3,
}

pub(crate) fn part(id: InvocationId, part: Part) -> Vec<u8> {
    [id.bytes().as_slice(), &[part as u8]].concat()
}

/// `InvocationOrders`: which order a key belongs to is its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Open invocations, by when they must be looked at.
    Due = 0,
    /// All invocations, by their acceptance.
    Accepted = 1,
    /// Dead letters, by their end.
    Dead = 2,
    /// What is over and no dead letter, by when it became so.
    Closed = 3,
    /// Deliveries as they were once kept: no moment, but a place.
    Unsorted = 4,
    /// Sessions that are over, by their end.
    Sessions = 5,
    /// Deliveries to be made, by their recipients.
    Delivery = 6,
}

/// A place in an order: earliest first, then by id.
pub(crate) fn at(order: Order, at_ms: i64, id: InvocationId) -> Vec<u8> {
    keys::at(order as u8, at_ms, id)
}

/// Where a moment begins in an order.
pub(crate) fn from(order: Order, at_ms: i64) -> Vec<u8> {
    keys::from(order as u8, at_ms)
}

/// The first key after an order.
pub(crate) fn end(order: Order) -> Vec<u8> {
    after_prefix(&[order as u8])
}

pub(crate) fn delivery(to: Recipient, id: InvocationId, index: u32) -> Vec<u8> {
    [&[Order::Delivery as u8], &to.0[..], id.bytes(), &index.to_be_bytes()].concat()
}

/// Where deliveries for a recipient are to be read from.
pub(crate) fn deliveries(to: Recipient, from: &Cursor) -> Vec<u8> {
    match from {
        Cursor::Start => [&[Order::Delivery as u8], &to.0[..]].concat(),
        Cursor::After(key) => [key.as_slice(), &[0]].concat(),
    }
}

/// The first key after all deliveries for a recipient.
pub(crate) fn after_deliveries(to: Recipient) -> Vec<u8> {
    after_prefix(&deliveries(to, &Cursor::Start))
}

pub(crate) fn recipient(key: &[u8]) -> Option<Recipient> {
    Some(Recipient(key.get(1..9)?.try_into().ok()?))
}

pub(crate) fn parse_delivery(key: &[u8]) -> Option<(InvocationId, u32)> {
    parse_place(key.get(9..)?)
}

pub(crate) fn parse_unsorted(key: &[u8]) -> Option<(InvocationId, u32)> {
    parse_place(key.get(1..)?)
}

fn parse_place(bytes: &[u8]) -> Option<(InvocationId, u32)> {
    let (id, index) = bytes.split_at_checked(16)?;
    Some((InvocationId::from_bytes(id)?, u32::from_be_bytes(index.try_into().ok()?)))
}

/// `Catalog`, in each shard: the owner of its invocations. Every commit expects to find itself there.
pub(crate) const OWNER: &[u8] = b"owner/invocations";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_what_they_name() {
        let id = InvocationId::drawn([3, 4]);
        let moments = [i64::MIN, -1, 0, 1, 1_700_000_000_000, i64::MAX];
        assert!(moments.map(|moment| at(Order::Due, moment, id)).is_sorted());
        assert!(at(Order::Due, i64::MAX, id) < end(Order::Due));
        assert!(end(Order::Due) <= at(Order::Accepted, i64::MIN, id));
    }

    #[test]
    fn keys_say_what_they_name() {
        let id = InvocationId::drawn([3, 4]);
        assert_eq!(parse_at(&at(Order::Closed, -5, id)), Some((-5, id)));
        let to = Recipient::named("function:f");
        let key = delivery(to, id, 7);
        assert_eq!((recipient(&key), parse_delivery(&key)), (Some(to), Some((id, 7))));
        assert!(deliveries(to, &Cursor::Start) < key && key < after_deliveries(to));
        assert_eq!((parse_at::<InvocationId>(b"short"), parse_delivery(b"short")), (None, None));
    }
}
