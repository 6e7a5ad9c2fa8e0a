//! What can be set.

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    pub shards: everstep_shards::Settings,
    /// How long an invocation is kept after its end, and so how long its key is remembered.
    pub retention_ms: i64,
    /// How long a dead letter is kept; `None` until it is redriven or purged.
    pub dead_letter_retention_ms: Option<i64>,
    /// Callers that may wait for the end of a shard's invocations.
    pub watchers_max: usize,
    /// Invocations of one function that may wait for a free slot before new ones are refused.
    pub backlog_max: usize,
    /// Calls of one function that may wait for a slot without being written down.
    pub calls_max: usize,
    /// The largest event, and the largest answer, in bytes.
    pub payload_bytes_max: usize,
    /// How many destinations may follow from each other before the next is parked.
    pub depth_max: u32,
    /// How many `next` edges may follow from each other before the next step is parked, and how many steps
    /// a session may have before it fails.
    pub session_steps_max: u32,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            shards: everstep_shards::Settings::default(),
            retention_ms: 7 * DAY_MS,
            dead_letter_retention_ms: None,
            watchers_max: 10_000,
            backlog_max: 100_000,
            calls_max: 1000,
            payload_bytes_max: 6 * 1024 * 1024,
            depth_max: everstep_shards::DEPTH_MAX,
            session_steps_max: 1000,
        }
    }
}
