//! "Intrinsic Functions" and Appendix B of the specification.

use serde_json::{Value, json};

use crate::world::*;

fn evaluate(call: &str, input: Value) -> Run {
    world(machine(json!({ "X": pass(json!({ "Parameters": { "foo.$": call } })) })))
        .input(input)
        .run()
}

fn check(call: &str, input: Value, expected: Value) {
    assert_eq!(evaluate(call, input).output()["foo"], expected, "{call}");
}

fn check_fails(call: &str, input: Value) {
    assert_eq!(evaluate(call, input).error(), "States.IntrinsicFailure", "{call}");
}

#[test]
fn the_greeting_of_the_example() {
    check(
        r"States.Format('Welcome to {} {}\'s playlist.', $.firstName, $.lastName)",
        json!({ "firstName": "Ada", "lastName": "L" }),
        json!("Welcome to Ada L's playlist."),
    );
}

#[test]
fn format_puts_each_value_in_place_of_its_braces() {
    check(
        "States.Format('Your name is {}, we are in the year {}', $.name, 2020)",
        json!({ "name": "Foo", "zebra": "stripe" }),
        json!("Your name is Foo, we are in the year 2020"),
    );
}

#[test]
fn the_template_of_format_may_be_a_path() {
    check("States.Format($.t, 1)", json!({ "t": "<{}>" }), json!("<1>"));
}

#[test]
fn format_takes_strings_booleans_numbers_and_null() {
    let input = json!({ "s": "x", "b": true, "n": 1.5, "z": null });
    check("States.Format('{} {} {} {}', $.s, $.b, $.n, $.z)", input, json!("x true 1.5 null"));
}

#[test]
fn format_refuses_arrays_and_objects() {
    let input = json!({ "a": [1], "o": { "x": 1 }, "t": "{}" });
    for call in [
        "States.Format('{}', $.a)",
        "States.Format('{}', $.o)",
        "States.Format($.t, States.Array(1))",
    ] {
        check_fails(call, input.clone());
        let run = world(machine(json!({ "X": pass(json!({ "Parameters": { "foo.$": call } })) })));
        assert!(run.aws().input(input.clone()).run().output()["foo"].is_string(), "{call}");
    }
}

#[test]
fn escaped_characters_stand_for_themselves() {
    check(r"States.Format('\{\} \' \\ {}', 1)", json!({}), json!(r"{} ' \ 1"));
}

#[test]
fn there_must_be_as_many_arguments_as_braces() {
    check_fails("States.Format($.t, 1)", json!({ "t": "{} {}" }));
}

#[test]
fn string_to_json_parses() {
    let input = json!({ "someString": "{\"number\": 20}", "zebra": "stripe" });
    check("States.StringToJson($.someString)", input, json!({ "number": 20 }));
    check_fails("States.StringToJson($.s)", json!({ "s": "{" }));
}

#[test]
fn json_to_string_prints() {
    let input = json!({ "someJson": { "name": "Foo", "year": 2020 }, "zebra": "stripe" });
    check("States.JsonToString($.someJson)", input, json!(r#"{"name":"Foo","year":2020}"#));
}

#[test]
fn array_gathers_its_arguments_in_order() {
    let input = json!({ "someJson": { "random": "abcdefg" }, "zebra": "stripe" });
    let expected = json!(["Foo", 2020, { "random": "abcdefg" }, null]);
    check("States.Array('Foo', 2020, $.someJson, null)", input, expected);
    check("States.Array()", json!({}), json!([]));
}

#[test]
fn functions_nest_and_paths_may_read_the_context() {
    check(
        "States.Array(States.Format('{}', $$.State.Name), States.JsonToString($.a))",
        json!({ "a": [1] }),
        json!(["X", "[1]"]),
    );
}

#[test]
fn a_path_that_finds_nothing_inside_a_call_fails_the_state() {
    let run = evaluate("States.Format('{}', $.missing)", json!({}));
    assert!(
        ["States.IntrinsicFailure", "States.ParameterPathFailure"].contains(&run.error().as_str())
    );
}
