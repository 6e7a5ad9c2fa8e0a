//! What the service was seen to answer, and what is refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Call;
use crate::{Entropy, EvalError, Scope};

fn evaluate(call: &str, input: &Value) -> Result<Value, EvalError> {
    let call = Call::parse(call).unwrap_or_else(|error| panic!("{call}: {error}"));
    let variables = json!({"v": 7});
    call.evaluate(&Scope {
        input,
        context: &json!({"Name": "n-1"}),
        variables: variables.as_object().unwrap(),
        entropy: &Entropy::new(0, 1),
        prints_structures: true,
    })
}

fn check(call: &str, expected: Value) {
    let input = json!({"s": "a,b", "n": null, "o": {"Arg1": 1, "Arg2": []}, "a": [0, 1, 2, 3]});
    assert_eq!(evaluate(call, &input), Ok(expected), "{call}");
}

fn check_fails(call: &str, expected: &str) {
    match evaluate(call, &json!({"a": [1]})) {
        Err(EvalError::Intrinsic { reason, .. }) => assert_eq!(reason, expected, "{call}"),
        other => panic!("{call}: {other:?}"),
    }
}

fn check_refused(call: &str, message: &str, hint: Option<&str>) {
    let error = Call::parse(call).expect_err(call);
    assert_eq!(error.message, message, "{call}");
    assert_eq!(error.hint.as_deref(), hint, "{call}");
    assert!(call.get(error.span).is_some(), "{call}");
}

#[test]
fn format_prints_values_as_java_does() {
    check("States.Format('{} and {}.', $.s, $.n)", json!("a,b and null."));
    check("States.Format('{}', $.o)", json!("{Arg1=1, Arg2=[]}"));
    check("States.Format('{}', States.Array('x', 1.1, true))", json!("[x, 1.1, true]"));
    check("States.Format('\\{\\} \\' \\\\ {}', $v)", json!("{} ' \\ 7"));
    check("States.Format('{\"a\": \"{}\"}', 1)", json!("{\"a\": \"1\"}"));
    check("States.Format($.s)", json!("a,b"));
    check("States.Format('line\nbreak')", json!("line\nbreak"));
}

#[test]
fn strings_become_json_and_back() {
    check("States.StringToJson('{\"a\": [1, -0]}')", json!({"a": [1, 0]}));
    check("States.StringToJson('')", json!(null));
    check("States.StringToJson(' ')", json!(null));
    check("States.StringToJson('-0')", json!(0));
    check("States.JsonToString($.o)", json!("{\"Arg1\":1,\"Arg2\":[]}"));
    check("States.JsonToString('x')", json!("\"x\""));
    check_fails(
        "States.StringToJson('{')",
        "not JSON: EOF while parsing an object at line 1 column 1",
    );
    check_fails("States.StringToJson(1)", "the argument must be a string, but is 1");
}

#[test]
fn arrays() {
    check("States.Array()", json!([]));
    check("States.Array('a', 1, null, true, $.n)", json!(["a", 1, null, true, null]));
    check("States.ArrayPartition($.a, 3)", json!([[0, 1, 2], [3]]));
    check("States.ArrayPartition(States.Array(), 1)", json!([]));
    check("States.ArrayContains($.a, 2)", json!(true));
    check("States.ArrayContains(States.Array($.o), $.o)", json!(true));
    check("States.ArrayRange(1, 9, 2)", json!([1, 3, 5, 7, 9]));
    check("States.ArrayRange(0, 10, 3)", json!([0, 3, 6, 9]));
    check("States.ArrayRange(1, 9, 9)", json!([1]));
    check("States.ArrayRange(3, 1, -1)", json!([3, 2, 1]));
    check("States.ArrayGetItem($.a, 1)", json!(1));
    check("States.ArrayLength($.a)", json!(4));
    check(
        "States.ArrayUnique(States.Array(1, 'a', 1, 1.0, null, null))",
        json!([1, "a", 1.0, null]),
    );
    check_fails("States.ArrayPartition($.a, 0)", "the size must be positive");
    check_fails("States.ArrayRange(1, 1001, 0)", "the step must not be 0");
    check_fails("States.ArrayRange(0, 1000, 1)", "the range has more than 1000 values");
    check_fails("States.ArrayGetItem($.a, 1)", "there is no item 1 in an array of 1");
    check_fails("States.ArrayLength('x')", "the first argument must be an array, but is \"x\"");
}

#[test]
fn halves_are_rounded_up_before_adding() {
    check("States.MathAdd(1.5, 0)", json!(2));
    check("States.MathAdd(-1.5, 0)", json!(-1));
    check("States.MathAdd(-1.51, 0)", json!(-2));
    check("States.MathAdd(1.49, 1.5)", json!(3));
    check("States.MathAdd(0.49999999999999994, 0)", json!(0));
    check_fails("States.MathAdd(9223372036854775807, 1)", "the sum is out of range");
    check_fails("States.MathAdd(1e300, 1)", "the first argument is out of range: 1e+300");
}

#[test]
fn random_numbers_come_from_the_seed() {
    let seeded =
        |seed| evaluate(&format!("States.MathRandom(0, 999999, {seed})"), &json!({})).unwrap();
    assert_eq!(seeded(3), seeded(3));
    assert_ne!(seeded(3), seeded(4));
    for seed in 0..100 {
        let number = evaluate(&format!("States.MathRandom(-2, 2, {seed})"), &json!({})).unwrap();
        assert!((-2..2).contains(&number.as_i64().unwrap()), "{number}");
    }
    check_fails(
        "States.MathRandom(1, 1)",
        "the start must be less than the end, but 1 is not less than 1",
    );
    assert_eq!(evaluate("States.UUID()", &json!({})), evaluate("States.UUID()", &json!({})));
}

#[test]
fn texts_are_encoded_hashed_and_split() {
    check("States.Base64Encode('Data to encode')", json!("RGF0YSB0byBlbmNvZGU="));
    check("States.Base64Decode('RGVjb2RlZCBkYXRh')", json!("Decoded data"));
    check("States.Base64Decode('YQ')", json!("a"));
    check("States.Hash('input data', 'SHA-1')", json!("aaff4a450a104cd177d28d18d74485e8cae074b7"));
    check("States.StringSplit('This.is+a,test', '.+,')", json!(["This", "is", "a", "test"]));
    check("States.StringSplit(',,,,', ',')", json!([]));
    check_fails(
        "States.Hash('x', 'MD4')",
        "the algorithm must be MD5, SHA-1, SHA-256, SHA-384 or SHA-512, but is MD4",
    );
    check_fails("States.Base64Decode('/w==')", "what is encoded is not UTF-8 text");
    let long = "x".repeat(10_001);
    check_fails(
        &format!("States.Hash('{long}', 'MD5')"),
        "the data has more than 10000 characters",
    );
}

#[test]
fn merging_is_shallow() {
    let call = "States.JsonMerge(States.StringToJson('{\"a\":{\"x\":1},\"b\":2}'), \
                States.StringToJson('{\"a\":{\"y\":1},\"c\":3}'), false)";
    check(call, json!({"a": {"y": 1}, "b": 2, "c": 3}));
    check_fails("States.JsonMerge($, $, true)", "deep merging is not supported: pass false");
}

#[test]
fn calls_nest_and_take_any_path() {
    let input = json!({"a,b": [{"x)": 1, "t": "p'q"}]});
    for (call, expected) in [
        ("States.ArrayGetItem(States.StringSplit($$.Name, '-'), States.MathAdd(0, 1))", json!("1")),
        ("States.Array($['a,b'][0]['x)'],$v)", json!([1, 7])),
        ("States.Array($['a,b'][?(@.t == \"p'q\" && @.t)].t , 1)", json!([["p'q"], 1])),
        ("States.Array($['a,b'].length(), 1)", json!([1, 1])),
    ] {
        assert_eq!(evaluate(call, &input), Ok(expected), "{call}");
    }
    assert!(matches!(evaluate("States.Array($.no)", &input), Err(EvalError::Path { .. })));
    let mut names = Vec::new();
    let call = Call::parse("States.Array($a, States.Array($b.x))").unwrap();
    call.variables(&mut |name| names.push(name.to_owned()));
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn mistakes_are_found_before_there_is_data() {
    check_refused(
        "States.Fromat('')",
        "unknown intrinsic function `States.Fromat`",
        Some("did you mean `States.Format`?"),
    );
    check_refused(
        "Format('')",
        "unknown intrinsic function `Format`",
        Some("did you mean `States.Format`?"),
    );
    check_refused("States.UUID(1)", "States.UUID takes 0 arguments, not 1", None);
    check_refused("States.Hash('a')", "States.Hash takes 2 arguments, not 1", None);
    check_refused("States.MathRandom(1)", "States.MathRandom takes 2 or 3 arguments, not 1", None);
    check_refused(
        "States.Format('{}')",
        "States.Format has 1 times `{}` but 0 values for them",
        None,
    );
    check_refused(
        "States.Format('\\\"')",
        "a backslash stands only before ' { } and \\",
        Some("write `\\\\` for a backslash"),
    );
    check_refused("States.Format('a", "a string that does not end", None);
    check_refused("States.Format(\"a\")", "strings stand in single quotes", Some("write 'text'"));
    check_refused("States.UUID() x", "nothing can follow the closing `)`", None);
    check_refused(
        " States.UUID()",
        "expected an intrinsic function or a path",
        Some("paths begin with `$`, functions with `States.`"),
    );
    check_refused("States.UUID", "expected `(` right after the name", Some("write States.UUID(…)"));
    check_refused(
        "States.Array(1,)",
        "expected an argument",
        Some("a 'string', a number, true, false, null, a path or a call"),
    );
    check_refused("States.Array(1e999)", "not a number", None);
    check_refused(
        "States.Array($.a[)",
        "expected an index, a name in quotes, `*` or `?` after `[`",
        None,
    );
}

fn check_misfit(call: &str, expected: Option<(&str, &str)>) {
    let parsed = Call::parse(call).unwrap_or_else(|error| panic!("{call}: {error}"));
    let found = parsed.misfit().map(|misfit| (&call[misfit.span.clone()], &*misfit.message));
    assert_eq!(found, expected, "{call}");
}

#[test]
fn arguments_that_no_input_makes_right_are_found() {
    check_misfit(
        "States.MathAdd(1,'-1')",
        Some(("'-1'", "argument 2 of States.MathAdd must be a number, but is a string")),
    );
    check_misfit(
        "States.Array(States.ArrayLength(States.Format('x') ))",
        Some((
            "States.Format('x')",
            "argument 1 of States.ArrayLength must be an array, but is a string",
        )),
    );
    check_misfit(
        "States.JsonMerge($.a, null, false)",
        Some(("null", "argument 2 of States.JsonMerge must be an object, but is null")),
    );
    for right in [
        "States.MathAdd($.a, States.ArrayGetItem($.b, 0))",
        "States.Format('{} {} {}', 1, true, States.Array())",
        "States.ArrayContains(States.Array(1), 'x')",
        "States.StringToJson($$.x)",
        "States.MathAdd(1, 2)  ",
    ] {
        check_misfit(right, None);
    }
}

#[test]
fn some_calls_return_texts() {
    for (call, expected) in [
        ("States.Format('x')", true),
        ("States.UUID()", true),
        ("States.ArrayGetItem($.a, 0)", true),
        ("States.JsonToString($)", true),
        ("States.StringToJson($.x)", false),
        ("States.Array('x')", false),
        ("States.MathAdd(1, 1)", false),
    ] {
        assert_eq!(Call::parse(call).unwrap().returns_text(), expected, "{call}");
    }
}

#[test]
fn ten_calls_deep_and_no_more() {
    let nested = |depth: usize| format!("{}{}", "States.Array(".repeat(depth), ")".repeat(depth));
    assert!(Call::parse(&nested(10)).is_ok());
    check_refused(&nested(11), "intrinsic functions nested more than 10 deep", None);
    assert!(Call::parse(&nested(10_000)).is_err());
    assert!(Call::parse(&"[".repeat(10 << 20)).is_err());
}

#[test]
fn many_copies_of_a_large_input_are_refused() {
    let call = format!("States.Array({}$)", "$,".repeat(10_000));
    let input = json!("x".repeat(100_000));
    assert!(matches!(evaluate(&call, &input), Err(EvalError::Limit { .. })));
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused_where_it_is_wrong(text in "[$@.\\[\\]()'\"a0-9,{}\\\\ ü-]{0,40}") {
        for text in [text.clone(), format!("States.Format({text})"), format!("States.Array('{text}')")] {
            if let Err(error) = Call::parse(&text) {
                prop_assert!(text.get(error.span.clone()).is_some(), "{} {:?}", text, error);
            }
        }
    }
}
