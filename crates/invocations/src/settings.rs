//! What can be set.

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is due within this time is held in memory (24 bytes each), all else in the store alone.
    pub horizon_ms: i64,
    /// How long an invocation is kept after its end, and so how long its key is remembered.
    pub retention_ms: i64,
    /// How long a dead letter is kept; `None` until somebody redrives or purges it.
    pub dead_letter_retention_ms: Option<i64>,
    /// How often a shard looks for what to remove.
    pub sweep_every_ms: i64,
    /// Requests that may wait for a shard's thread before others are refused, and callers that may wait for
    /// the end of a shard's invocations.
    pub queue_max: usize,
    /// Invocations of one function that may wait for a free slot before new ones are refused.
    pub backlog_max: usize,
    /// Calls of one function that may wait for a slot without being written down.
    pub calls_max: usize,
    /// Deliveries to one addressee that a shard has under way or waits to repeat; others wait in the store.
    pub deliveries_max: usize,
    /// The largest event, and the largest answer, in bytes.
    pub payload_bytes_max: usize,
    /// How many destinations may follow from each other before the next is parked.
    pub depth_max: u32,
    /// How many `next` edges may follow from each other before the next step is parked, and how many steps
    /// a session may have before it fails.
    pub session_steps_max: u32,
    /// Threads that shards are spread over; 0 for as many as there are processors.
    pub workers: usize,
    /// What ids and jitter are drawn from; `None` to draw that too.
    pub seed: Option<u64>,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            horizon_ms: 10 * 60 * 1000,
            retention_ms: 7 * DAY_MS,
            dead_letter_retention_ms: None,
            sweep_every_ms: 60 * 1000,
            queue_max: 10_000,
            backlog_max: 100_000,
            calls_max: 1000,
            deliveries_max: 100,
            payload_bytes_max: 6 * 1024 * 1024,
            depth_max: 16,
            session_steps_max: 1000,
            workers: 0,
            seed: None,
        }
    }
}
