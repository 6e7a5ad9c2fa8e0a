//! What can be set for every engine.

use std::sync::Arc;

use crate::clock::entropy;
use crate::in_flight::{InFlight, NoNotes};
use crate::retention::RetentionLimit;

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Timers that are due within this time are held in memory, all others in the store alone.
    pub horizon_ms: i64,
    /// How often a shard looks for what to remove.
    pub sweep_every_ms: i64,
    /// Requests that may wait for a shard's thread before others are refused.
    pub queue_max: usize,
    /// Deliveries to one destination that a shard has under way or waits to retry; others wait in the store.
    pub deliveries_max: usize,
    /// Threads that shards are spread over; 0 for as many as there are processors.
    pub workers: usize,
    /// What ids, jitter and the like are drawn from; `None` to draw that too.
    pub seed: Option<u64>,
    /// How far the clock is trusted when what is old is removed.
    pub retention_limit: RetentionLimit,
    /// Where threads note what they work on.
    pub in_flight: Arc<dyn InFlight>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            horizon_ms: 10 * 60 * 1000,
            sweep_every_ms: 60 * 1000,
            queue_max: 10_000,
            deliveries_max: 100,
            workers: 0,
            seed: None,
            retention_limit: RetentionLimit::default(),
            in_flight: Arc::new(NoNotes),
        }
    }
}

impl Settings {
    /// The seed that is set, or one that no other process has.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(entropy)
    }
}
