//! What time does to messages: they become visible again, and they are removed when they have been kept long enough.

use super::Shard;
use super::move_out::{Leaving, Reason};
use super::receive::is_spent;
use crate::after_commit::AfterCommit;
use crate::queue::{Queue, Step};

/// Messages that one commit is about.
const AT_A_TIME: usize = 256;

impl Shard {
    /// Messages whose receivers did not delete them in time.
    pub(super) fn land_due(&mut self, queue: &mut Queue, now_ms: i64) {
        let mut step = self.step(now_ms);
        let mut after = Vec::new();
        for _ in 0..AT_A_TIME {
            match queue.flights.next() {
                Some((deadline_ms, sequence)) if deadline_ms <= now_ms => {
                    self.land(queue, &mut step, sequence, &mut after);
                }
                _ => break,
            }
        }
        self.commit(queue, step, after);
    }

    /// A message is not hidden any more: it can be received again, or was received as often as it may be.
    pub(super) fn land(
        &mut self,
        queue: &mut Queue,
        step: &mut Step,
        sequence: u64,
        after: &mut Vec<AfterCommit>,
    ) {
        let Some(flight) = queue.remove_flight(step, sequence) else { return };
        let state = flight.state;
        if self.is_expired(queue, &state, step.now_ms) {
            queue.remove_message(step, sequence);
        } else if is_spent(queue, &state)
            && let Some(message) = self.readable(queue, sequence)
        {
            let leaving = Leaving { sequence, message, state: &state, reason: Reason::Received };
            self.move_out(queue, step, leaving, after);
        } else {
            queue.add_ready(step, sequence, state);
        }
    }

    /// Removes messages that have been kept long enough: the oldest are the first in line.
    pub(super) fn expire(&mut self, queue: &mut Queue, now_ms: i64) {
        if now_ms < queue.expire_ms {
            return;
        }
        let mut step = self.step(now_ms);
        for _ in 0..AT_A_TIME {
            match queue.line.first() {
                Some((sequence, state)) if self.is_expired(queue, &state, now_ms) => {
                    queue.remove_ready(&mut step, sequence);
                    queue.remove_message(&mut step, sequence);
                }
                Some((_, state)) if queue.is_expired(&state, now_ms) => {
                    // The clock is not trusted so far.
                    let pause_ms = self.shared.settings.shards.sweep_every_ms;
                    queue.expire_ms = now_ms.saturating_add(pause_ms);
                    break;
                }
                _ => break,
            }
        }
        self.commit(queue, step, Vec::new());
    }
}
