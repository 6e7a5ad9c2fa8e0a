//! How far the clock is trusted when old data is removed. A clock that jumps forward by months would make everything
//! look old; nothing brings back what is removed then.
//!
//! While the server runs, the monotonic clock says how much time has passed. For the time before, the store has a
//! moment that is written every hour.

use std::sync::Arc;
use std::time::{Duration, Instant};

use everstep_executions::{Clock, SystemClock};
use everstep_shards::RetentionLimit;
use everstep_store::{Batch, Shard, Space, Store};

use super::error::{Error, Result};
use super::frontend::Frontend;

const KEY: &[u8] = b"retention-clock";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Clocks may be corrected by this much.
const SLACK_MS: i64 = DAY_MS;
/// A server that was not running for longer than this, by its clock, waits for a day before it removes anything.
const ABSENCE_MS_MAX: i64 = 30 * DAY_MS;
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// In looks.
const WRITE_EVERY: u32 = 60;

/// What was known at the start.
#[derive(Debug, Clone, Copy)]
struct Start {
    now_ms: i64,
    /// The moment that the store had.
    last_ms: Option<i64>,
}

impl Start {
    /// Whether the clock was so far ahead of the store that it may be wrong.
    fn is_doubtful(self) -> bool {
        self.last_ms.is_some_and(|last_ms| self.now_ms.saturating_sub(last_ms) > ABSENCE_MS_MAX)
    }

    /// The latest moment that it can be, so long after the start.
    fn latest_ms(self, passed_ms: i64) -> i64 {
        let from_ms = match self.last_ms {
            Some(last_ms) if self.is_doubtful() && passed_ms < DAY_MS => last_ms,
            _ => self.now_ms.saturating_add(SLACK_MS),
        };
        from_ms.saturating_add(passed_ms)
    }
}

pub(super) struct ClockTrust {
    store: Arc<dyn Store>,
    limit: RetentionLimit,
    start: Start,
    started: Instant,
    frontend: Arc<dyn Frontend>,
}

impl ClockTrust {
    /// Limits removals from now on.
    pub(super) fn begin(store: Arc<dyn Store>, frontend: Arc<dyn Frontend>) -> Result<Self> {
        let row = store.get(Shard::CATALOG, Space::Catalog, KEY);
        let row = row.map_err(|error| Error::new(error.to_string()))?;
        let last_ms = row.and_then(|row| Some(i64::from_be_bytes(row.try_into().ok()?)));
        let start = Start { now_ms: SystemClock.now_ms(), last_ms };
        if start.is_doubtful() {
            frontend.write(
                "warning: the clock is more than 30 days later than when this server last ran; if that is right, \
                 old executions and invocations are removed from tomorrow on\n",
            );
        }
        let trust = Self {
            store,
            limit: RetentionLimit::default(),
            start,
            started: Instant::now(),
            frontend,
        };
        trust.limit.set(trust.latest_ms());
        Ok(trust)
    }

    pub(super) fn limit(&self) -> RetentionLimit {
        self.limit.clone()
    }

    fn latest_ms(&self) -> i64 {
        let passed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.start.latest_ms(passed)
    }

    /// Keeps the limit and the store up to date.
    pub(super) async fn follow(self) {
        let (mut looks, mut ahead) = (0, false);
        loop {
            let (now_ms, latest_ms) = (SystemClock.now_ms(), self.latest_ms());
            self.limit.set(latest_ms);
            if now_ms > latest_ms && !ahead && !self.start.is_doubtful() {
                let days = (now_ms - latest_ms) / DAY_MS + 1;
                self.frontend.write(&format!(
                    "warning: the clock has jumped forward by {days} days or more; nothing is removed for its age \
                     until the clock is right again or the server is restarted\n"
                ));
            }
            ahead = now_ms > latest_ms;
            if looks % WRITE_EVERY == 0 {
                self.write(now_ms.min(latest_ms)).await;
            }
            looks = looks.wrapping_add(1);
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// If it fails, the store has failed, and that is reported elsewhere.
    async fn write(&self, ms: i64) {
        let store = self.store.clone();
        let write = move || {
            let mut batch = Batch::new(Shard::CATALOG);
            batch.put(Space::Catalog, KEY.to_vec(), ms.to_be_bytes().to_vec());
            store.commit(batch, Box::new(|_| {}));
        };
        let _ = tokio::task::spawn_blocking(write).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(last_days: Option<i64>, now_days: i64, passed_ms: i64, expected_ms: i64) {
        let start =
            Start { now_ms: now_days * DAY_MS, last_ms: last_days.map(|days| days * DAY_MS) };
        assert_eq!(start.latest_ms(passed_ms), expected_ms, "{start:?} {passed_ms}");
    }

    #[test]
    fn the_clock_is_trusted_as_far_as_time_has_passed() {
        check(None, 100, 0, 101 * DAY_MS);
        check(None, 100, 5000, 101 * DAY_MS + 5000);
        check(Some(80), 100, 5000, 101 * DAY_MS + 5000);
        check(Some(200), 100, 5000, 101 * DAY_MS + 5000);
    }

    #[test]
    fn after_a_long_absence_it_is_trusted_a_day_later() {
        check(Some(60), 100, 0, 60 * DAY_MS);
        check(Some(60), 100, DAY_MS - 1, 61 * DAY_MS - 1);
        check(Some(60), 100, DAY_MS, 102 * DAY_MS);
    }
}
