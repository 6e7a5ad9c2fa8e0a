//! How late it may be when what is old is removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The latest moment that counts as now for removals. A clock that jumps forward by months must not delete what was
/// to be kept for months; whoever runs the engine says how far its clock can be trusted. Without that, it is.
#[derive(Debug, Clone)]
pub struct RetentionLimit(Arc<AtomicI64>);

impl RetentionLimit {
    pub fn set(&self, latest_ms: i64) {
        self.0.store(latest_ms, Ordering::Relaxed);
    }

    /// What counts as now.
    #[must_use]
    pub fn now_ms(&self, now_ms: i64) -> i64 {
        now_ms.min(self.0.load(Ordering::Relaxed))
    }
}

impl Default for RetentionLimit {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }
}
