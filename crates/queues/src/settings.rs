//! What can be set.

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    pub shards: everstep_shards::Settings,
    /// Messages of a queue that are in memory because they can be received next. Others are rows.
    pub ready_max: usize,
    /// The same of a FIFO queue: groups whose first message is further back are not looked at.
    pub fifo_ready_max: usize,
    /// Messages of a queue that may be in flight.
    pub in_flight_max: usize,
    /// Receives that may wait for messages of one queue.
    pub waiters_max: usize,
    /// Queues of a shard.
    pub queues_max: usize,
    /// How long a deduplication id is remembered.
    pub seen_ms: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            shards: everstep_shards::Settings::default(),
            ready_max: 1000,
            fifo_ready_max: 20_000,
            in_flight_max: 120_000,
            waiters_max: 1000,
            queues_max: 10_000,
            seen_ms: 5 * 60 * 1000,
        }
    }
}
