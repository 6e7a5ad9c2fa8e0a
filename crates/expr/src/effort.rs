//! How long the expressions of one state may take together.
//!
//! Each expression has limits of its own. A state may have thousands of them, so whoever evaluates one where others
//! wait brings a stopwatch.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use crate::EvalError;

/// Milliseconds since some moment.
pub type Stopwatch = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Milliseconds that the expressions of one state may take together; a single one has no more.
pub(crate) const TIME_MS_MAX: u64 = 2_000;

/// What is left of the time of one state. Without a stopwatch only the limits of each expression hold.
#[derive(Default)]
pub struct Effort {
    stopwatch: Option<Stopwatch>,
    began_ms: Cell<u64>,
}

impl Effort {
    #[must_use]
    pub fn timed(stopwatch: Stopwatch) -> Self {
        let began_ms = Cell::new(stopwatch());
        Self { stopwatch: Some(stopwatch), began_ms }
    }

    /// The next state has its time before it.
    pub fn begin(&self) {
        if let Some(stopwatch) = &self.stopwatch {
            self.began_ms.set(stopwatch());
        }
    }

    pub(crate) fn ms_left(&self) -> u64 {
        let taken = |stopwatch: &Stopwatch| stopwatch().saturating_sub(self.began_ms.get());
        TIME_MS_MAX.saturating_sub(self.stopwatch.as_ref().map_or(0, taken))
    }

    /// Fails if there is no time left.
    pub(crate) fn check(&self) -> Result<(), EvalError> {
        if self.ms_left() > 0 { Ok(()) } else { Err(time_exceeded()) }
    }
}

impl fmt::Debug for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Effort({} ms left)", self.ms_left())
    }
}

pub(crate) fn time_exceeded() -> EvalError {
    EvalError::Limit { message: "Expression evaluation time limit exceeded".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_time_is_that_of_all_expressions_of_a_state() {
        let now = Arc::new(AtomicU64::new(5));
        let read = now.clone();
        let effort = Effort::timed(Arc::new(move || read.load(Ordering::Relaxed)));
        now.store(1_005, Ordering::Relaxed);
        assert_eq!((effort.ms_left(), effort.check()), (1_000, Ok(())));
        now.store(9_000, Ordering::Relaxed);
        assert_eq!((effort.ms_left(), effort.check()), (0, Err(time_exceeded())));
        effort.begin();
        assert_eq!(effort.ms_left(), TIME_MS_MAX);
        assert_eq!(Effort::default().ms_left(), TIME_MS_MAX);
    }
}
