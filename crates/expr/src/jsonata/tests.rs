//! Expressions as users write them.

use serde_json::{Map, Value, json};

use super::*;
use crate::{Entropy, EvalError};

const NOW_MS: i64 = 1_700_000_000_123;

fn states() -> Value {
    json!({
        "input": {
            "name": "Ada", "n": 3, "one": [5], "none": [], "nil": null,
            "items": [{"id": 1, "price": 10}, {"id": 2, "price": 2.5}],
            "deep": {"list": [{"x": [1, 2]}, {"x": 3}], "object": {"a": {"b": true}}},
        },
        "context": {"Execution": {"Id": "arn"}},
    })
}

fn variables() -> Map<String, Value> {
    let variables = json!({"v": {"x": 7}, "list": [1, 2], "trim": "shadow", "nothing": null});
    variables.as_object().cloned().unwrap_or_default()
}

pub(super) fn evaluate(text: &str) -> Result<Value, EvalError> {
    let expression = Expression::parse(text).expect(text);
    let (states, variables, entropy) = (states(), variables(), Entropy::new(NOW_MS, 42));
    Session::new(&states, &variables, &entropy).evaluate(&expression)
}

fn check(text: &str, expected: impl Into<Value>) {
    assert_eq!(evaluate(text), Ok(expected.into()), "{text}");
}

fn check_error(text: &str, expected: &str) {
    assert_eq!(evaluate(text).unwrap_err().to_string(), expected, "{text}");
}

fn check_syntax(text: &str, message: &str, marked: &str) {
    let error = Expression::parse(text).expect_err(text);
    assert_eq!(error.message, message, "{text}");
    assert_eq!(&text[error.span], marked, "{text}");
}

#[test]
fn plain_paths_need_no_engine_and_agree_with_it() {
    for path in [
        "$states",
        "$states.input",
        "$states.input.name",
        "$states.input.name.first",
        "$states.input.one",
        "$states.input.none",
        "$states.input.none.x",
        "$states.input.nil",
        "$states.input.nil.x",
        "$states.input.missing",
        "$states.input.items",
        "$states.input.items.id",
        "$states.input.items.missing",
        "$states.input.deep.list.x",
        "$states.input.deep.object.a.b",
        "$states.result",
        "$v",
        "$v.x",
        "$v.x.y",
        "$list",
        "$nothing",
        "$nothing.x",
        "$missing",
        "$missing.x",
        "'text'",
        "true",
        "null",
        "1",
        "0.5",
        "1e300",
        "$states.input.n = 3",
        "$states.input.n = 3.0 and $v.x != 8",
        "$states.input.n > 2 or $v.x <= 1",
        "$states.input.n >= $states.input.n",
        "$states.input.n < 'a'",
        "$states.input.n = '3'",
        "$states.input.nil = null",
        "$states.input.nil != $missing",
        "$missing = $missing",
        "$missing != 1",
        "$missing < 1",
        "$states.input.name = 'Ada' and true",
        "$states.input.name < 'B'",
        "$states.input.name and 1",
        "$missing or true",
        "'Hello ' & $states.input.name & '!'",
        "'n: ' & $states.input.n & $missing & $states.input.one",
        "$states.input.one = 5",
        "$states.input.one = $states.input.one",
        "1 and 0",
    ] {
        // In parentheses it is a block, which only the engine can evaluate.
        assert_eq!(evaluate(path), evaluate(&format!("({path})")), "{path}");
        assert!(Expression::parse(path).unwrap().compiled().plan.is_some(), "{path}");
    }
}

#[test]
fn values() {
    check("1", 1);
    check("[]", json!([]));
    check("{'b': 1, 'a': $states.input.n + 0.5}", json!({"b": 1, "a": 3.5}));
    check("$v.x / 7", 1);
    check("$sum($states.input.items.(id * price))", 15);
    check("$states.input.items[price > 5].id", 1);
    check("$states.input.items[$.id = 2].price", 2.5);
    check("$map($list, function($i) { $i & '!' })", json!(["1!", "2!"]));
    check("$states.input.items^(price).id", json!([2, 1]));
    check("$states.input.items{$string(id): price}", json!({"1": 10, "2": 2.5}));
    check("$variable := 1", 1);
    check("($f := function($n) { $n < 2 ? 1 : $n * $f($n - 1) }; $f(5))", 120);
    check("$states.context.Execution.Id", "arn");
    check("$trim", "shadow");
    check("$states.input.name.$length()", 3);
    check("$states.input.name.$pad(5, '#')", "Ada##");
    check("$map(['a', 'b'], $string)", json!(["a", "b"]));
    check("$reduce([[1], [2], [3]], $append)", json!([1, 2, 3]));
    check("$replace('abc', /[ac]/, function($m) { $uppercase($m.match) })", "AbC");
    check("'a-b' ~> $split('-') ~> $reverse()", json!(["b", "a"]));
    check(
        "$distinct([1, '1', {'a': 1, 'b': [2]}, -0, {'b': [2], 'a': 1}, 1, 0, null, null])",
        json!([1, "1", {"a": 1, "b": [2]}, 0, null]),
    );
    check("$contains('hello$world', /^hello\\$/)", true);
}

#[test]
fn failures() {
    check_error("$missing", "returned nothing (undefined)");
    check_error("$randomSeeded(1)", "T1006: Attempted to invoke a non-function");
    check_error("$error('no')", "D3137: no");
    check_error("function($x) { $x }", "The result holds a function, which is not JSON");
    check_error("'a' + 1", "T2001: The left side of the + operator must evaluate to a number");
}

#[test]
fn added_functions() {
    check("$partition([0, 1, 2], 2)", json!([[0, 1], [2]]));
    check("$partition([0], 4)", json!([[0]]));
    check("$range(1, 9, 2)", json!([1, 3, 5, 7, 9]));
    check("$range(3, 1, -1)", json!([3, 2, 1]));
    check("$range(1, 9, 9)", 1);
    check("$hash('input data', 'SHA-1')", "aaff4a450a104cd177d28d18d74485e8cae074b7");
    check("$hash('', 'MD5')", "d41d8cd98f00b204e9800998ecf8427e");
    check("$length($hash('', 'SHA-256'))", 64);
    check("$length($hash('', 'SHA-384'))", 96);
    check("$length($hash('', 'SHA-512'))", 128);
    check("$parse('-0')", 0);
    check("$parse('[1, 2, \"x\"]')", json!([1, 2, "x"]));
    check("$random(7) = $random(7)", true);
    check("$random() = $random()", false);
    check("$uuid() = $uuid()", false);
    check("$length($uuid())", 36);
    check("$count($shuffle([1..100])) = 100 and $shuffle([1..100]) != [1..100]", true);
    for undefined in ["$partition($x, 1)", "$range($x, 1, 1)", "$hash($x, 'MD5')", "$parse($x)"] {
        assert_eq!(evaluate(undefined), Err(EvalError::Undefined), "{undefined}");
    }
    for wrong in [
        "$partition([1], 0)",
        "$partition([1], 'a')",
        "$range(1, 2, 0)",
        "$hash(1, 'MD5')",
        "$hash('a', 'CRC')",
        "$parse('{')",
        "$random('a')",
    ] {
        assert!(matches!(evaluate(wrong), Err(EvalError::Jsonata { .. })), "{wrong}");
    }
}

#[test]
fn time_is_the_moment_of_the_evaluation() {
    check("$millis()", NOW_MS);
    check("$now()", "2023-11-14T22:13:20.123Z");
    check("$now('[Y]/[M]')", "2023/11");
    check("$fromMillis($toMillis('13:45', '[H]:[m]'))", "2023-11-14T13:45:00.000Z");
    check("$fromMillis($toMillis('02-03', '[M]-[D]'))", "2023-02-03T00:00:00.000Z");
}

#[test]
fn refused() {
    check_syntax("$eval('1')", "the function $eval is not supported", "$eval");
    check_syntax("$map([], $eval)", "the function $eval is not supported", "$eval");
    check_syntax("$a ?? '?:'", "the operator ?? is not supported", "??");
    check_syntax("$a ?: 1", "the operator ?: is not supported", "?:");
    check_syntax("  ", "the expression is empty", "");
    check_syntax("$.a", "$ is not allowed at the top level", "$");
    check_syntax("1 + $", "$ is not allowed at the top level", "$");
    check_syntax("$$.a", "$$ is not allowed at the top level", "$$");
    check_syntax(
        "states.input",
        "the field name 'states' is not allowed at the top level",
        "states",
    );
    check_syntax("$v.a + a", "the field name 'a' is not allowed at the top level", "a");
    check_syntax("$sum(`a b`)", "the field name 'a b' is not allowed at the top level", "`a b`");
    check_syntax("$count(**)", "a wildcard is not allowed at the top level", "**");
    check_syntax("'abc", "S0101: String literal must be terminated by a matching quote", "'abc");
    check_syntax(
        "function($x)<né:n>{$x}",
        "S0401: a function signature can only hold ASCII characters",
        "né",
    );
    check_syntax("1 +", "S0207: Unexpected end of expression", "");
    check_syntax("(1; 2", "S0203: Expected RightParen before end of expression", "");
    check_syntax("[1, 2) + 3", "S0202: Expected RightBracket, got RightParen", ")");
    check_syntax("1 /* x", "S0106: Comment has no closing tag", "");
}

#[test]
fn regular_expressions_that_cannot_be_used_are_refused_early() {
    let error = Expression::parse("$match($v, /(?=a)b/)").unwrap_err();
    assert_eq!(error.span, 11..19);
    assert!(error.hint.is_some() && error.message.contains("look-around"), "{error}");
}

#[test]
fn the_context_is_allowed_where_there_is_one() {
    for allowed in [
        "$count($states.result[$ = 1])",
        "$states.input.items.(id + price)",
        "$states.input.items^(>price)",
        "$states.input.items{name: $sum(price)}",
        "$states.input ~> |items|{'a': id}|",
        "$map($list, function($i) { $ })",
        "$v.*",
    ] {
        assert!(Expression::parse(allowed).is_ok(), "{allowed}");
    }
}

fn collected(read: impl FnOnce(&mut dyn FnMut(&str))) -> Vec<String> {
    let mut names = Vec::new();
    read(&mut |name| names.push(name.to_owned()));
    names
}

fn check_reads(text: &str, variables: &[&str], fields: &[&str]) {
    let expression = Expression::parse(text).expect(text);
    assert_eq!(collected(|into| expression.variables(into)), variables, "{text}");
    assert_eq!(collected(|into| expression.states_fields(into)), fields, "{text}");
}

#[test]
fn what_is_read() {
    check_reads("$a + $b.c + $a", &["a", "b"], &[]);
    check_reads("$states.input.x & $states.errorOutput", &[], &["input", "errorOutput"]);
    check_reads("$map($a, function($b) { $b + $c })", &["a", "c"], &[]);
    check_reads("($x := $y; $x + $z)", &["y", "z"], &[]);
    check_reads("(($x := 1); $x)", &["x"], &[]);
    check_reads("$map($a, $string) ~> $unknown()", &["a"], &[]);
    check_reads("($f := function($n) { $f($n) }; $f(1))", &[], &[]);
    check_reads("$a@$b.c#$i[$i = $j].$b", &["a", "j"], &[]);
    check_reads("$lookup($states, 'input')", &[], &[]);
}

#[test]
fn sessions_are_deterministic() {
    let text = "[$random(), $uuid(), $shuffle([1..9])]";
    assert_eq!(evaluate(text), evaluate(text));
}

fn check_template(template: &Value, expected: Result<Value, (&[&str], &str)>) {
    let template = Template::parse(template).expect("it compiles");
    let (states, variables, entropy) = (states(), variables(), Entropy::new(NOW_MS, 42));
    let found = template.evaluate(&Session::new(&states, &variables, &entropy));
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (Err(error), Err((location, expression))) => {
            assert_eq!(error.location, location);
            assert_eq!(error.expression, expression);
        }
        (found, expected) => panic!("{found:?}, not {expected:?}"),
    }
}

#[test]
fn templates() {
    check_template(&json!("{% $v.x %}"), Ok(json!(7)));
    check_template(&json!("{%$v.x%}"), Ok(json!(7)));
    for text in [" {% 1 %}", "{% 1 %} ", "a {% 1 %}", "{%", "{%}", "$states.input", "{1}"] {
        check_template(&json!([text]), Ok(json!([text])));
    }
    check_template(
        &json!({"b": ["{% $v.x %}", {"c": "{% 'd' %}"}], "a": [null, 1.0, {}], "{% 1 %}": 2}),
        Ok(json!({"b": [7, {"c": "d"}], "a": [null, 1.0, {}], "{% 1 %}": 2})),
    );
    check_template(&json!("{% $x %}"), Err((&[], "$x")));
    check_template(&json!({"a": [1, {"b/c": "{% $x %}"}]}), Err((&["a", "1", "b/c"], "$x")));
}

#[test]
fn all_that_is_wrong_with_a_template_is_said() {
    let template = json!({"a/b": ["{% 1 + %}", "{% $ok %}"], "c": "{% $eval('1') %}"});
    let errors = Template::parse(&template).unwrap_err();
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/a~1b/0", "/c"]);
    assert_eq!(errors[1].error.span, 3..8);
}

#[test]
fn expressions_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Expression>();
    shared::<Template>();
}

#[test]
fn calls_of_unknown_functions_are_found() {
    let check = |text: &str, expected: &[&str]| {
        let mut found = Vec::new();
        let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        expression.unknown_functions(&mut |name| found.push(name.to_owned()));
        assert_eq!(found, expected, "{text}");
    };
    check("$randomSeeded($states.input.seed)", &["randomSeeded"]);
    check("$sum($map([1, 2], function($x) { $twice($x) + $twice(1) }))", &["twice"]);
    check("($twice := function($x) { $x * 2 }; $twice(2))", &[]);
    check("($f := function($n) { $n = 0 ? 0 : $f($n - 1) }; $f(2))", &[]);
    check("function($g) { $g(1) }($string)", &[]);
    check("[1, 2] ~> $sum() + $count([1])", &[]);
    check("$lowerCase($nothing)", &["lowerCase"]);
}
