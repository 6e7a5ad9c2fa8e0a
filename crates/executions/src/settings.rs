//! What can be set.

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Timers that are due within this time are held in memory, the others in the store alone.
    pub horizon_ms: i64,
    /// Executions that a shard holds in memory while they wait, at most.
    pub resident_max: usize,
    /// How long an execution is kept after its end; `None` for ever.
    pub retention_ms: Option<i64>,
    /// How often a shard looks for executions to remove.
    pub sweep_every_ms: i64,
    /// Requests that may wait for a shard's thread before others are refused.
    pub queue_max: usize,
    /// Threads that shards are spread over; 0 for as many as there are processors.
    pub workers: usize,
    /// What the draws of jitter, `States.UUID` and the like begin with; `None` to draw that too.
    pub seed: Option<u64>,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            horizon_ms: 10 * 60 * 1000,
            resident_max: 1024,
            retention_ms: Some(90 * DAY_MS),
            sweep_every_ms: 60 * 1000,
            queue_max: 10_000,
            workers: 0,
            seed: None,
        }
    }
}
