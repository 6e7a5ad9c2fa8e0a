//! Error names, and which of them stand for others: what `Retry`, `Catch` and the rules of functions
//! match by.

use crate::class::Class;

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
/// What Lambda once reported for a function that crashed.
pub const LAMBDA_UNKNOWN: &str = "Lambda.Unknown";

/// The ends of a function that it could not report itself. Definitions of any age mean them by
/// `Lambda.Unknown`.
pub const CRASHES: [&str; 5] = [
    "Runtime.ExitError",
    "Sandbox.Timedout",
    "Runtime.OutOfMemory",
    "Runtime.InvalidResponse",
    "Runtime.Interrupted",
];

/// The name of a crash, if the error is one.
#[must_use]
pub fn crash(error: &str) -> Option<&'static str> {
    CRASHES.into_iter().find(|name| *name == error)
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
        LAMBDA_UNKNOWN => crash(error).is_some(),
        _ => false,
    }
}

/// The crash behind an error as it was reported: a crash may have been called `Lambda.Unknown`, and is
/// matched by its own name all the same.
#[must_use]
pub fn reported_crash(error: &str, cause: Option<&str>) -> Option<&'static str> {
    let behind = || cause.filter(|_| error == LAMBDA_UNKNOWN).and_then(crash_behind);
    crash(error).or_else(behind)
}

/// The name of the crash that was reported as `Lambda.Unknown`: its cause says which it was, in `errorType`
/// or in words.
fn crash_behind(cause: &str) -> Option<&'static str> {
    let said = cause.split_once("\"errorType\"").and_then(|(_, rest)| rest.split('"').nth(1));
    let earliest = || {
        let found = CRASHES.into_iter().filter_map(|name| Some((cause.find(name)?, name)));
        found.min().map(|(_, name)| name)
    };
    said.and_then(crash).or_else(earliest)
}

/// Whether an element of `errors` matches the failure of a function: a name as in `ErrorEquals`, a
/// class, or `prefix.*`.
#[must_use]
pub fn matches_failure(pattern: &str, error: &str, class: Class) -> bool {
    if pattern == Class::ALL || pattern == class.name() || matches(pattern, error) {
        return true;
    }
    // A function has no other way to exceed the limit that this name is about.
    if pattern == DATA_LIMIT_EXCEEDED {
        return class == Class::DataLimitExceeded;
    }
    // The dot stays: `Http.*` is not about `HttpError`.
    pattern
        .strip_suffix('*')
        .is_some_and(|prefix| prefix.ends_with('.') && error.starts_with(prefix))
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
    fn every_crash_is_known_by_both_names() {
        for crash in CRASHES {
            check(LAMBDA_UNKNOWN, crash, true);
            check(crash, crash, true);
            check(ALL, crash, true);
            check(TASK_FAILED, crash, true);
            check(TIMEOUT, crash, false);
        }
        for other in ["Runtime.ImportModuleError", "Lambda.TooManyRequestsException", "Error", ""] {
            check(LAMBDA_UNKNOWN, other, false);
        }
        check(LAMBDA_UNKNOWN, LAMBDA_UNKNOWN, true);
        check("Runtime.ExitError", LAMBDA_UNKNOWN, false);
        check("Lambda.*", LAMBDA_UNKNOWN, false);
    }

    #[test]
    fn the_cause_says_which_crash_it_was() {
        let check = |cause, expected| assert_eq!(crash_behind(cause), expected, "{cause}");
        check("Runtime.ExitError", Some("Runtime.ExitError"));
        check("Sandbox.Timedout: after Runtime.ExitError", Some("Sandbox.Timedout"));
        let said = r#"{"errorMessage":"Runtime.ExitError?","errorType": "Runtime.OutOfMemory"}"#;
        check(said, Some("Runtime.OutOfMemory"));
        check(r#"{"errorType":"Error"}"#, None);
        check("it is unknown", None);
        check("", None);
    }

    #[test]
    fn a_crash_that_is_reported_as_unknown_is_found_in_its_cause() {
        let check = |error, cause, expected| {
            assert_eq!(reported_crash(error, cause), expected, "{error}: {cause:?}");
        };
        let (exit, cause) = (Some("Runtime.ExitError"), Some("Runtime.ExitError: exit status 3"));
        check(LAMBDA_UNKNOWN, cause, exit);
        check("Runtime.ExitError", None, exit);
        check("OutOfStock", cause, None);
        check(LAMBDA_UNKNOWN, None, None);
        check(LAMBDA_UNKNOWN, Some("exit status 3"), None);
    }

    /// Which of these patterns match a failure, in this order.
    const PATTERNS: [&str; 14] = [
        "Error.ALL",
        "Error.User",
        "Error.Runtime",
        "Error.Timeout",
        "Error.DataLimitExceeded",
        "States.ALL",
        "States.TaskFailed",
        "States.Timeout",
        "States.DataLimitExceeded",
        "Lambda.Unknown",
        "Http.*",
        "Runtime.*",
        "Http*",
        "*",
    ];

    fn check_failure(error: &str, class: Class, expected: &[&str]) {
        let found: Vec<&str> =
            PATTERNS.into_iter().filter(|pattern| matches_failure(pattern, error, class)).collect();
        assert_eq!(found, expected, "{error} {class:?}");
        assert!(matches_failure(error, error, class), "{error}");
    }

    #[test]
    fn failures_are_matched_by_name_class_and_prefix() {
        let all = "Error.ALL";
        let (any, failed) = ("States.ALL", "States.TaskFailed");
        check_failure("OutOfStock", Class::User, &[all, "Error.User", any, failed]);
        check_failure("Http.429", Class::User, &[all, "Error.User", any, failed, "Http.*"]);
        check_failure("HttpError", Class::User, &[all, "Error.User", any, failed]);
        let crash = [all, "Error.Runtime", any, failed, LAMBDA_UNKNOWN, "Runtime.*"];
        for name in ["Runtime.ExitError", "Runtime.OutOfMemory", "Runtime.Interrupted"] {
            check_failure(name, Class::Runtime, &crash);
        }
        check_failure("Runtime.InvalidResponse", Class::Runtime, &crash);
        let start = [all, "Error.Runtime", any, failed, "Runtime.*"];
        check_failure("Runtime.ImportModuleError", Class::Runtime, &start);
        let timeout = [all, "Error.Timeout", any, failed, LAMBDA_UNKNOWN];
        check_failure("Sandbox.Timedout", Class::Timeout, &timeout);
        let large = [all, "Error.DataLimitExceeded", any, failed, DATA_LIMIT_EXCEEDED];
        check_failure("Function.ResponseSizeTooLarge", Class::DataLimitExceeded, &large);
    }
}
