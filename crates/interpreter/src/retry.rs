//! Which retrier takes a failure, and when the state runs again.

use everstep_asl::error_name;
use everstep_asl::model::{Catcher, Kind, Resource, Retrier, State};
use everstep_expr::Entropy;
use everstep_history::Failure;
use serde_json::{Value, json};

use crate::Dialect;

/// A failure on its way through retriers and catchers.
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    /// Another name it is matched by: a heartbeat timeout is a timeout too, and a crash has an old
    /// and a new name.
    pub(crate) alias: Option<&'static str>,
    /// Nothing may take it.
    pub(crate) fatal: bool,
    /// A wildcard matches it although it is too large.
    pub(crate) oversized_result: bool,
    /// What stands for a missing error or cause in a catcher's output.
    pub(crate) blank: Value,
}

impl Trouble {
    pub(crate) fn new(failure: Failure) -> Self {
        Self { failure, alias: None, fatal: false, oversized_result: false, blank: json!("") }
    }

    /// What a task said of itself.
    pub(crate) fn of_task(failure: Failure, resource: &Resource, dialect: Dialect) -> Self {
        let oversized_result = failure.name() == error_name::DATA_LIMIT_EXCEEDED;
        let blank = dialect.missing_text_of_task();
        // What a worker says is its own choice of words.
        let crash = match resource {
            Resource::Activity { .. } => None,
            _ => error_name::crash(failure.name()),
        };
        let failure = match crash {
            Some(name) => dialect.crashed_function(name, failure),
            None => failure,
        };
        Self { alias: crash, oversized_result, blank, ..Self::new(failure) }
    }

    fn matched_by(&self, patterns: &[String], dialect: Dialect, state: &State) -> bool {
        let own_name = matches!(state.kind, Kind::Parallel(_)) && dialect.matches_branch_failed();
        patterns.iter().any(|pattern| {
            error_name::matches(pattern, self.failure.name())
                || self.alias.is_some_and(|alias| error_name::matches(pattern, alias))
                || (self.oversized_result
                    && dialect.catches_oversized_results()
                    && pattern == error_name::ALL)
                || (own_name
                    && pattern == "States.BranchFailed"
                    && self.failure.name() != error_name::RUNTIME)
        })
    }

    /// The retrier that decides: the first that matches, and no other.
    pub(crate) fn retrier<'s>(
        &self,
        state: &'s State,
        dialect: Dialect,
    ) -> Option<(usize, &'s Retrier)> {
        if self.fatal {
            return None;
        }
        state
            .retry()
            .iter()
            .enumerate()
            .find(|(_, retrier)| self.matched_by(&retrier.error_equals, dialect, state))
    }

    pub(crate) fn catcher<'s>(
        &self,
        state: &'s State,
        dialect: Dialect,
    ) -> Option<(usize, &'s Catcher)> {
        if self.fatal {
            return None;
        }
        state
            .catch()
            .iter()
            .enumerate()
            .find(|(_, catcher)| self.matched_by(&catcher.error_equals, dialect, state))
    }
}

/// Milliseconds until the retry after `so_far` earlier ones by the same retrier.
pub(crate) fn delay_ms(retrier: &Retrier, so_far: u32, entropy: &Entropy) -> i64 {
    let delay = retrier.delay().draw_ms(so_far, || entropy.next_unit());
    i64::try_from(delay).unwrap_or(i64::MAX)
}
