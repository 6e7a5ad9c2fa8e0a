//! What can be set.

/// Each bound says what it guards.
#[derive(Debug, Clone)]
pub struct Settings {
    pub shards: everstep_shards::Settings,
    /// Executions that a shard holds in memory while they wait, at most.
    pub resident_max: usize,
    /// How long an execution is kept after its end; `None` for ever.
    pub retention_ms: Option<i64>,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            shards: everstep_shards::Settings::default(),
            resident_max: 1024,
            retention_ms: Some(90 * DAY_MS),
        }
    }
}
