//! Histories of executions, read from where a page begins: places on the way are kept, so that nothing before the page
//! is read again.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_executions::{ExecutionId, Reader, Result, Summary};
use everstep_interpreter::aws_history::Projection;
use serde_json::Value;

use crate::byte_cache::ByteCache;

/// What all places may take in memory.
const CACHE_BYTES: usize = 32 << 20;
/// What those of one execution may take.
const PLACES_BYTES_MAX: usize = 8 << 20;
/// Events between two places, at first.
const EVENTS_BETWEEN: u32 = 500;

pub(crate) struct Histories {
    reader: Reader,
    kept: Mutex<ByteCache<Key, Arc<Mutex<Places>>>>,
}

/// Names are used again after an execution has been removed.
type Key = (ExecutionId, i64);

/// Between two steps, in order.
struct Places {
    places: Vec<Place>,
    bytes: usize,
    events_between: u32,
}

#[derive(Clone)]
struct Place {
    /// The step that follows.
    step: u32,
    projection: Projection,
}

impl Histories {
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, kept: Mutex::new(ByteCache::new(CACHE_BYTES)) }
    }

    /// Visits the events of an execution in order, until `visit` breaks off. It may leave out those before the event
    /// `from`, but some of them are visited too. Reads the store.
    pub(crate) fn each_from(
        &self,
        summary: &Summary,
        from: u32,
        mut visit: impl FnMut(Value) -> ControlFlow<()>,
    ) -> Result<()> {
        let key = (summary.id(), summary.started_ms);
        let kept = self.lock().get(&key);
        let kept = kept.unwrap_or_else(|| Arc::new(Mutex::new(Places::new())));
        let place = match held(&kept).before(from) {
            Some(place) => place.clone(),
            None => Place { step: 0, projection: self.begin(summary)? },
        };
        let Place { step, mut projection } = place;
        self.reader.each_step_from(summary, step, |number, events| {
            let shown: Vec<Value> =
                events.iter().filter_map(|event| projection.take(event)).collect();
            held(&kept).pass(number + 1, &projection);
            shown.into_iter().try_for_each(&mut visit)
        })?;
        let bytes = held(&kept).bytes;
        self.lock().put(&key, kept, bytes);
        Ok(())
    }

    /// The id of the last event.
    pub(crate) fn last(&self, summary: &Summary) -> Result<u32> {
        if let Some(shown) = summary.shown_events {
            return Ok(shown);
        }
        let mut last = 0;
        self.each_from(summary, u32::MAX, |event| {
            last = id(&event);
            ControlFlow::Continue(())
        })?;
        Ok(last)
    }

    fn begin(&self, summary: &Summary) -> Result<Projection> {
        let prepared = self.reader.prepared(summary)?;
        Ok(Projection::new(&prepared.program, &prepared.identity(&summary.arn)))
    }

    fn lock(&self) -> MutexGuard<'_, ByteCache<Key, Arc<Mutex<Places>>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn held(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The id of an event.
pub(crate) fn id(event: &Value) -> u32 {
    event["id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or(0)
}

impl Places {
    fn new() -> Self {
        Self { places: Vec::new(), bytes: 0, events_between: EVENTS_BETWEEN }
    }

    /// The last place before an event.
    fn before(&self, event: u32) -> Option<&Place> {
        self.places.iter().rev().find(|place| place.projection.shown_events() < event)
    }

    /// Keeps a place that is far enough from the last one. If all together are too large, every other one is dropped.
    fn pass(&mut self, step: u32, projection: &Projection) {
        let last = self.places.last().map_or(0, |place| place.projection.shown_events());
        if projection.shown_events() < last.saturating_add(self.events_between) {
            return;
        }
        self.bytes += projection.bytes();
        self.places.push(Place { step, projection: projection.clone() });
        while self.bytes > PLACES_BYTES_MAX {
            self.events_between = self.events_between.saturating_mul(2);
            let mut at = 0;
            self.places.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.bytes = self.places.iter().map(|place| place.projection.bytes()).sum();
        }
    }
}
