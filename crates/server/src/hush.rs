//! What is said of the same thing again and again is said now and then.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a thing is spoken of.
const SAID_EVERY: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Hush(Mutex<HashMap<String, Said>>);

/// When a thing was last spoken of, and how often it was not since.
struct Said {
    at: Instant,
    unsaid: u64,
}

impl Hush {
    /// Nothing if a thing was spoken of just now. Else what to add: ` (and 3 more)`, or nothing.
    pub(crate) fn others(&self, of: &str) -> Option<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unsaid = match all.get_mut(of) {
            Some(said) if said.at.elapsed() < SAID_EVERY => {
                said.unsaid += 1;
                return None;
            }
            said => said.map_or(0, |said| said.unsaid),
        };
        all.insert(of.to_owned(), Said { at: Instant::now(), unsaid: 0 });
        Some(if unsaid > 0 { format!(" (and {unsaid} more)") } else { String::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_spoken_of_now_and_then() {
        let hush = Hush::default();
        assert_eq!(hush.others("a").as_deref(), Some(""));
        assert_eq!(hush.others("a"), None);
        assert_eq!(hush.others("b").as_deref(), Some(""));
        let long_ago =
            Instant::now().checked_sub(SAID_EVERY).expect("the machine has run for longer");
        hush.0.lock().expect("no holder panics").get_mut("a").expect("it was said").at = long_ago;
        assert_eq!(hush.others("a").as_deref(), Some(" (and 1 more)"));
    }
}
