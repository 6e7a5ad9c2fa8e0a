//! How fast executions that need not wait may fill the disk, all together.
//!
//! One commit serves everybody, so whoever writes much makes everybody wait. What others wait for goes first;
//! executions that go on and on without waiting share what is left.

use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes that they may write in a millisecond, about 16 MiB in a second.
const BYTES_PER_MS: usize = 16 << 10;
/// No turn is put off for longer, whatever the clock says.
const PAUSE_MS_MAX: i64 = 2_000;

/// The moment from which there is room again.
#[derive(Debug)]
pub(crate) struct Pace(AtomicI64);

impl Default for Pace {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Pace {
    /// When the next turn of an execution may be that has written so many bytes.
    pub(crate) fn after(&self, bytes: usize, now_ms: i64) -> i64 {
        let share_ms = i64::try_from(bytes / BYTES_PER_MS).unwrap_or(i64::MAX);
        let next = |free_ms: i64| {
            let from = free_ms.clamp(now_ms, now_ms.saturating_add(PAUSE_MS_MAX));
            from.saturating_add(share_ms)
        };
        let update = |free_ms| Some(next(free_ms));
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        next(before.unwrap_or_else(|free_ms| free_ms)).min(now_ms.saturating_add(PAUSE_MS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_share_the_room() {
        let pace = Pace::default();
        assert_eq!(pace.after(100, 5), 5, "little takes no time");
        assert_eq!(pace.after(BYTES_PER_MS * 10, 5), 15);
        assert_eq!(pace.after(BYTES_PER_MS * 10, 5), 25, "after the first");
        assert_eq!(pace.after(BYTES_PER_MS * 10, 100), 110, "what is not used is gone");
        assert_eq!(pace.after(usize::MAX, 100), 100 + PAUSE_MS_MAX);
        assert_eq!(pace.after(0, 50), 50 + PAUSE_MS_MAX, "also if the clock was set back");
    }
}
