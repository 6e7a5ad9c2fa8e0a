//! "Retrying after error" of the specification.

use serde_json::{Value, json};

use crate::world::*;

fn retry(retriers: Value) -> Value {
    machine(json!({ "X": task(json!({ "Retry": retriers })) }))
}

fn check(retriers: Value, names: &[&str], delays: &[f64], last_error: Option<&str>) {
    let script = errors(names).into_iter().chain([ok(json!("done"))]);
    let run = world(retry(retriers)).task("X", script).run();
    assert_eq!(run.delays(), delays);
    match last_error {
        Some(error) => assert_eq!(run.error(), error),
        None => assert_eq!(run.output(), json!("done")),
    }
}

#[test]
fn the_retrier_in_whose_error_equals_the_name_appears_decides() {
    let retriers = json!([
        { "ErrorEquals": ["A"], "IntervalSeconds": 3 },
        { "ErrorEquals": ["B", "C"], "IntervalSeconds": 9 }
    ]);
    check(retriers.clone(), &["A"], &[3.0], None);
    check(retriers.clone(), &["B"], &[9.0], None);
    check(retriers.clone(), &["C"], &[9.0], None);
    check(retriers, &["D"], &[], Some("D"));
}

#[test]
fn the_first_retrier_that_matches_is_used() {
    let retriers = json!([
        { "ErrorEquals": ["A"], "IntervalSeconds": 3 },
        { "ErrorEquals": ["A", "B"], "IntervalSeconds": 9 }
    ]);
    check(retriers, &["A", "B"], &[3.0, 9.0], None);
}

#[test]
fn error_names_are_case_sensitive() {
    check(json!([{ "ErrorEquals": ["OutOfStock"] }]), &["outOfStock"], &[], Some("outOfStock"));
}

#[test]
fn by_default_the_first_wait_is_one_second_doubled_each_time_three_times() {
    let retriers = json!([{ "ErrorEquals": ["A"] }]);
    check(retriers.clone(), &["A", "A", "A"], &[1.0, 2.0, 4.0], None);
    check(retriers, &["A", "A", "A", "A"], &[1.0, 2.0, 4.0], Some("A"));
}

#[test]
fn max_attempts_zero_is_never_retried() {
    check(json!([{ "ErrorEquals": ["A"], "MaxAttempts": 0 }]), &["A"], &[], Some("A"));
}

#[test]
fn a_backoff_rate_of_one_keeps_the_interval() {
    let retriers = json!([{ "ErrorEquals": ["A"], "IntervalSeconds": 4, "BackoffRate": 1.0 }]);
    check(retriers, &["A", "A", "A"], &[4.0, 4.0, 4.0], None);
}

#[test]
fn the_example_makes_two_attempts_after_waits_of_3_and_4_and_a_half_seconds() {
    let definition = machine(json!({ "X": task(json!({ "TimeoutSeconds": 10, "Retry": [{
        "ErrorEquals": ["States.Timeout"], "IntervalSeconds": 3, "MaxAttempts": 2, "BackoffRate": 1.5
    }] })) }));
    let run = world(definition).task("X", vec![Outcome::Hangs; 3]).run();
    assert_eq!(run.delays(), [3.0, 4.5]);
    assert_eq!(run.started("X"), [0.0, 13.0, 27.5]);
    assert_eq!(run.seconds(), 37.5);
    assert_eq!(run.error(), "States.Timeout");
}

#[test]
fn states_all_matches_any_error_name() {
    let retriers = json!([{ "ErrorEquals": ["States.ALL"], "MaxAttempts": 1 }]);
    for name in
        ["A", "java.lang.Exception", "States.Timeout", "States.Permissions", "Lambda.Unknown"]
    {
        check(retriers.clone(), &[name], &[1.0], None);
    }
}

#[test]
fn the_example_retries_any_error_except_states_timeout() {
    let retriers = json!([
        { "ErrorEquals": ["States.Timeout"], "MaxAttempts": 0 },
        { "ErrorEquals": ["States.ALL"] }
    ]);
    check(retriers.clone(), &["A", "B", "C"], &[1.0, 2.0, 4.0], None);
    check(retriers, &["A", "States.Timeout"], &[1.0], Some("States.Timeout"));
}

#[test]
fn if_the_error_recurs_more_often_normal_error_handling_resumes() {
    let definition = machine(json!({
        "X": task(json!({
            "Retry": [{ "ErrorEquals": ["A"], "MaxAttempts": 1 }],
            "Catch": [{ "ErrorEquals": ["A"], "Next": "Y" }]
        })),
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).task("X", errors(&["A", "A"])).run();
    assert_eq!(run.path(), ["X", "Y"]);
    assert_eq!(run.delays(), [1.0]);
}

/// Newer than the specification: MaxDelaySeconds.
#[test]
fn max_delay_seconds_caps_each_wait() {
    let retriers = json!([{
        "ErrorEquals": ["A"], "IntervalSeconds": 3, "BackoffRate": 2, "MaxAttempts": 5, "MaxDelaySeconds": 10
    }]);
    check(retriers, &["A"; 5], &[3.0, 6.0, 10.0, 10.0, 10.0], None);
}

/// Newer than the specification: JitterStrategy. Drawn after the cap, from what the input brings.
#[test]
fn full_jitter_stays_within_the_delay_and_depends_on_the_seed_alone() {
    let retriers = json!([{
        "ErrorEquals": ["A"], "IntervalSeconds": 8, "BackoffRate": 2, "MaxAttempts": 6,
        "MaxDelaySeconds": 20, "JitterStrategy": "FULL"
    }]);
    let delays = |seed: u64| {
        let script = errors(&["A"; 6]).into_iter().chain([ok(json!(1))]);
        world(retry(retriers.clone())).seed(seed * 1000).task("X", script).run().delays()
    };
    let mut drawn = Vec::new();
    for seed in 0..40 {
        let found = delays(seed);
        for (delay, most) in found.iter().zip([8.0, 16.0, 20.0, 20.0, 20.0, 20.0]) {
            assert!((0.0..=most).contains(delay), "{delay} of {most}");
        }
        assert_eq!(found, delays(seed));
        drawn.extend(found);
    }
    drawn.sort_by(f64::total_cmp);
    drawn.dedup();
    assert!(drawn.len() > 200, "{} different waits", drawn.len());
    assert!(drawn.iter().any(|delay| *delay > 15.0) && drawn.iter().any(|delay| *delay < 2.0));
}

#[test]
fn parallel_and_map_states_may_have_retry_and_run_all_of_it_again() {
    let inner = |name: &str| machine(json!({ name: task(json!({})) }));
    let retry = json!({ "Retry": [{ "ErrorEquals": ["A"], "IntervalSeconds": 2 }] });
    let definition =
        machine(json!({ "P": parallel(json!([inner("L"), inner("R")]), retry.clone()) }));
    let run = world(definition)
        .task("L", [ok(json!("l1")), ok(json!("l2"))])
        .task("R", [error("A"), ok(json!("r2"))])
        .run();
    assert_eq!(run.output(), json!(["l2", "r2"]));
    assert_eq!((run.started("L"), run.started("R")), (vec![0.0, 2.0], vec![0.0, 2.0]));

    let definition = machine(json!({ "M": map(inner("T"), retry) }));
    let script = [ok(json!(1)), error("A"), ok(json!(10)), ok(json!(20))];
    let run = world(definition).input(json!([1, 2])).task("T", script).run();
    assert_eq!(run.output(), json!([10, 20]));
}

#[test]
fn each_attempt_has_its_whole_timeout() {
    let definition = machine(json!({ "X": task(json!({
        "TimeoutSeconds": 5, "Retry": [{ "ErrorEquals": ["States.Timeout"] }]
    })) }));
    let script = [Outcome::Hangs, after(4.0, ok(json!("in time")))];
    let run = world(definition).task("X", script).run();
    assert_eq!(run.started("X"), [0.0, 6.0]);
    assert_eq!(run.output(), json!("in time"));
}

#[test]
fn the_context_counts_retries_over_all_retriers() {
    let definition = machine(json!({ "X": task(json!({
        "Parameters": { "n.$": "$$.State.RetryCount" },
        "Retry": [{ "ErrorEquals": ["A"] }, { "ErrorEquals": ["B"] }]
    })) }));
    let script = errors(&["A", "B", "A"]).into_iter().chain([ok(json!(1))]);
    let run = world(definition).task("X", script).run();
    let counts: Vec<Value> = (0..4).map(|n| json!({ "n": n })).collect();
    assert_eq!(run.parameters("X"), counts);
}
