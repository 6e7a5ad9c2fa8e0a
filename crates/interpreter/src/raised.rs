//! A failure on its way through the retriers and catchers of a state and of those around it.

use std::sync::Arc;

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

/// A crash under the name that the dialect reports it by; the cause says which it was.
fn crashed(crash: &'static str, dialect: Dialect, failure: Failure) -> Failure {
    let name = dialect.crashed_function(crash);
    if name == crash {
        return failure;
    }
    let cause: Arc<str> = match failure.cause {
        Some(cause) if cause.contains(crash) => cause,
        Some(cause) if !cause.is_empty() => format!("{crash}: {cause}").into(),
        _ => crash.into(),
    };
    Failure::new(name, cause)
}

/// Milliseconds until the retry after `so_far` earlier ones by the same retrier.
pub(crate) fn delay_ms(retrier: &Retrier, so_far: u32, entropy: &Entropy) -> i64 {
    let delay = retrier.delay().draw_ms(so_far, || entropy.next_unit());
    i64::try_from(delay).unwrap_or(i64::MAX)
}
