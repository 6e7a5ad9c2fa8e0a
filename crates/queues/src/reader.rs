//! What is stored of queues, read beside the shards: by any thread, without waiting for them.

use everstep_store::{Scan, Shard, Space, Store, after_prefix};

use crate::error::{Error, Result};
use crate::id::shard_of;
use crate::layout::{self, Order, Part};
use crate::message::{Message, State};
use crate::record::Record;

/// A queue as it is stored.
pub type Description = Record;

/// A message that was looked at and not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peeked {
    pub message: Message,
    pub sequence: u64,
    pub arrived_ms: i64,
    pub receives: u32,
    /// When it can be received, if it cannot yet.
    pub hidden_until_ms: Option<i64>,
}

pub(crate) fn find(store: &dyn Store, name: &str) -> Result<Option<Record>> {
    let shard = shard_of(name, store.shards());
    let row = store.get(shard, Space::Queues, &layout::queue(name))?;
    row.map(|row| Record::decode(&row)).transpose()
}

/// At most `limit` queues whose names begin with `prefix` and come after `after`, by name.
pub(crate) fn list(
    store: &dyn Store,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Record>> {
    let all = layout::queue(prefix);
    let to = after_prefix(&all);
    let next = after.map(|name| [layout::queue(name).as_slice(), &[0]].concat());
    let from = next.map_or_else(|| all.clone(), |next| next.max(all.clone()));
    debug_assert!(to <= layout::end(Part::Queue), "a prefix stays within its part");
    let mut found = Vec::new();
    for number in 0..store.shards() {
        let scan = Scan::between(&from, &to, limit);
        for (_, row) in store.scan(Shard(number), Space::Queues, scan)? {
            found.push(Record::decode(&row)?);
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found.truncate(limit);
    Ok(found)
}

/// The first messages of a queue: those that can be received, then those in flight, then those that are delayed.
pub(crate) fn peek(store: &dyn Store, name: &str, limit: usize) -> Result<Vec<Peeked>> {
    let shard = shard_of(name, store.shards());
    let record = find(store, name)?.ok_or_else(|| Error::NoSuchQueue(name.to_owned()))?;
    let mut peeked = Vec::new();
    for order in [Order::Ready, Order::InFlight, Order::Delayed] {
        let from = layout::in_order(order, record.messages);
        let to = after_prefix(&from);
        let scan = Scan::between(&from, &to, limit - peeked.len());
        for (key, row) in store.scan(shard, Space::QueueOrders, scan)? {
            peeked.extend(look(store, (shard, &record), order, &key, &row)?);
        }
        if peeked.len() >= limit {
            break;
        }
    }
    Ok(peeked)
}

fn look(
    store: &dyn Store,
    (shard, record): (Shard, &Record),
    order: Order,
    key: &[u8],
    row: &[u8],
) -> Result<Option<Peeked>> {
    let place = match order {
        Order::Ready => layout::parse_ready(key).map(|sequence| (None, sequence)),
        _ => layout::parse_at(key).map(|(at_ms, sequence)| (Some(at_ms), sequence)),
    };
    let unreadable = || Error::damaged("a key of an order of messages cannot be read");
    let (hidden_until_ms, sequence) = place.ok_or_else(unreadable)?;
    let State { arrived_ms, receives, .. } = State::decode(row)?;
    let key = layout::message(record.messages, sequence);
    // It may have been deleted since its place was read.
    let Some(row) = store.get(shard, Space::Queues, &key)? else { return Ok(None) };
    let message = Message::decode(&row)?;
    Ok(Some(Peeked { message, sequence, arrived_ms, receives, hidden_until_ms }))
}
