//! Retry schedules that the machine's own timeout cuts short.

use super::Report;
use crate::model::Machine;
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    let Some(timeout) = machine.timeout_seconds else { return };
    machine.each_state(&mut |state, _, place| {
        for (index, retrier) in state.retry().iter().enumerate() {
            let total = retrier.total_delay_seconds();
            // At most 99,999,999.
            if total > timeout as f64 {
                report(
                    Diagnostic::new(
                        Rule::RetryOutlastsTimeout,
                        retrier.span,
                        place.field("Retry").index(index),
                        format!(
                            "the waits of this retrier add up to {total:.0} s, but the machine ends after {timeout} s"
                        ),
                    )
                    .hint("lower MaxAttempts, cap the waits by MaxDelaySeconds, or raise the machine's TimeoutSeconds"),
                );
            }
        }
    });
}
