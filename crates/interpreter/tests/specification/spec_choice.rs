//! "Choice State" of the specification.

use serde_json::{Value, json};

use crate::world::*;

/// Which state the rule leads to: "Yes" if it holds.
fn holds(mut rule: Value, input: Value) -> Run {
    rule["Next"] = json!("Yes");
    world(machine(json!({
        "C": { "Type": "Choice", "Choices": [rule], "Default": "No" },
        "Yes": { "Type": "Succeed" },
        "No": { "Type": "Succeed" }
    })))
    .input(input)
    .run()
}

fn check(rule: Value, input: Value, expected: bool) {
    let run = holds(rule.clone(), input.clone());
    let answer = if expected { "Yes" } else { "No" };
    assert_eq!(run.path(), ["C", answer], "{rule} and {input}");
}

/// A comparison with `$.v`, both with a literal and with a path.
fn check_both(operator: &str, value: Value, with: Value, expected: bool) {
    let rule = json!({ "Variable": "$.v", operator: with });
    check(rule, json!({ "v": value }), expected);
    let rule = json!({ "Variable": "$.v", format!("{operator}Path"): "$.w" });
    check(rule, json!({ "v": value, "w": with }), expected);
}

fn example() -> Value {
    machine(json!({
        "DispatchEvent": {
            "Type": "Choice",
            "Choices": [
                { "Not": { "Variable": "$.type", "StringEquals": "Private" }, "Next": "Public" },
                { "And": [
                    { "Variable": "$.value", "IsPresent": true },
                    { "Variable": "$.value", "IsNumeric": true },
                    { "Variable": "$.value", "NumericGreaterThanEquals": 20 },
                    { "Variable": "$.value", "NumericLessThan": 30 }
                ], "Next": "ValueInTwenties" },
                { "Variable": "$.rating", "NumericGreaterThanPath": "$.auditThreshold", "Next": "StartAudit" }
            ],
            "Default": "RecordEvent"
        },
        "Public": { "Type": "Succeed" },
        "ValueInTwenties": { "Type": "Succeed" },
        "StartAudit": { "Type": "Succeed" },
        "RecordEvent": { "Type": "Succeed" }
    }))
}

#[test]
fn the_example_goes_to_value_in_twenties() {
    for (input, state) in [
        (json!({ "type": "Private", "value": 22 }), "ValueInTwenties"),
        (json!({ "type": "Other", "value": 22 }), "Public"),
        (json!({ "type": "Private", "value": 30, "rating": 9, "auditThreshold": 5 }), "StartAudit"),
        (json!({ "type": "Private", "rating": 5, "auditThreshold": 5 }), "RecordEvent"),
    ] {
        let run = world(example()).input(input.clone()).run();
        assert_eq!(run.path(), ["DispatchEvent", state], "{input}");
        assert_eq!(run.output(), input);
    }
}

#[test]
fn rules_are_tried_in_array_order() {
    let definition = machine(json!({
        "C": { "Type": "Choice", "Choices": [
            { "Variable": "$.n", "NumericGreaterThan": 1, "Next": "First" },
            { "Variable": "$.n", "NumericGreaterThan": 0, "Next": "Second" }
        ] },
        "First": { "Type": "Succeed" },
        "Second": { "Type": "Succeed" }
    }));
    for (n, state) in [(2, "First"), (1, "Second")] {
        assert_eq!(world(definition.clone()).input(json!({ "n": n })).run().path(), ["C", state]);
    }
}

#[test]
fn boolean_expressions_stop_when_their_value_is_determined() {
    // The second rule cannot be evaluated: its path finds nothing.
    let broken = json!({ "Variable": "$.missing", "NumericEquals": 1 });
    let yes = json!({ "Variable": "$.v", "NumericEquals": 1 });
    let no = json!({ "Variable": "$.v", "NumericEquals": 2 });
    check(json!({ "Or": [yes, broken] }), json!({ "v": 1 }), true);
    check(json!({ "And": [no, broken] }), json!({ "v": 1 }), false);
    assert_eq!(holds(json!({ "And": [yes, broken] }), json!({ "v": 1 })).error(), "States.Runtime");
}

#[test]
fn not_inverts_and_boolean_expressions_nest() {
    let test = |n: u64| json!({ "Variable": "$.v", "NumericEquals": n });
    check(json!({ "Not": test(1) }), json!({ "v": 1 }), false);
    check(json!({ "Not": { "Or": [test(2), { "Not": test(1) }] } }), json!({ "v": 1 }), true);
}

#[test]
fn strings_are_compared_character_by_character() {
    for (operator, value, with, expected) in [
        ("StringEquals", "a", "a", true),
        ("StringEquals", "a", "A", false),
        ("StringEquals", "a ", "a", false),
        ("StringLessThan", "a", "b", true),
        ("StringLessThan", "B", "a", true),
        ("StringGreaterThan", "b", "a", true),
        ("StringLessThanEquals", "a", "a", true),
        ("StringGreaterThanEquals", "a", "b", false),
        ("StringEquals", "e\u{301}", "\u{e9}", false),
    ] {
        check_both(operator, json!(value), json!(with), expected);
    }
}

#[test]
fn numbers_are_compared_as_doubles() {
    for (operator, value, with, expected) in [
        ("NumericEquals", json!(0), json!(0.0), true),
        ("NumericLessThan", json!(1), json!(1.5), true),
        ("NumericGreaterThan", json!(2), json!(1), true),
        ("NumericLessThanEquals", json!(2), json!(1), false),
        ("NumericGreaterThanEquals", json!(-1), json!(-1), true),
    ] {
        check_both(operator, value, with, expected);
    }
}

#[test]
fn booleans_and_timestamps_are_compared() {
    check_both("BooleanEquals", json!(true), json!(true), true);
    check_both("BooleanEquals", json!(true), json!(false), false);
    let (early, late) = (json!("2016-03-14T01:59:00Z"), json!("2016-03-14T03:00:00+01:00"));
    check_both("TimestampLessThan", early.clone(), late.clone(), true);
    check_both("TimestampGreaterThan", early.clone(), late.clone(), false);
    check_both("TimestampEquals", early.clone(), json!("2016-03-14T02:59:00+01:00"), true);
    check_both("TimestampLessThanEquals", early.clone(), early.clone(), true);
    check_both("TimestampGreaterThanEquals", late, early, true);
}

#[test]
fn values_that_are_not_both_of_the_type_compare_false() {
    check_both("NumericEquals", json!("1"), json!(1), false);
    check_both("StringEquals", json!(1), json!("1"), false);
    check_both("BooleanEquals", json!("true"), json!(true), false);
    check_both("TimestampEquals", json!("yesterday"), json!("2016-03-14T01:59:00Z"), false);
    let rule = json!({ "Variable": "$.v", "StringEqualsPath": "$.w" });
    check(rule, json!({ "v": "1", "w": 1 }), false);
}

#[test]
fn a_timestamp_can_be_matched_by_a_string_comparator() {
    check_both("StringEquals", json!("2016-03-14T01:59:00Z"), json!("2016-03-14T01:59:00Z"), true);
}

#[test]
fn string_matches_takes_a_star_for_zero_or_more_characters() {
    for (pattern, text, expected) in [
        ("foo*.log", "foo23.log", true),
        ("foo*.log", "foo.log", true),
        ("*.log", "zebra.log", true),
        ("foo*.*", "foobar.zebra", true),
        ("foo*.log", "bar.log", false),
        (r"a\*c", "a*c", true),
        (r"a\*c", "abc", false),
        (r"a\\c", r"a\c", true),
        ("a?c", "abc", false),
    ] {
        let rule = json!({ "Variable": "$.v", "StringMatches": pattern });
        check(rule, json!({ "v": text }), expected);
    }
}

#[test]
fn type_tests_say_what_a_value_is() {
    let cases = [
        ("IsNull", json!(null), json!(0)),
        ("IsNumeric", json!(1.5), json!("1")),
        ("IsString", json!("x"), json!(1)),
        ("IsBoolean", json!(false), json!("false")),
        ("IsTimestamp", json!("2016-03-14T01:59:00Z"), json!("2016-03-14")),
        ("IsPresent", json!(null), Value::Null),
    ];
    for (operator, yes, no) in cases {
        check(json!({ "Variable": "$.v", operator: true }), json!({ "v": yes }), true);
        check(json!({ "Variable": "$.v", operator: false }), json!({ "v": yes }), false);
        if operator != "IsPresent" {
            check(json!({ "Variable": "$.v", operator: true }), json!({ "v": no }), false);
        }
    }
}

#[test]
fn is_present_is_false_and_not_an_error_where_the_path_matches_nothing() {
    check(json!({ "Variable": "$.v", "IsPresent": true }), json!({}), false);
    check(json!({ "Variable": "$.v", "IsPresent": false }), json!({}), true);
}

#[test]
fn the_default_state_executes_if_no_rule_matches() {
    check(json!({ "Variable": "$.v", "NumericEquals": 1 }), json!({ "v": 2 }), false);
}

#[test]
fn rules_see_the_effective_input() {
    let definition = machine(json!({
        "C": {
            "Type": "Choice", "InputPath": "$.inner",
            "Choices": [{ "Variable": "$.v", "NumericEqualsPath": "$.w", "Next": "Yes" }]
        },
        "Yes": { "Type": "Succeed" }
    }));
    let run = world(definition).input(json!({ "inner": { "v": 1, "w": 1 } })).run();
    assert_eq!(run.output(), json!({ "v": 1, "w": 1 }));
}
