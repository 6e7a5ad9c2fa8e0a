//! Whether all that is stored of invocations can be read, and belongs together.

use everstep_shards::{Damage, Damaged, visit_rows};
use everstep_store::{Shard, Space, Store};

use crate::id::InvocationId;
use crate::invocation::Invocation;
use crate::layout::{self, Order, Part};
use crate::session::Session;

/// What was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    pub invocations: u64,
    pub sessions: u64,
    /// Rows of lists, of what is due and of what is to be delivered.
    pub entries: u64,
}

/// Reads all invocations of a store, and looks whether every row belongs to one.
pub fn verify(store: &dyn Store, damaged: Damaged<'_>) -> Verified {
    let mut verified = Verified::default();
    for number in 0..store.shards() {
        records(store, Shard(number), &mut verified, damaged);
        verified.entries += entries(store, Shard(number), damaged);
    }
    verified
}

fn records(store: &dyn Store, shard: Shard, verified: &mut Verified, damaged: Damaged<'_>) {
    let place = (shard, Space::Invocations);
    visit_rows(store, place, damaged, &mut |(key, row), damaged| {
        let id = key.get(..16).and_then(InvocationId::from_bytes);
        let wrong = match (id, key.get(16..)) {
            (Some(id), Some([part])) if *part == Part::Record as u8 => {
                verified.invocations += 1;
                match Invocation::decode(&row) {
                    Ok(invocation) if invocation.id == id => None,
                    Ok(_) => Some("its record is that of another invocation".to_owned()),
                    Err(error) => Some(error.to_string()),
                }
            }
            (Some(_), Some([part])) if *part == Part::Session as u8 => {
                verified.sessions += 1;
                Session::decode(&row).err().map(|error| error.to_string())
            }
            (Some(id), Some([_])) if has(store, id, Part::Record) => None,
            (Some(_), Some([_])) => Some("its event or answer belongs to no record".to_owned()),
            _ => return damaged(Damage::of_row(place, &key, "its key cannot be read")),
        };
        if let (Some(id), Some(what)) = (id, wrong) {
            damaged(Damage::new(format!("invocation {id}"), what));
        }
    });
}

fn entries(store: &dyn Store, shard: Shard, damaged: Damaged<'_>) -> u64 {
    let place = (shard, Space::InvocationOrders);
    visit_rows(store, place, damaged, &mut |(key, _), damaged| {
        let order = key.first().copied().unwrap_or(u8::MAX);
        let id = match order {
            _ if order == Order::Delivery as u8 => layout::parse_delivery(&key).map(|(id, _)| id),
            _ if order == Order::Unsorted as u8 => layout::parse_unsorted(&key).map(|(id, _)| id),
            _ => layout::parse_at(&key).map(|(_, id)| id),
        };
        let part = if order == Order::Sessions as u8 { Part::Session } else { Part::Record };
        let what = match id {
            None => "its key cannot be read",
            Some(id) if has(store, id, part) => return,
            Some(_) => "it belongs to no invocation",
        };
        damaged(Damage::of_row(place, &key, what));
    })
}

fn has(store: &dyn Store, id: InvocationId, part: Part) -> bool {
    let shard = id.shard(store.shards());
    store.get(shard, Space::Invocations, &layout::part(id, part)).is_ok_and(|row| row.is_some())
}
