//! The service's limits, each of which can be lifted.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a payload's JSON text.
    pub payload_bytes: usize,
    /// Events of the history, the last one included; none for EXPRESS workflows.
    pub history_events: Option<u32>,
    /// Iterations of an inline Map that run at a time if the definition sets no limit.
    pub inline_concurrency: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload_bytes: 262_144, history_events: Some(25_000), inline_concurrency: 40 }
    }
}
