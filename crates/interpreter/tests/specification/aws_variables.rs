//! Variables and JSONata: newer than the specification, as the service has them.

use serde_json::{Value, json};

use crate::world::*;

fn jsonata(states: Value) -> Value {
    let mut machine = machine(states);
    machine["QueryLanguage"] = json!("JSONata");
    machine
}

#[test]
fn all_expressions_of_assign_see_the_values_at_entry() {
    let definition = jsonata(json!({
        "A": pass(json!({ "Assign": { "x": 1, "y": 2 }, "Next": "B" })),
        "B": pass(json!({
            "Assign": { "x": "{% $y %}", "y": "{% $x %}", "sum": "{% $x + $y %}" },
            "Output": "{% $x %}",
            "Next": "C"
        })),
        "C": pass(json!({ "Output": { "x": "{% $x %}", "y": "{% $y %}", "sum": "{% $sum %}", "before": "{% $states.input %}" } }))
    }));
    let run = world(definition).run();
    assert_eq!(run.output(), json!({ "x": 2, "y": 1, "sum": 3, "before": 1 }));
}

#[test]
fn an_inner_scope_reads_outer_variables_and_keeps_its_own() {
    let inner = |name: &str| {
        json!({ "StartAt": name, "States": { name: pass(json!({
        "Assign": { "mine": "{% $outer & $states.input %}" }, "Next": format!("{name}2")
    })), format!("{name}2"): pass(json!({ "Output": "{% $mine %}" })) } })
    };
    let definition = jsonata(json!({
        "A": pass(json!({ "Assign": { "outer": "o" }, "Next": "P" })),
        "P": parallel(json!([inner("L"), inner("R")]), json!({ "Next": "M" })),
        "M": { "Type": "Map", "ItemProcessor": inner("I"), "End": true }
    }));
    let run = world(definition).input(json!("x")).run();
    assert_eq!(run.output(), json!(["oox", "oox"]));
}

#[test]
fn a_state_that_fails_assigns_nothing_but_what_its_catcher_says() {
    let definition = jsonata(json!({
        "A": pass(json!({ "Assign": { "x": "old", "caught": "no" }, "Next": "T" })),
        "T": task(json!({
            "Assign": { "x": "new" },
            "Catch": [{
                "ErrorEquals": ["States.ALL"], "Next": "C",
                "Assign": { "caught": "{% $states.errorOutput.Error %}" },
                "Output": { "was": "{% $x %}" }
            }],
            "Next": "C"
        })),
        "C": pass(json!({ "Output": { "x": "{% $x %}", "caught": "{% $caught %}", "in": "{% $states.input %}" } }))
    }));
    let run = world(definition).task("T", [error("E")]).run();
    assert_eq!(run.output(), json!({ "x": "old", "caught": "E", "in": { "was": "old" } }));
}

#[test]
fn variables_work_in_jsonpath_too() {
    let definition = machine(json!({
        "A": pass(json!({ "Assign": { "x.$": "$.v", "y": 2 }, "Next": "B" })),
        "B": pass(json!({ "Parameters": { "x.$": "$x", "y.$": "$y" } }))
    }));
    assert_eq!(
        world(definition).input(json!({ "v": 1 })).run().output(),
        json!({ "x": 1, "y": 2 })
    );
}

#[test]
fn an_expression_that_fails_is_a_query_evaluation_error_that_can_be_caught() {
    let definition = jsonata(json!({
        "T": task(json!({
            "Arguments": "{% $states.input.missing %}",
            "Catch": [{ "ErrorEquals": ["States.QueryEvaluationError"], "Next": "C" }]
        })),
        "C": { "Type": "Succeed" }
    }));
    let run = world(definition).run();
    assert_eq!(run.output()["Error"], "States.QueryEvaluationError");
    assert!(run.event_types().contains(&"EvaluationFailed".to_owned()));
}
