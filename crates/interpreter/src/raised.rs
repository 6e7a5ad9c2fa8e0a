//! A failure on its way through the retriers and catchers of a state and of those around it.

use std::sync::Arc;

use everstep_asl::error_name;
use everstep_asl::handling::{Origin, Raised};
use everstep_asl::model::{Resource, Retrier};
use everstep_expr::Entropy;
use everstep_history::Failure;
use serde_json::{Value, json};

use crate::Dialect;

pub(crate) struct RaisedFailure {
    pub(crate) failure: Failure,
    pub(crate) origin: Origin,
    /// What a catcher's output has in place of a missing error or cause.
    pub(crate) missing_text: Value,
}

impl RaisedFailure {
    pub(crate) fn new(failure: Failure, origin: Origin) -> Self {
        Self { failure, origin, missing_text: json!("") }
    }

    /// A failure that is matched by its name alone.
    pub(crate) fn named(failure: Failure) -> Self {
        Self::new(failure, Origin::Named)
    }

    /// What a task reported.
    pub(crate) fn of_task(failure: Failure, resource: &Resource, dialect: Dialect) -> Self {
        let origin = Origin::of_task(failure.name(), resource);
        let failure = match origin {
            Origin::Crash(crash) => crashed(crash, dialect, failure),
            _ => failure,
        };
        Self { failure, origin, missing_text: dialect.missing_text_of_task() }
    }

    pub(crate) fn raised(&self) -> Raised<'_> {
        Raised { name: self.failure.name(), origin: self.origin }
    }

    pub(crate) fn is_fatal(&self) -> bool {
        self.raised().is_fatal()
    }

    /// As the state around sees it.
    pub(crate) fn outside(self) -> Self {
        let origin = self.raised().outside().origin;
        Self { origin, ..self }
    }
}

/// What the code of a task reports, under a name of its own choice. It cannot choose one that would make its failure
/// something else: no handler takes `States.Runtime`.
#[must_use]
pub fn reported_by_code(failure: Failure, dialect: Dialect) -> Failure {
    match &failure.error {
        Some(name) if !dialect.accepts_error_name(name) => {
            let name = name.clone();
            renamed(&name, error_name::TASK_FAILED, failure)
        }
        _ => failure,
    }
}

/// A crash under the name that the dialect reports it by; the cause says which it was.
fn crashed(crash: &'static str, dialect: Dialect, failure: Failure) -> Failure {
    let name = dialect.crashed_function(crash);
    if name == crash { failure } else { renamed(crash, name, failure) }
}

/// The same failure under another name; the cause says what it was called.
fn renamed(old: &str, name: &str, failure: Failure) -> Failure {
    let cause: Arc<str> = match failure.cause {
        Some(cause) if cause.contains(old) => cause,
        Some(cause) if !cause.is_empty() => format!("{old}: {cause}").into(),
        _ => old.into(),
    };
    Failure::new(name, cause)
}

/// Milliseconds until the retry after `so_far` earlier ones by the same retrier.
pub(crate) fn delay_ms(retrier: &Retrier, so_far: u32, entropy: &Entropy) -> i64 {
    let delay = retrier.delay().draw_ms(so_far, || entropy.next_unit());
    i64::try_from(delay).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, (name, cause): (&str, &str), expected: (&str, &str)) {
        let found = reported_by_code(Failure::new(name, cause), dialect);
        assert_eq!((found.name(), found.cause.as_deref().unwrap_or_default()), expected);
    }

    #[test]
    fn code_cannot_report_errors_of_the_language() {
        for dialect in Dialect::EACH {
            check(dialect, ("Custom", "why"), ("Custom", "why"));
            for name in ["States.Runtime", "States.Timeout", "States.DataLimitExceeded"] {
                check(dialect, (name, "why"), ("States.TaskFailed", &format!("{name}: why")));
                check(dialect, (name, ""), ("States.TaskFailed", name));
            }
            let payload = r#"{"errorType":"States.Runtime"}"#;
            check(dialect, ("States.Runtime", payload), ("States.TaskFailed", payload));
        }
        check(Dialect::Spec, ("States.Mine", "why"), ("States.TaskFailed", "States.Mine: why"));
        check(Dialect::Aws, ("States.Mine", "why"), ("States.Mine", "why"));
        assert_eq!(reported_by_code(Failure::default(), Dialect::Spec), Failure::default());
    }
}
