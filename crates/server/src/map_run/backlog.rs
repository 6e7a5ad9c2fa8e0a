//! The outputs of children that have ended and that the driver of their run has not seen yet.
//!
//! Children end on the threads of the engine, which do not wait for the driver. If more output waits than the parent can
//! take, the run is going to fail by that whatever else comes, so what comes then arrives without its output.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use everstep_drivers::map_run::Outcome;
use everstep_interpreter::Payload;

#[derive(Clone)]
pub(super) struct Backlog {
    bytes_max: usize,
    bytes: Arc<AtomicUsize>,
}

impl Backlog {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: Arc::default() }
    }

    /// The outcome as it may wait.
    pub(super) fn add(&self, outcome: Outcome) -> Outcome {
        let bytes = size(&outcome);
        if self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.bytes_max {
            return outcome;
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        Outcome { output: None, ..outcome }
    }

    /// The driver takes an outcome that has been added.
    pub(super) fn take(&self, outcome: &Outcome) {
        self.bytes.fetch_sub(size(outcome), Ordering::Relaxed);
    }
}

fn size(outcome: &Outcome) -> usize {
    outcome.output.as_ref().map_or(0, Payload::size)
}

#[cfg(test)]
mod tests {
    use everstep_interpreter::Status;
    use serde_json::json;

    use super::*;

    fn outcome() -> Outcome {
        Outcome::of(Status::Succeeded { output: Payload::new(json!("abc")) })
    }

    #[test]
    fn outputs_wait_up_to_a_bound() {
        let backlog = Backlog::new(10);
        let (first, second) = (backlog.add(outcome()), backlog.add(outcome()));
        assert_eq!((&first, &second), (&outcome(), &outcome()));
        let third = backlog.add(outcome());
        assert_eq!(third, Outcome { output: None, ..outcome() });
        backlog.take(&third);
        assert_eq!(backlog.add(outcome()).output, None, "the first two still wait");
        backlog.take(&first);
        assert_eq!(backlog.add(outcome()), outcome());
    }
}
