//! Records what is decided, as far as the history has room.

use everstep_asl::error_name;
use everstep_history::{Event, Failure};

use super::Decider;
use crate::execution::is_shown;

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
        let no_room = is_shown(&event) && !self.execution.has_room();
        if !last && (no_room || self.events.len() >= EVENTS_MAX) {
            self.full = true;
        }
        if last || !self.full {
            self.execution.apply(&event);
            self.bytes = self.bytes.saturating_add(payload_bytes(&event));
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

/// Bytes of the payloads that an event brings; what it shares with the one before is not counted.
fn payload_bytes(event: &Event) -> usize {
    match event {
        Event::ExecutionStarted { input: payload, .. }
        | Event::TaskScheduled { parameters: payload, .. }
        | Event::TaskSubmitted { output: payload, .. }
        | Event::TaskSucceeded { output: payload, .. }
        | Event::ParallelStarted { input: payload, .. }
        | Event::MapStarted { items: payload, .. }
        | Event::IterationStarted { input: payload, .. }
        | Event::MapInputsSelected { inputs: payload, .. }
        | Event::MapRunStarted { inputs: payload, .. }
        | Event::MapRunSucceeded { output: payload, .. } => payload.weight(),
        Event::StateExited { output, assigned, .. } => {
            output.weight() + assigned.iter().map(|(_, value)| value.weight()).sum::<usize>()
        }
        _ => 0,
    }
}
