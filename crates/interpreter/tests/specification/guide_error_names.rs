//! "Error names" of the error-handling guide.

use everstep_interpreter::Limits;
use serde_json::{Value, json};

use crate::world::*;

fn catching(pattern: &str, fields: Value) -> Value {
    let mut state = task(fields);
    state["Catch"] = json!([{ "ErrorEquals": [pattern], "Next": "Y" }]);
    machine(json!({ "X": state, "Y": { "Type": "Succeed" } }))
}

/// Whether a catcher for `pattern` takes a task's error of this name.
fn check(pattern: &str, name: &str, expected: bool) {
    let run = world(catching(pattern, json!({}))).task("X", [error(name)]).run();
    assert_eq!(run.path().len() == 2, expected, "{pattern} and {name}");
}

#[test]
fn states_all_matches_any_known_error_name_but_those_that_end_the_execution() {
    check("States.ALL", "A", true);
    check("States.ALL", "States.TaskFailed", true);
    check("States.ALL", "States.Timeout", true);
    check("States.ALL", "States.Runtime", false);
    check("States.ALL", "States.DataLimitExceeded", false);
}

#[test]
fn states_runtime_is_never_retried_or_caught_even_by_its_name() {
    check("States.Runtime", "States.Runtime", false);
    check("States.TaskFailed", "States.Runtime", false);
    let definition = machine(json!({ "X": task(json!({
        "InputPath": "$.missing", "Retry": [{ "ErrorEquals": ["States.ALL"] }]
    })) }));
    let run = world(definition).input(json!(null)).run();
    assert_eq!(run.error(), "States.Runtime");
    assert!(run.delays().is_empty());
}

#[test]
fn a_runtime_error_in_a_branch_fails_the_execution_past_every_catcher() {
    let branch = machine(json!({ "X": pass(json!({ "OutputPath": "$.missing" })) }));
    let definition = machine(json!({
        "P": parallel(json!([branch]), json!({ "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "Y" }] })),
        "Y": { "Type": "Succeed" }
    }));
    assert_eq!(world(definition).run().error(), "States.Runtime");
}

#[test]
fn states_task_failed_matches_any_error_except_a_timeout() {
    check("States.TaskFailed", "A", true);
    check("States.TaskFailed", "Lambda.Unknown", true);
    check("States.TaskFailed", "States.Permissions", true);
    check("States.TaskFailed", "States.Timeout", false);
    check("States.TaskFailed", "States.HeartbeatTimeout", false);
    for fields in
        [json!({ "TimeoutSeconds": 3 }), json!({ "TimeoutSeconds": 9, "HeartbeatSeconds": 3 })]
    {
        let run = world(catching("States.TaskFailed", fields)).task("X", [Outcome::Hangs]).run();
        assert_eq!(run.error(), "States.Timeout");
    }
}

#[test]
fn a_missed_heartbeat_is_matched_by_both_names_and_shown_as_states_timeout() {
    let fields = json!({ "TimeoutSeconds": 9, "HeartbeatSeconds": 3 });
    for aws in [false, true] {
        for pattern in ["States.HeartbeatTimeout", "States.Timeout", "States.ALL"] {
            let world = world(catching(pattern, fields.clone())).task("X", [Outcome::Hangs]);
            let run = if aws { world.aws() } else { world }.run();
            assert_eq!(run.output()["Error"], "States.Timeout", "{pattern}");
        }
    }
}

#[test]
fn a_timeout_is_not_matched_by_heartbeat_timeout() {
    let definition = catching("States.HeartbeatTimeout", json!({ "TimeoutSeconds": 3 }));
    let run = world(definition).task("X", [Outcome::Hangs]).run();
    assert_eq!(run.error(), "States.Timeout");
}

fn tiny() -> Limits {
    Limits { payload_bytes: 20, ..Limits::default() }
}

#[test]
fn a_result_larger_than_the_quota_is_data_limit_exceeded() {
    let long = json!("x".repeat(30));
    let check = |pattern: &str, aws: bool, caught: bool| {
        let world = world(catching(pattern, json!({ "ResultPath": null })))
            .limits(Limits { payload_bytes: 25, ..Limits::default() })
            .task("X", [ok(long.clone())]);
        let run = if aws { world.aws() } else { world }.run();
        assert_eq!(run.path().contains(&"Y".to_owned()), caught, "{pattern} aws={aws}");
        run
    };
    let failed = check("States.ALL", false, false);
    assert_eq!(failed.error(), "States.DataLimitExceeded");
    check("States.TaskFailed", false, false);
    let named = world(catching("States.DataLimitExceeded", json!({})))
        .limits(Limits { payload_bytes: 300, ..Limits::default() })
        .task("X", [ok(json!("x".repeat(400)))])
        .run();
    assert_eq!(named.output()["Error"], "States.DataLimitExceeded");
}

#[test]
fn in_the_aws_dialect_states_all_catches_a_result_that_is_too_large() {
    let run = world(catching("States.ALL", json!({})))
        .aws()
        .limits(Limits { payload_bytes: 300, ..Limits::default() })
        .task("X", [ok(json!("x".repeat(400)))])
        .run();
    assert_eq!(run.output()["Error"], "States.DataLimitExceeded");
}

#[test]
fn a_states_output_larger_than_the_quota_is_data_limit_exceeded_and_terminal() {
    let definition = machine(json!({ "X": pass(json!({ "Result": "x".repeat(30) })) }));
    assert_eq!(world(definition).limits(tiny()).run().error(), "States.DataLimitExceeded");
    let grown = catching("States.ALL", json!({ "ResultPath": "$.a" }));
    let run = world(grown)
        .limits(tiny())
        .input(json!({ "b": 1 }))
        .task("X", [ok(json!("0123456789"))])
        .run();
    assert_eq!(run.error(), "States.DataLimitExceeded");
}

#[test]
fn parameters_larger_than_the_quota_are_data_limit_exceeded() {
    let definition =
        machine(json!({ "X": task(json!({ "Parameters": { "a": "x".repeat(30) } })) }));
    let run = world(definition).limits(tiny()).run();
    assert_eq!(run.error(), "States.DataLimitExceeded");
    assert!(run.calls.is_empty());
}

#[test]
fn exactly_the_quota_is_allowed() {
    // Two quotes and 262,142 characters.
    let fits = json!("x".repeat(262_142));
    let run = world(machine(json!({ "X": task(json!({})) }))).task("X", [ok(fits.clone())]).run();
    assert_eq!(run.output(), fits);
    let over = json!("x".repeat(262_143));
    let run = world(machine(json!({ "X": task(json!({})) }))).task("X", [ok(over)]).run();
    assert_eq!(run.error(), "States.DataLimitExceeded");
}

#[test]
fn an_unhandled_lambda_error_is_matched_by_lambda_unknown_all_and_task_failed() {
    for pattern in ["Lambda.Unknown", "States.ALL", "States.TaskFailed"] {
        check(pattern, "Lambda.Unknown", true);
    }
    check("Lambda.TooManyRequestsException", "Lambda.TooManyRequestsException", true);
}

/// What a function could not report itself: as the guide names it, or as the service does today.
#[test]
fn a_crash_is_matched_by_both_names_in_both_dialects_and_reported_by_one() {
    let crashes = ["Runtime.ExitError", "Sandbox.Timedout", "Runtime.OutOfMemory"];
    for crash in crashes {
        for pattern in ["Lambda.Unknown", crash, "States.ALL", "States.TaskFailed"] {
            check(pattern, crash, true);
            let aws = world(catching(pattern, json!({}))).aws().task("X", [error(crash)]).run();
            assert_eq!(aws.path().len(), 2, "{pattern} and {crash}");
        }
        check("States.Timeout", crash, false);
        check("Runtime.ImportModuleError", crash, false);
        let alone = || world(machine(json!({ "X": task(json!({})) }))).task("X", [error(crash)]);
        let (spec, aws) = (alone().run(), alone().aws().run());
        assert_eq!(spec.error(), "Lambda.Unknown");
        assert!(spec.cause().starts_with(crash), "{}", spec.cause());
        assert_eq!(aws.error(), crash);
    }
}

/// A Parallel state matches what its branch failed with, by both names too.
#[test]
fn a_crash_in_a_branch_keeps_both_names() {
    let branch = machine(json!({ "X": task(json!({})) }));
    for pattern in ["Lambda.Unknown", "Runtime.ExitError"] {
        let fields = json!({ "Catch": [{ "ErrorEquals": [pattern], "Next": "Y" }] });
        let definition = machine(json!({
            "P": parallel(json!([branch]), fields), "Y": { "Type": "Succeed" }
        }));
        let run = world(definition).task("X", [error("Runtime.ExitError")]).run();
        assert_eq!(run.path().last().map(String::as_str), Some("Y"), "{pattern}");
    }
}

/// The names that a worker chooses are its own.
#[test]
fn an_activity_may_report_what_it_likes() {
    let mut state = task(json!({}));
    state["Resource"] = json!("arn:aws:states:us-east-1:123456789012:activity:a");
    let run = world(machine(json!({ "X": state }))).task("X", [error("Runtime.ExitError")]).run();
    assert_eq!(run.error(), "Runtime.ExitError");
}

#[test]
fn states_can_report_errors_with_other_names() {
    check("HandledError", "HandledError", true);
    check("HandledError", "Handlederror", false);
}
