//! Redrive: from the point of failure, and nothing that has succeeded again.

use everstep_interpreter::{Input, Limits, Refusal, Status};
use serde_json::{Value, json};

use crate::world::*;

fn branch(name: &str) -> Value {
    machine(json!({ name: task(json!({})) }))
}

#[test]
fn a_failed_task_runs_again_and_the_steps_before_it_do_not() {
    let definition = machine(json!({ "A": task(json!({ "Next": "B" })), "B": task(json!({})) }));
    let mut run = world(definition).task("A", [ok(json!(1))]).task("B", [error("Broken")]).run();
    assert_eq!(run.error(), "Broken");
    run.then("B", [ok(json!(2))]).redrive();
    assert_eq!(run.output(), json!(2));
    assert_eq!((run.calls.len(), run.started("A").len()), (3, 1));
    assert_eq!(run.parameters("B"), [json!(1), json!(1)]);
    assert_eq!(run.path(), ["A", "B"], "the state is not entered a second time");
    assert!(run.event_types().contains(&"ExecutionRedriven".to_owned()));
}

#[test]
fn retry_counters_start_again() {
    let retry = json!({ "Retry": [{ "ErrorEquals": ["A"], "MaxAttempts": 1 }] });
    let mut run = world(machine(json!({ "X": task(retry) }))).task("X", errors(&["A", "A"])).run();
    assert_eq!(run.error(), "A");
    run.then("X", [error("A"), ok(json!(1))]).redrive();
    assert_eq!(run.output(), json!(1));
    assert_eq!(run.delays(), [1.0, 1.0]);
}

#[test]
fn the_context_object_counts_redrives() {
    let fields = json!({ "Parameters": { "n.$": "$$.Execution.RedriveCount" } });
    let mut run = world(machine(json!({ "X": task(fields) }))).task("X", [error("A")]).run();
    run.then("X", [error("A")]).redrive().then("X", [ok(json!(1))]).redrive();
    run.output();
    assert_eq!(run.parameters("X"), [json!({ "n": 0 }), json!({ "n": 1 }), json!({ "n": 2 })]);
}

#[test]
fn only_the_failed_branches_of_a_parallel_state_run_again() {
    let state = parallel(json!([branch("L"), branch("M"), branch("R")]), json!({ "Next": "Y" }));
    let definition = machine(json!({ "P": state, "Y": pass(json!({})) }));
    let mut run = world(definition)
        .task("L", [ok(json!("l"))])
        .task("M", [after(1.0, error("Broken"))])
        .task("R", [after(5.0, ok(json!("late")))])
        .run();
    assert_eq!(run.error(), "Broken");
    run.then("M", [ok(json!("m"))]).then("R", [ok(json!("r"))]).redrive();
    assert_eq!(run.output(), json!(["l", "m", "r"]));
    let started = |state: &str| run.started(state).len();
    assert_eq!((started("L"), started("M"), started("R")), (1, 2, 2));
}

#[test]
fn inside_nested_parallel_states_too() {
    let inner = parallel(json!([branch("A"), branch("B")]), json!({}));
    let state = parallel(json!([machine(json!({ "I": inner })), branch("C")]), json!({}));
    let mut run = world(machine(json!({ "P": state })))
        .task("A", [ok(json!("a"))])
        .task("B", [after(1.0, error("Broken"))])
        .task("C", [ok(json!("c"))])
        .run();
    assert_eq!(run.error(), "Broken");
    run.then("B", [ok(json!("b"))]).redrive();
    assert_eq!(run.output(), json!([["a", "b"], "c"]));
    assert_eq!((run.started("A").len(), run.started("C").len()), (1, 1));
}

#[test]
fn a_sibling_that_was_stopped_inside_goes_on_too() {
    let inner = parallel(json!([branch("A"), branch("B")]), json!({}));
    let state = parallel(json!([machine(json!({ "I": inner })), branch("C")]), json!({}));
    let mut run = world(machine(json!({ "P": state })))
        .task("A", [ok(json!("a"))])
        .task("B", [Outcome::Hangs])
        .task("C", [after(1.0, error("Broken"))])
        .run();
    run.then("B", [ok(json!("b"))]).then("C", [ok(json!("c"))]).redrive();
    assert_eq!(run.output(), json!([["a", "b"], "c"]));
    assert_eq!(run.started("A").len(), 1);
}

#[test]
fn only_the_failed_iterations_of_a_map_run_again() {
    let definition = machine(json!({ "M": map(branch("T"), json!({ "MaxConcurrency": 1 })) }));
    let script = [ok(json!("a")), error("Broken")];
    let mut run = world(definition).input(json!([1, 2, 3])).task("T", script).run();
    assert_eq!(run.error(), "Broken");
    run.then("T", [ok(json!("b")), ok(json!("c"))]).redrive();
    assert_eq!(run.output(), json!(["a", "b", "c"]));
    assert_eq!(run.parameters("T"), [json!(1), json!(2), json!(2), json!(3)]);
    assert_eq!(run.running_max, 1);
}

#[test]
fn a_redriven_iteration_goes_on_at_its_failed_step() {
    let inner = machine(json!({ "A": task(json!({ "Next": "B" })), "B": task(json!({})) }));
    let mut run = world(machine(json!({ "M": map(inner, json!({})) })))
        .input(json!([1, 2]))
        .task("A", [ok(json!("a1")), ok(json!("a2"))])
        .task("B", [ok(json!("b1")), after(1.0, error("Broken"))])
        .run();
    run.then("B", [ok(json!("b2"))]).redrive();
    assert_eq!(run.output(), json!(["b1", "b2"]));
    assert_eq!(run.started("A").len(), 2);
    assert_eq!(run.parameters("B").last(), Some(&json!("a2")));
}

#[test]
fn failed_iterations_run_again_within_the_concurrency_limit_and_are_counted_anew() {
    let fields = json!({ "MaxConcurrency": 2, "ToleratedFailureCount": 3 });
    let script = vec![after(1.0, error("Broken")); 5];
    let mut run = world(machine(json!({ "M": map(branch("T"), fields) })))
        .input(json!([1, 2, 3, 4, 5, 6]))
        .task("T", script)
        .run();
    assert_eq!(run.error(), "States.ExceedToleratedFailureThreshold");
    let again = (0..6).map(|n| after(1.0, if n < 3 { error("Broken") } else { ok(json!(n)) }));
    run.then("T", again).redrive();
    assert_eq!(run.output(), json!([3, 4, 5]));
    assert_eq!(run.running_max, 2);
}

/// A scope that was over before the failure has nothing to go on with.
#[test]
fn tolerated_failures_of_an_earlier_map_are_left_alone() {
    let definition = machine(json!({
        "M": map(branch("T"), json!({ "ToleratedFailureCount": 1, "Next": "X" })),
        "X": task(json!({}))
    }));
    let mut run = world(definition)
        .input(json!([1, 2]))
        .task("T", [error("Broken"), ok(json!("t"))])
        .task("X", [error("Later")])
        .run();
    assert_eq!(run.error(), "Later");
    run.then("X", [ok(json!("done"))]).redrive();
    assert_eq!(run.output(), json!("done"));
    assert_eq!(run.started("T").len(), 2);
}

#[test]
fn branches_that_were_caught_are_left_alone() {
    let inner = parallel(json!([branch("A"), branch("B")]), json!({}));
    let catch = json!({ "Catch": [{ "ErrorEquals": ["Broken"], "Next": "X" }] });
    let definition = machine(json!({
        "P": parallel(json!([machine(json!({ "I": inner })), branch("C")]), catch),
        "X": task(json!({}))
    }));
    let mut run = world(definition)
        .task("A", [Outcome::Hangs])
        .task("B", [Outcome::Hangs])
        .task("C", [error("Broken")])
        .task("X", [error("Later")])
        .run();
    run.then("X", [ok(json!("done"))]).redrive();
    assert_eq!(run.output(), json!("done"));
    assert_eq!(run.calls.len(), 5);
}

#[test]
fn a_map_whose_results_could_not_be_placed_keeps_them() {
    let definition =
        machine(json!({ "M": map(branch("T"), json!({ "ResultSelector": { "a.$": "$[5]" } })) }));
    let mut run = world(definition).input(json!([1])).run();
    assert_eq!(run.error(), "States.ParameterPathFailure");
    run.redrive();
    assert_eq!(run.error(), "States.ParameterPathFailure");
    assert_eq!(run.calls.len(), 1);
}

#[test]
fn a_parallel_whose_results_could_not_be_placed_keeps_them() {
    let fields = json!({ "ResultSelector": { "a.$": "$[5]" } });
    let definition = machine(json!({ "P": parallel(json!([branch("T")]), fields) }));
    let mut run = world(definition).run();
    assert_eq!(run.error(), "States.ParameterPathFailure");
    run.redrive();
    assert_eq!(run.error(), "States.ParameterPathFailure");
    assert_eq!(run.calls.len(), 1);
}

#[test]
fn a_runtime_error_in_a_branch_can_be_redriven() {
    let broken = machine(json!({ "X": pass(json!({ "OutputPath": "$.missing" })) }));
    let definition = machine(json!({ "P": parallel(json!([branch("T"), broken]), json!({})) }));
    let mut run = world(definition).task("T", vec![Outcome::Hangs; 2]).run();
    assert_eq!(run.error(), "States.Runtime");
    run.redrive();
    assert_eq!(run.error(), "States.Runtime");
    assert_eq!(run.cancelled.len(), 2);
}

#[test]
fn stopped_and_timed_out_executions_go_on_too() {
    let definition = machine(
        json!({ "W": { "Type": "Wait", "Seconds": 50, "Next": "T" }, "T": task(json!({})) }),
    );
    let mut run = world(definition.clone()).stop_after(10).run();
    assert!(matches!(run.execution.status(), Status::Aborted { .. }));
    run.redrive();
    assert_eq!(run.output(), json!({}));
    assert_eq!(run.started("T"), [60.0], "the wait starts again");

    let mut limited = definition;
    limited["TimeoutSeconds"] = json!(40);
    limited["States"]["W"]["Seconds"] = json!(50);
    let mut run = world(limited).run();
    assert_eq!(*run.execution.status(), Status::TimedOut);
    run.redrive();
    assert_eq!(*run.execution.status(), Status::TimedOut, "its time starts again and ends again");
    assert_eq!(run.seconds(), 80.0);
}

#[test]
fn what_runs_or_has_succeeded_is_not_redriven() {
    let definition = machine(json!({ "X": task(json!({})) }));
    let mut run = world(definition).run();
    assert_eq!(run.give(Input::Redrive), Err(Refusal::NotRedrivable));
    assert_eq!(run.output(), json!({}));
}

#[test]
fn many_failed_iterations_are_redriven_one_by_one() {
    let inner = machine(json!({ "F": fail("Always") }));
    let fields = json!({ "MaxConcurrency": 1, "ToleratedFailureCount": 4999 });
    let limits = Limits { history_events: None, ..Limits::default() };
    let mut run = world(machine(json!({ "M": map(inner, fields) })))
        .limits(limits)
        .input(Value::from(vec![0; 5000]))
        .run();
    run.redrive();
    assert_eq!(run.error(), "States.ExceedToleratedFailureThreshold");
}

/// "The execution event history count is less than 25,000."
#[test]
fn a_full_history_leaves_no_room_for_a_redrive() {
    let definition = machine(json!({ "X": pass(json!({ "Next": "X" })) }));
    let limits = Limits { history_events: Some(9), ..Limits::default() };
    let mut run = world(definition).limits(limits).run();
    assert_eq!(run.error(), "States.Runtime");
    assert_eq!(run.give(Input::Redrive), Err(Refusal::NotRedrivable));
}
