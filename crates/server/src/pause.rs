//! Lets a driver pause.

use std::time::Duration;

use everstep_executions::Clock;

/// Waits until a driver is due; what time it is then, and never earlier than that, even if the clock is set back.
pub(crate) async fn until(due_ms: i64, clock: &dyn Clock) -> i64 {
    let wait_ms = u64::try_from(due_ms.saturating_sub(clock.now_ms())).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    clock.now_ms().max(due_ms)
}
