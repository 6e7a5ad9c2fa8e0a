//! What is stored of invocations, read beside the shards: by any thread, without waiting for them.

use everstep_store::{Scan, Shard, Space, Store};

use crate::error::{Error, Result};
use crate::id::InvocationId;
use crate::invocation::Invocation;
use crate::layout::{self, Order, Part};
use crate::session::Session;

/// Rows of a shard that are looked at for a page, at most: a page may be short and still not the last.
const LOOKED_AT: usize = 1000;

/// Which invocations are meant: all that agree with everything that is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// Dead letters only.
    pub dead: bool,
    pub function: Option<String>,
    /// A state's name.
    pub state: Option<String>,
    /// The error of the last attempt that failed.
    pub error: Option<String>,
    /// A reason's name.
    pub reason: Option<String>,
    /// The name of the source: the trigger.
    pub source: Option<String>,
    /// Accepted at this moment or later; for dead letters: ended.
    pub since_ms: Option<i64>,
    /// Only these, if there are any.
    pub ids: Vec<InvocationId>,
}

/// Some invocations, latest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub invocations: Vec<Invocation>,
    /// Where the next page begins, if there may be more.
    pub next: Option<Bookmark>,
}

/// The last place that was looked at, whatever has happened since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bookmark {
    pub at_ms: i64,
    pub id: InvocationId,
}

/// One invocation, with all that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub invocation: Invocation,
    pub payload: Vec<u8>,
    /// What the last attempt that ended has said.
    pub response: Option<Vec<u8>>,
}

impl Filter {
    fn admits(&self, invocation: &Invocation) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        let failure = invocation.attempts.last_failure();
        (!self.dead || invocation.dead)
            && same(&self.function, Some(&invocation.function))
            && same(&self.state, Some(invocation.state.name()))
            && same(&self.error, failure.map(|failure| failure.error_type.as_str()))
            && same(&self.reason, invocation.state.reason().map(|reason| reason.name()))
            && same(&self.source, Some(&invocation.source.name))
            && (self.ids.is_empty() || self.ids.contains(&invocation.id))
    }
}

pub(crate) fn show(store: &dyn Store, id: InvocationId) -> Result<Option<Shown>> {
    let shard = id.shard(store.shards());
    let get = |part| store.get(shard, Space::Invocations, &layout::part(id, part));
    let Some(record) = get(Part::Record)? else { return Ok(None) };
    let invocation = Invocation::decode(&record)?;
    Ok(Some(Shown {
        invocation,
        payload: get(Part::Payload)?.unwrap_or_default(),
        response: get(Part::Response)?,
    }))
}

pub(crate) fn session(store: &dyn Store, id: InvocationId) -> Result<Option<Session>> {
    let shard = id.shard(store.shards());
    let row = store.get(shard, Space::Invocations, &layout::part(id, Part::Session))?;
    row.map(|row| Session::decode(&row)).transpose()
}

/// A page of at most `limit` invocations after `after`.
pub(crate) fn list(
    store: &dyn Store,
    filter: &Filter,
    after: Option<Bookmark>,
    limit: usize,
) -> Result<Page> {
    let order = if filter.dead { Order::Dead } else { Order::Accepted };
    let (mut places, mut complete_to) = (Vec::new(), None);
    for number in 0..store.shards() {
        let found = look(store, Shard(number), order, filter.since_ms, after)?;
        // Nothing is shown from beyond the place that one of the shards was read to.
        if found.len() == LOOKED_AT {
            complete_to = complete_to.max(found.last().copied());
        }
        places.extend(found);
    }
    places.retain(|place| complete_to.is_none_or(|to| *place >= to));
    places.sort_unstable_by(|a, b| b.cmp(a));
    let mut page = Page { invocations: Vec::new(), next: complete_to };
    for place in places {
        if page.invocations.len() == limit {
            return Ok(page);
        }
        let key = layout::part(place.id, Part::Record);
        let row = store.get(place.id.shard(store.shards()), Space::Invocations, &key)?;
        let invocation = row.map(|row| Invocation::decode(&row)).transpose()?;
        page.invocations.extend(invocation.filter(|invocation| filter.admits(invocation)));
        if page.invocations.len() == limit {
            page.next = Some(place);
        }
    }
    Ok(page)
}

/// Places in the order of a shard, latest first.
fn look(
    store: &dyn Store,
    shard: Shard,
    order: Order,
    since_ms: Option<i64>,
    after: Option<Bookmark>,
) -> Result<Vec<Bookmark>> {
    let from = layout::from(order, since_ms.unwrap_or(i64::MIN));
    let to = after.map_or_else(|| layout::end(order), |at| layout::at(order, at.at_ms, at.id));
    let scan = Scan::between(&from, &to, LOOKED_AT).reversed();
    let rows = store.scan(shard, Space::InvocationOrders, scan)?;
    let place = |(key, _): &(Vec<u8>, Vec<u8>)| {
        let (at_ms, id) = layout::parse_at(key)?;
        Some(Bookmark { at_ms, id })
    };
    let places: Option<Vec<Bookmark>> = rows.iter().map(place).collect();
    places.ok_or_else(|| Error::damaged("a key of a list of invocations cannot be read"))
}
