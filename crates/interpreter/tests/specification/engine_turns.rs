//! A decision ends with its turn; and what an execution may hold.

use everstep_interpreter::{Effect, Event, Limits, effects};
use serde_json::{Value, json};

use crate::world::*;

fn distributed(extra: Value) -> Value {
    let mut processor = machine(json!({ "Each": pass(json!({})) }));
    processor["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "STANDARD" });
    map(processor, extra)
}

/// The inputs that the children of a Map Run are given.
fn inputs(run: &Run) -> Value {
    let started = run.events.iter().find(|event| matches!(event, Event::MapRunStarted { .. }));
    let asked = effects(&run.execution, &[started.expect("a Map Run").clone()]);
    match &asked[..] {
        [Effect::StartMapRun { plan, .. }] => plan.inputs.value().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn turns_of_any_length_come_to_the_same() {
    let inner = machine(json!({ "Each": pass(json!({ "Parameters": { "n.$": "$" } })) }));
    let definition = machine(json!({
        "A": parallel(json!([machine(json!({ "B": pass(json!({})) })), machine(json!({ "C": pass(json!({})) }))]),
            json!({ "ResultPath": null, "Next": "M" })),
        "M": map(inner, json!({ "MaxConcurrency": 2 })),
    }));
    let whole = world(definition.clone()).input(json!([1, 2, 3, 4, 5])).run();
    for events in 1..20 {
        let run = world(definition.clone()).input(json!([1, 2, 3, 4, 5])).turns_of(events).run();
        assert_eq!(run.output(), whole.output(), "turns of {events}");
        assert_eq!(run.events.len(), whole.events.len(), "turns of {events}");
    }
}

#[test]
fn inputs_of_children_are_selected_in_turns() {
    let selector = json!({ "ItemSelector": { "v.$": "$$.Map.Item.Value" } });
    for extra in [json!({}), selector, json!({ "ItemBatcher": { "MaxItemsPerBatch": 2 } })] {
        let definition = machine(json!({ "M": distributed(extra) }));
        let whole = world(definition.clone()).input(json!([1, 2, 3])).run();
        let run = world(definition).input(json!([1, 2, 3])).turns_of(1).run();
        let is_selection = |event: &&Event| matches!(event, Event::MapInputsSelected { .. });
        assert_eq!(whole.events.iter().filter(is_selection).count(), 0);
        assert_eq!(run.events.iter().filter(is_selection).count(), 1);
        assert_eq!(inputs(&run), inputs(&whole));
        assert_eq!(run.event_types(), whole.event_types());
    }
}

/// Fails with `States.DataLimitExceeded` at the state of this name.
fn check_too_large(definition: Value, input: Value, limits: Limits, state: &str) {
    let run = world(definition).input(input).limits(limits).run();
    assert_eq!(run.error(), "States.DataLimitExceeded");
    assert!(run.cause().contains(&format!("'{state}'")), "{}", run.cause());
}

#[test]
fn what_is_held_is_bounded() {
    let limits = Limits { held_bytes: 4_000, list_bytes: 2_000, ..Limits::default() };
    let text = "x".repeat(500);
    let each = machine(json!({ "Each": pass(json!({ "Result": text })) }));
    let items: Vec<u32> = (0..10).collect();
    let kept = machine(json!({ "M": map(each, json!({})) }));
    check_too_large(kept, json!(items), limits, "M");
    let branch =
        |n: u32| machine(json!({ (format!("Each {n}")): pass(json!({ "Result": text })) }));
    let branches: Vec<Value> = (0..12).map(branch).collect();
    check_too_large(
        machine(json!({ "P": parallel(json!(branches), json!({})) })),
        json!({}),
        limits,
        "P",
    );
    let items = vec![text.as_str(); 5];
    let copied = distributed(json!({}));
    check_too_large(machine(json!({ "D": copied })), json!(items), limits, "D");
    let selector = json!({ "ItemSelector": { "all.$": "$" } });
    let selected = machine(json!({ "D": distributed(selector) }));
    check_too_large(
        selected,
        json!(["x".repeat(300), "y".repeat(300), "z".repeat(300)]),
        limits,
        "D",
    );
    let assigned = machine(json!({ "A": pass(json!({ "Assign": { "v": "x".repeat(4_500) } })) }));
    check_too_large(assigned, json!({}), limits, "A");
    let assigned = machine(json!({ "A": pass(json!({ "Assign": { "v": "x".repeat(300_000) } })) }));
    check_too_large(assigned, json!({}), Limits::default(), "A");
}

#[test]
fn iterations_wait_for_room() {
    let limits = Limits { held_bytes: 60_000, ..Limits::default() };
    let each = machine(
        json!({ "Each": task(json!({ "ResultPath": null, "Next": "Small" })), "Small": pass(json!({ "Result": 1 })) }),
    );
    let items = vec!["x".repeat(1_000); 12];
    let run = world(machine(json!({ "M": map(each, json!({ "ResultPath": null })) })))
        .input(json!(items))
        .limits(limits)
        .task("Each", (0..12).map(|_| after(1.0, ok(json!(1)))))
        .run();
    run.output();
    assert!(run.running_max < 12, "{} at a time", run.running_max);
}
