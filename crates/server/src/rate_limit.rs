//! Limits how often a warning about the same thing is written.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most one warning about a thing in this time.
const INTERVAL: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct RateLimit(Mutex<HashMap<String, Warned>>);

struct Warned {
    last: Instant,
    /// Warnings that were left out since.
    skipped: u64,
}

impl RateLimit {
    /// None if there was a warning about `subject` just now. Else what to add to the next one: ` (and 3 more)`,
    /// or nothing.
    pub(crate) fn admit(&self, subject: &str) -> Option<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = match all.get_mut(subject) {
            Some(warned) if warned.last.elapsed() < INTERVAL => {
                warned.skipped += 1;
                return None;
            }
            warned => warned.map_or(0, |warned| warned.skipped),
        };
        all.insert(subject.to_owned(), Warned { last: Instant::now(), skipped: 0 });
        Some(if skipped > 0 { format!(" (and {skipped} more)") } else { String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_warnings_are_counted_and_left_out() {
        let limit = RateLimit::default();
        assert_eq!(limit.admit("a").as_deref(), Some(""));
        assert_eq!(limit.admit("a"), None);
        assert_eq!(limit.admit("b").as_deref(), Some(""));
        let long_ago = Instant::now().checked_sub(INTERVAL).expect("the machine has run longer");
        limit.0.lock().expect("no holder panics").get_mut("a").expect("it is known").last =
            long_ago;
        assert_eq!(limit.admit("a").as_deref(), Some(" (and 1 more)"));
    }
}
