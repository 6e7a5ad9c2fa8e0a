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

#[test]
fn a_function_is_an_unsupported_result() {
    for expression in ["function($x) { $x }", "$sum"] {
        let items = format!("{{% {expression} %}}");
        let processor = machine(json!({ "P": pass(json!({})) }));
        let state =
            json!({ "Type": "Map", "Items": items, "ItemProcessor": processor, "End": true });
        let run = world(jsonata(json!({ "M": state }))).run();
        assert_eq!(run.error(), "States.QueryEvaluationError");
        let expected = format!(
            "The JSONata expression '{expression}' specified for the field 'Items' returned an unsupported result type."
        );
        assert!(run.cause().ends_with(&expected), "{}", run.cause());
    }
}

/// As it was recorded: beside the entry of the state, and after that of a Wait state.
#[test]
fn a_failed_evaluation_follows_what_the_entry_of_its_state_follows() {
    let check = |state: Value, expected: u64| {
        let definition = jsonata(json!({ "A": pass(json!({ "Next": "B" })), "B": state }));
        let history = world(definition).run().history();
        let failed = history.iter().find(|event| event["type"] == "EvaluationFailed");
        assert_eq!(failed.expect("it fails")["previousEventId"], expected, "{history:?}");
    };
    // 1 started, 2 and 3 the state before, 4 entered.
    check(pass(json!({ "Output": "{% $states.input.no %}" })), 3);
    check(task(json!({ "Arguments": "{% $states.input.no %}" })), 3);
    let processor = machine(json!({ "P": pass(json!({})) }));
    check(json!({ "Type": "Map", "Items": "{% 1 %}", "ItemProcessor": processor, "End": true }), 3);
    check(json!({ "Type": "Wait", "Timestamp": "{% 'no' %}", "End": true }), 4);
    // What fails after the task has answered follows its answer.
    check(task(json!({ "Output": "{% $states.result.no %}" })), 6);
}
