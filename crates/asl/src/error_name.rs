//! Error names: the language's own, and which of them stand for others.

/// Matches every error but those that always end an execution.
pub const ALL: &str = "States.ALL";
/// Matches every error of a task but a timeout.
pub const TASK_FAILED: &str = "States.TaskFailed";
pub const TIMEOUT: &str = "States.Timeout";
pub const HEARTBEAT_TIMEOUT: &str = "States.HeartbeatTimeout";
/// Always ends the execution: nothing retries or catches it.
pub const RUNTIME: &str = "States.Runtime";
/// Not matched by a wildcard.
pub const DATA_LIMIT_EXCEEDED: &str = "States.DataLimitExceeded";

/// The names that a retrier or catcher can match.
pub const PREDEFINED: &[&str] = &[
    ALL,
    "States.BranchFailed",
    DATA_LIMIT_EXCEEDED,
    "States.ExceedToleratedFailureThreshold",
    HEARTBEAT_TIMEOUT,
    "States.Http.Socket",
    "States.IntrinsicFailure",
    "States.ItemReaderFailed",
    "States.NoChoiceMatched",
    "States.ParameterPathFailure",
    "States.Permissions",
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

/// Whether an element of `ErrorEquals` matches an error of this name.
#[must_use]
pub fn matches(pattern: &str, error: &str) -> bool {
    if error == RUNTIME {
        return false;
    }
    if pattern == error {
        return true;
    }
    match pattern {
        ALL => error != DATA_LIMIT_EXCEEDED,
        TASK_FAILED => !matches!(error, TIMEOUT | HEARTBEAT_TIMEOUT | DATA_LIMIT_EXCEEDED),
        TIMEOUT => error == HEARTBEAT_TIMEOUT,
        _ => false,
    }
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

    fn check(pattern: &str, error: &str, expected: bool) {
        assert_eq!(matches(pattern, error), expected, "{pattern} and {error}");
    }

    #[test]
    fn wildcards_match_what_the_guide_says() {
        check(ALL, "OutOfStock", true);
        check(ALL, TIMEOUT, true);
        check(ALL, RUNTIME, false);
        check(ALL, DATA_LIMIT_EXCEEDED, false);
        check(TASK_FAILED, "OutOfStock", true);
        check(TASK_FAILED, "States.Permissions", true);
        check(TASK_FAILED, TIMEOUT, false);
        check(TASK_FAILED, HEARTBEAT_TIMEOUT, false);
        check(TIMEOUT, HEARTBEAT_TIMEOUT, true);
        check(HEARTBEAT_TIMEOUT, TIMEOUT, false);
        check(RUNTIME, RUNTIME, false);
        check(DATA_LIMIT_EXCEEDED, DATA_LIMIT_EXCEEDED, true);
        check("outOfStock", "OutOfStock", false);
    }

    #[test]
    fn a_wildcard_covers_what_it_matches() {
        assert!(covers(ALL, TASK_FAILED) && covers(TASK_FAILED, "X") && covers(ALL, TIMEOUT));
        assert!(
            !covers(TASK_FAILED, ALL) && !covers(TASK_FAILED, TIMEOUT) && !covers("X", TASK_FAILED)
        );
    }
}
