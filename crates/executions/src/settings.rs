//! What can be set.

use everstep_interpreter::TokenKey;

use crate::shard::load::STEPS_AT_A_TIME;

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    pub shards: everstep_shards::Settings,
    /// Executions that a shard holds in memory while they wait, at most.
    pub resident_max: usize,
    /// Bytes of data that a shard holds in memory for executions that wait, at most.
    pub resident_bytes: usize,
    /// Bytes of data of EXPRESS executions with which a shard takes no other.
    pub express_bytes: usize,
    /// When an execution that need not wait gives way to others.
    pub turn_events: usize,
    pub turn_bytes: usize,
    /// An execution with more data than this does not decide on the thread of its shard.
    pub heavy_bytes: usize,
    /// An execution with more steps than this is not read on the thread of its shard.
    pub steps_at_a_time: usize,
    /// How long an execution is kept after its end; `None` for ever.
    pub retention_ms: Option<i64>,
    /// What task tokens are made with.
    pub token_key: TokenKey,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            shards: everstep_shards::Settings::default(),
            resident_max: 1024,
            resident_bytes: 32 << 20,
            express_bytes: 256 << 20,
            turn_events: 256,
            turn_bytes: 256 << 10,
            heavy_bytes: 1 << 20,
            steps_at_a_time: STEPS_AT_A_TIME,
            retention_ms: Some(90 * DAY_MS),
            token_key: TokenKey::default(),
        }
    }
}
