//! "Task State" of the specification.

use everstep_interpreter::Status;
use serde_json::{Value, json};

use crate::world::*;

fn check_timeout(fields: Value, input: Value, outcome: Outcome, seconds: f64) {
    let run = world(machine(json!({ "X": task(fields) }))).input(input).task("X", [outcome]).run();
    assert_eq!(run.error(), "States.Timeout");
    assert_eq!(run.seconds(), seconds);
}

#[test]
fn a_task_that_runs_longer_than_its_timeout_fails_with_states_timeout() {
    check_timeout(json!({ "TimeoutSeconds": 300 }), json!({}), Outcome::Hangs, 300.0);
}

#[test]
fn a_timeout_says_what_took_too_long() {
    let check = |fields: Value, expected: &str| {
        let mut fields = fields;
        fields["Catch"] = json!([{ "ErrorEquals": ["States.ALL"], "Next": "N" }]);
        fields["Next"] = json!("N");
        let definition = machine(json!({ "X": task(fields), "N": pass(json!({})) }));
        let caught = world(definition.clone()).task("X", [Outcome::Hangs]).run().output();
        assert_eq!(caught, json!({ "Error": "States.Timeout", "Cause": expected }));
        // The service was recorded to give none.
        let caught = world(definition).aws().task("X", [Outcome::Hangs]).run();
        if let Status::Succeeded { output } = caught.execution.status() {
            assert_eq!(output.value()["Cause"], "");
        }
    };
    check(json!({}), "The task ran longer than TimeoutSeconds (60 s).");
    check(json!({ "TimeoutSeconds": 5 }), "The task ran longer than TimeoutSeconds (5 s).");
    check(
        json!({ "TimeoutSeconds": 50, "HeartbeatSeconds": 7 }),
        "The task sent no heartbeat for longer than HeartbeatSeconds (7 s).",
    );
}

#[test]
fn a_machine_that_runs_too_long_fails_with_states_timeout() {
    let mut definition = machine(json!({ "X": task(json!({ "TimeoutSeconds": 50 })) }));
    definition["TimeoutSeconds"] = json!(3);
    let run = world(definition).task("X", [Outcome::Hangs]).run();
    assert_eq!(run.execution.status(), &Status::TimedOut);
    let failure = run.execution.program().shown_timeout();
    assert_eq!(failure.name(), "States.Timeout");
    let cause = "The execution ran longer than its TimeoutSeconds (3 s).";
    assert_eq!(failure.cause.as_deref(), Some(cause));
    let last = run.history().pop().expect("an event");
    let details = json!({ "error": "States.Timeout", "cause": cause });
    assert_eq!(last["executionTimedOutEventDetails"], details);
}

#[test]
fn a_result_in_time_counts_and_one_too_late_does_not() {
    let definition = machine(json!({ "X": task(json!({ "TimeoutSeconds": 10 })) }));
    let run = world(definition.clone()).task("X", [after(9.999, ok(json!(1)))]).run();
    assert_eq!(run.output(), json!(1));
    let run = world(definition).task("X", [after(10.001, ok(json!(1)))]).run();
    assert_eq!(run.error(), "States.Timeout");
}

#[test]
fn if_not_provided_the_default_timeout_is_60() {
    check_timeout(json!({}), json!({}), Outcome::Hangs, 60.0);
}

#[test]
fn in_the_aws_dialect_there_is_no_default_timeout() {
    let run = world(machine(json!({ "X": task(json!({})) })))
        .aws()
        .task("X", [after(1e6, ok(json!("late")))])
        .run();
    assert_eq!(run.output(), json!("late"));
}

#[test]
fn more_time_than_the_heartbeat_between_two_heartbeats_is_a_timeout() {
    let fields = json!({ "TimeoutSeconds": 300, "HeartbeatSeconds": 60 });
    check_timeout(fields.clone(), json!({}), Outcome::Hangs, 60.0);
    check_timeout(fields, json!({}), beats(50, 3, Outcome::Hangs), 210.0);
}

#[test]
fn heartbeats_do_not_lengthen_the_timeout() {
    let fields = json!({ "TimeoutSeconds": 100, "HeartbeatSeconds": 60 });
    check_timeout(fields, json!({}), beats(50, 10, Outcome::Hangs), 100.0);
}

#[test]
fn heartbeats_in_time_keep_a_task_alive() {
    let definition =
        machine(json!({ "X": task(json!({ "TimeoutSeconds": 900, "HeartbeatSeconds": 10 })) }));
    let run = world(definition).task("X", [beats(9, 20, ok(json!("done")))]).run();
    assert_eq!(run.output(), json!("done"));
}

#[test]
fn both_timeouts_can_be_provided_indirectly() {
    let fields = json!({ "TimeoutSecondsPath": "$.t", "HeartbeatSecondsPath": "$.h" });
    check_timeout(fields.clone(), json!({ "t": 90, "h": 7 }), Outcome::Hangs, 7.0);
    check_timeout(fields, json!({ "t": 90, "h": 80 }), beats(70, 1, Outcome::Hangs), 90.0);
}

#[test]
fn a_heartbeat_that_is_not_smaller_than_the_timeout_fails_the_state() {
    let check = |fields: Value, input: Value, expected: &str| {
        let definition = machine(json!({ "X": task(fields) }));
        let run = world(definition.clone()).input(input.clone()).run();
        assert_eq!(run.error(), "States.Runtime");
        assert!(run.cause().ends_with(expected), "{}", run.cause());
        assert!(run.calls.is_empty());
        world(definition).aws().input(input).run().output();
    };
    check(
        json!({ "TimeoutSecondsPath": "$.t", "HeartbeatSecondsPath": "$.h" }),
        json!({ "t": 9, "h": 9 }),
        "HeartbeatSeconds (9) must be smaller than TimeoutSeconds (9)",
    );
    check(
        json!({ "HeartbeatSecondsPath": "$.h" }),
        json!({ "h": 60 }),
        "HeartbeatSeconds (60) must be smaller than TimeoutSeconds (60)",
    );
}

#[test]
fn a_timeout_that_is_no_positive_integer_fails_the_state() {
    for value in [json!(0), json!(-1), json!(1.5), json!("x"), json!(null)] {
        let definition = machine(json!({ "X": task(json!({ "TimeoutSecondsPath": "$.t" })) }));
        let run = world(definition).input(json!({ "t": value })).run();
        assert_eq!(run.error(), "States.Runtime");
        assert!(run.calls.is_empty());
    }
}

#[test]
fn a_result_after_the_timeout_changes_nothing_and_the_task_is_cancelled() {
    let definition = machine(json!({ "X": task(json!({
        "TimeoutSeconds": 5, "Retry": [{ "ErrorEquals": ["States.Timeout"], "IntervalSeconds": 10 }]
    })) }));
    let script = [after(7.0, ok(json!("late"))), ok(json!("second"))];
    let run = world(definition).task("X", script).run();
    assert_eq!(run.output(), json!("second"));
    assert_eq!(run.cancelled, [run.calls[0].attempt]);
}
