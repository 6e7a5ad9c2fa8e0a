//! Lambda tasks that give up on transient errors of the service.

use super::Report;
use crate::Dialect;
use crate::handling::{self, Raised};
use crate::model::{Kind, Machine};
use crate::rule::Rule;
use everstep_source::Diagnostic;

/// What AWS recommends to retry on every Lambda task.
const TRANSIENT: &[&str] = &[
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
];

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        let Kind::Task(task) = &state.kind else { return };
        let retried = |error: &str| {
            handling::retrier(state, Raised::named(error), Dialect::default()).is_some()
        };
        let missing: Vec<&str> =
            TRANSIENT.iter().copied().filter(|error| !retried(error)).collect();
        if task.resource.is_lambda() && !missing.is_empty() {
            report(
                Diagnostic::new(
                    Rule::LambdaErrorsNotRetried,
                    state.name_span,
                    place.clone(),
                    format!("`{}` does not retry {}", state.name, missing.join(", ")),
                )
                .hint("these pass by themselves: a retrier with a few attempts rides them out"),
            );
        }
    });
}
