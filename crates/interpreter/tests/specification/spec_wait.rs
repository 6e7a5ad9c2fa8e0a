//! "Wait State" and "Timestamps" of the specification.

use serde_json::{Value, json};

use crate::world::*;

/// 2023-11-14T22:13:20Z is when every execution starts.
fn check(fields: Value, input: Value, seconds: f64) {
    let mut state = json!({ "Type": "Wait", "Next": "NextState" });
    for (name, value) in fields.as_object().expect("fields") {
        state[name] = value.clone();
    }
    let run = world(machine(json!({ "W": state, "NextState": { "Type": "Succeed" } })))
        .input(input.clone())
        .run();
    assert_eq!(run.output(), input);
    assert_eq!(run.timeline(), [("W".to_owned(), 0.0), ("NextState".to_owned(), seconds)]);
}

#[test]
fn the_example_waits_ten_seconds() {
    check(json!({ "Seconds": 10 }), json!({ "a": 1 }), 10.0);
}

#[test]
fn an_absolute_time_is_waited_for() {
    check(json!({ "Timestamp": "2023-11-14T22:13:50Z" }), json!({}), 30.0);
    check(json!({ "Timestamp": "2023-11-14T23:13:50.250+01:00" }), json!({}), 30.25);
}

#[test]
fn a_time_that_is_past_is_not_waited_for() {
    check(json!({ "Timestamp": "2016-03-14T01:59:00Z" }), json!({}), 0.0);
}

#[test]
fn the_time_can_be_looked_up_in_the_data() {
    check(
        json!({ "TimestampPath": "$.expirydate" }),
        json!({ "expirydate": "2023-11-14T22:13:50Z" }),
        30.0,
    );
    check(json!({ "SecondsPath": "$.n" }), json!({ "n": 12 }), 12.0);
    check(json!({ "SecondsPath": "$.n" }), json!({ "n": 0 }), 0.0);
}

#[test]
fn timestamps_need_an_uppercase_t_and_a_zone() {
    for text in [
        "2023-11-14 22:13:50Z",
        "2023-11-14t22:13:50Z",
        "2023-11-14T22:13:50",
        "2023-13-14T22:13:50Z",
    ] {
        let state = json!({ "Type": "Wait", "TimestampPath": "$.t", "End": true });
        let run = world(machine(json!({ "W": state }))).input(json!({ "t": text })).run();
        assert_eq!(run.error(), "States.Runtime", "{text}");
    }
}

#[test]
fn seconds_that_are_no_natural_number_fail_the_state() {
    for value in [json!(-1), json!(1.5), json!("x")] {
        let state = json!({ "Type": "Wait", "SecondsPath": "$.n", "End": true });
        let run = world(machine(json!({ "W": state }))).input(json!({ "n": value })).run();
        assert_eq!(run.error(), "States.Runtime");
    }
}

#[test]
fn waits_in_branches_pass_side_by_side() {
    let branch = |name: &str, seconds: u64| {
        machine(json!({ name: { "Type": "Wait", "Seconds": seconds, "End": true } }))
    };
    let state = parallel(json!([branch("A", 5), branch("B", 9), branch("C", 7)]), json!({}));
    let run = world(machine(json!({ "P": state }))).run();
    run.output();
    assert_eq!(run.seconds(), 9.0);
}
