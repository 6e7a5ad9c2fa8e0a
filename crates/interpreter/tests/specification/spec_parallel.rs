//! "Parallel State" of the specification.

use serde_json::{Value, json};

use crate::world::*;

fn branch(name: &str) -> Value {
    machine(json!({ name: task(json!({})) }))
}

fn fun_with_math(extra: Value) -> Value {
    machine(json!({
        "FunWithMath": parallel(json!([branch("Add"), branch("Subtract")]), extra),
        "NextState": pass(json!({})),
        "Rescue": pass(json!({}))
    }))
}

#[test]
fn the_example_adds_and_subtracts_the_same_input() {
    let run = world(fun_with_math(json!({ "Next": "NextState" })))
        .input(json!([3, 2]))
        .task("Add", [after(5.0, ok(json!(5)))])
        .task("Subtract", [after(1.0, ok(json!(1)))])
        .run();
    assert_eq!(run.parameters("Add"), [json!([3, 2])]);
    assert_eq!(run.parameters("Subtract"), [json!([3, 2])]);
    assert_eq!(run.output(), json!([5, 1]), "in the order of the branches");
}

#[test]
fn branches_run_as_concurrently_as_possible_and_all_are_waited_for() {
    let run = world(fun_with_math(json!({ "Next": "NextState" })))
        .task("Add", [after(5.0, ok(json!(5)))])
        .task("Subtract", [after(9.0, ok(json!(1)))])
        .run();
    assert_eq!((run.started("Add"), run.started("Subtract")), (vec![0.0], vec![0.0]));
    assert_eq!(run.timeline().last(), Some(&("NextState".to_owned(), 9.0)));
}

#[test]
fn its_input_is_filtered_by_input_path_and_its_output_placed_by_result_path() {
    let fields = json!({ "InputPath": "$.numbers", "ResultPath": "$.results" });
    let run = world(fun_with_math(fields))
        .input(json!({ "numbers": [3, 2] }))
        .task("Add", [ok(json!(5))])
        .task("Subtract", [ok(json!({ "of": "another type" }))])
        .run();
    assert_eq!(run.parameters("Add"), [json!([3, 2])]);
    let expected = json!({ "numbers": [3, 2], "results": [5, { "of": "another type" }] });
    assert_eq!(run.output(), expected);
}

#[test]
fn if_a_branch_fails_the_state_fails_and_all_branches_are_terminated() {
    let run = world(fun_with_math(json!({})))
        .task("Add", [after(2.0, error("Broken"))])
        .task("Subtract", [after(5.0, ok(json!(1)))])
        .run();
    assert_eq!(run.error(), "Broken");
    assert!(run.event_types().contains(&"TaskStateAborted".to_owned()));
    let late = run.calls.iter().find(|call| call.state == "Subtract").expect("it was started");
    assert!(run.cancelled.contains(&late.attempt));
    assert_eq!(run.events.iter().filter(|e| format!("{e:?}").contains("TaskSucceeded")).count(), 0);
}

#[test]
fn late_results_of_stopped_branches_change_nothing_after_a_catch() {
    let catch = json!({ "Catch": [{ "ErrorEquals": ["Broken"], "Next": "Rescue" }] });
    let mut definition = fun_with_math(catch);
    definition["States"]["Rescue"] = json!({ "Type": "Wait", "Seconds": 60, "Next": "NextState" });
    let run = world(definition)
        .task("Add", [error("Broken")])
        .task("Subtract", [after(5.0, ok(json!("late")))])
        .run();
    assert_eq!(run.path(), ["FunWithMath", "Add", "Subtract", "Rescue", "NextState"]);
    assert_eq!(run.output(), json!({ "Error": "Broken", "Cause": "scripted" }));
}

#[test]
fn a_fail_state_in_a_branch_fails_the_whole_state() {
    let failing = machine(json!({ "F": fail("ErrorA") }));
    let state = parallel(json!([branch("T"), failing]), json!({}));
    let run = world(machine(json!({ "P": state }))).task("T", [Outcome::Hangs]).run();
    assert_eq!(run.error(), "ErrorA");
}

#[test]
fn a_succeed_state_merely_terminates_its_own_branch() {
    let early = machine(json!({ "S": { "Type": "Succeed", "OutputPath": "$.a" } }));
    let state = parallel(json!([early, branch("T")]), json!({}));
    let run = world(machine(json!({ "P": state })))
        .input(json!({ "a": 1 }))
        .task("T", [after(3.0, ok(json!(2)))])
        .run();
    assert_eq!(run.output(), json!([1, 2]));
}

#[test]
fn parallel_states_nest() {
    let inner = parallel(json!([branch("A"), branch("B")]), json!({}));
    let state = parallel(json!([machine(json!({ "I": inner })), branch("C")]), json!({}));
    let run = world(machine(json!({ "P": state })))
        .task("A", [after(3.0, ok(json!("a")))])
        .task("B", [after(1.0, ok(json!("b")))])
        .task("C", [ok(json!("c"))])
        .run();
    assert_eq!(run.output(), json!([["a", "b"], "c"]));
}

#[test]
fn an_inner_failure_stops_everything_inside_the_outer_state() {
    let inner = parallel(json!([branch("A"), branch("B")]), json!({}));
    let state = parallel(json!([machine(json!({ "I": inner })), branch("C")]), json!({}));
    let run = world(machine(json!({ "P": state })))
        .task("A", [Outcome::Hangs])
        .task("B", [Outcome::Hangs])
        .task("C", [after(1.0, error("Broken"))])
        .run();
    assert_eq!(run.error(), "Broken");
    assert_eq!(run.cancelled.len(), 2);
    assert_eq!(run.execution.next_due_ms(), None);
}
