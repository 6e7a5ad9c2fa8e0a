//! Error names: the language's own. How they match is `retry`'s, as it is for functions.

pub use everstep_retry::error_name::{
    ALL, DATA_LIMIT_EXCEEDED, HEARTBEAT_TIMEOUT, LAMBDA_UNKNOWN, RUNTIME, TASK_FAILED, TIMEOUT,
    crash, matches, reported_crash,
};

/// The specification's name for the failure of a branch.
pub const BRANCH_FAILED: &str = "States.BranchFailed";

/// A task may not do what it asks for.
pub const PERMISSIONS: &str = "States.Permissions";

/// More items of a distributed Map failed than are tolerated.
pub const TOO_MANY_FAILURES: &str = "States.ExceedToleratedFailureThreshold";

/// The names that a retrier or catcher can match.
pub const PREDEFINED: &[&str] = &[
    ALL,
    BRANCH_FAILED,
    DATA_LIMIT_EXCEEDED,
    TOO_MANY_FAILURES,
    HEARTBEAT_TIMEOUT,
    "States.Http.Socket",
    "States.IntrinsicFailure",
    "States.ItemReaderFailed",
    "States.NoChoiceMatched",
    "States.ParameterPathFailure",
    PERMISSIONS,
    "States.QueryEvaluationError",
    "States.ResultPathMatchFailure",
    "States.ResultWriterFailed",
    RUNTIME,
    TASK_FAILED,
    TIMEOUT,
];

/// Whether the name begins as the language's own do.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("States.")
}

/// Whether it is one of the language's own, those with a number in them included.
#[must_use]
pub fn is_predefined(name: &str) -> bool {
    PREDEFINED.contains(&name) || name.starts_with("States.Http.StatusCode.")
}

/// Whether a pattern leaves nothing for another one that stands behind it.
#[must_use]
pub fn covers(pattern: &str, later: &str) -> bool {
    match later {
        ALL => pattern == ALL,
        TASK_FAILED => matches!(pattern, ALL | TASK_FAILED),
        _ => matches(pattern, later),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_covers_what_it_matches() {
        assert!(covers(ALL, TASK_FAILED) && covers(TASK_FAILED, "X") && covers(ALL, TIMEOUT));
        assert!(covers(LAMBDA_UNKNOWN, "Runtime.ExitError"));
        assert!(!covers("Runtime.ExitError", LAMBDA_UNKNOWN));
        assert!(
            !covers(TASK_FAILED, ALL) && !covers(TASK_FAILED, TIMEOUT) && !covers("X", TASK_FAILED)
        );
    }
}
