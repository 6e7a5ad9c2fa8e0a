//! Records what is decided, as far as the history has room.

use everstep_asl::error_name;
use everstep_history::{Event, Failure};

use super::Decider;
use crate::execution::is_visible;

/// Events of one decision at most: a loop that never waits must end even where the history has no
/// limit.
const EVENTS_MAX: usize = 1_000_000;

impl Decider<'_> {
    /// Records an event and applies it, unless the history is full.
    pub(crate) fn emit(&mut self, event: Event) {
        let last = matches!(
            event,
            Event::ExecutionSucceeded { .. }
                | Event::ExecutionFailed { .. }
                | Event::ExecutionTimedOut { .. }
                | Event::ExecutionAborted { .. }
        );
        let no_room = is_visible(&event) && !self.execution.has_room();
        if !last && (no_room || self.events.len() >= EVENTS_MAX) {
            self.full = true;
        }
        if last || !self.full {
            self.execution.apply(&event);
            self.events.push(event);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// The last event there is room for says why there is no other.
    pub(super) fn close_full_history(&mut self) {
        if self.full && self.is_running() {
            let cause = match self.execution.program.limits.history_events {
                Some(limit) if self.events.len() < EVENTS_MAX => {
                    format!("The execution reached the maximum number of history events ({limit}).")
                }
                _ => {
                    format!("The execution made {EVENTS_MAX} events without waiting for anything.")
                }
            };
            let failure = Failure::new(error_name::RUNTIME, cause);
            self.emit(Event::ExecutionFailed { at_ms: self.now_ms, failure });
        }
    }
}
