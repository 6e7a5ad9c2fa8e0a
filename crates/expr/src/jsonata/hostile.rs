//! Expressions that mean harm. Each must end in a value or an error, on the stack of a
//! server's thread.

use std::thread;

use serde_json::{Value, json};

use super::tests::evaluate;
use super::*;
use crate::{Entropy, EvalError, NoVariables};

const STACK_BYTES: usize = 2 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Value,
    Syntax,
    Memory,
    Depth,
    Time,
    Thrown,
    /// Memory or time, whichever ends first on this machine.
    Stopped,
}

impl Outcome {
    fn fits(self, expected: Self) -> bool {
        self == expected || expected == Self::Stopped && matches!(self, Self::Memory | Self::Time)
    }
}

fn outcome(text: &str) -> Outcome {
    if Expression::parse(text).is_err() {
        return Outcome::Syntax;
    }
    match evaluate(text) {
        Ok(_) | Err(EvalError::Undefined) => Outcome::Value,
        Err(EvalError::Limit { message }) if message.contains("memory") => Outcome::Memory,
        Err(EvalError::Limit { message }) if message.contains("depth") => Outcome::Depth,
        Err(EvalError::Limit { message }) if message.contains("time") => Outcome::Time,
        Err(EvalError::Limit { .. }) => Outcome::Depth,
        Err(_) => Outcome::Thrown,
    }
}

/// What differs from the expectation, if anything does.
fn difference(text: String, expected: Outcome) -> Option<String> {
    let started = thread::Builder::new().stack_size(STACK_BYTES);
    let thread = started.spawn(move || {
        let found = outcome(&text);
        let text: String = text.chars().take(120).collect();
        (!found.fits(expected)).then(|| format!("{found:?}, not {expected:?}: {text}"))
    });
    let ended = thread.expect("a thread starts").join();
    ended.expect("no expression panics")
}

fn check(text: String, expected: Outcome) {
    assert_eq!(difference(text, expected), None);
}

fn check_all(cases: &[(&str, Outcome)]) {
    let difference = |(text, expected): &(&str, Outcome)| difference((*text).to_owned(), *expected);
    let differences: Vec<String> = cases.iter().filter_map(difference).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn recursion() {
    check_all(&[
        ("($f := function() { $f() }; $f())", Outcome::Time),
        ("($f := function($n) { $f($n + 1) }; $f(1))", Outcome::Time),
        ("($f := function() { 1 + $f() }; $f())", Outcome::Depth),
        ("($f := function() { [$f()] }; $f())", Outcome::Depth),
        ("($f := function() { {'a': $f()} }; $f())", Outcome::Depth),
        ("($f := function($x) { $map([1, 2], $f) }; $f(1))", Outcome::Depth),
        ("($f := function($a, $b) { $reduce([1, 2, 3], $f) }; $f(1, 2))", Outcome::Depth),
        ("($f := function($x) { $filter([1, 2], $f) }; $f(1))", Outcome::Depth),
        ("($f := function($x) { $sort([2, 1], $f) }; $f(1))", Outcome::Depth),
        ("($f := function($x) { $each({'a': 1}, $f) }; $f(1))", Outcome::Depth),
        ("($f := function($x) { $sift({'a': 1}, $f) }; $f(1))", Outcome::Depth),
        ("($f := function($x) { $single([1], $f) }; $f(1))", Outcome::Depth),
        ("($f := function($x) { $replace('a', /a/, $f) }; $f(1))", Outcome::Depth),
        ("($f := function() { $v.($f()) }; $f())", Outcome::Depth),
        ("($f := function() { $v[$f()] }; $f())", Outcome::Depth),
        ("($f := function($x) { $x ~> $f }; $f(1))", Outcome::Depth),
        ("(function($f) { $f($f) })(function($f) { $f($f) & 'a' })", Outcome::Depth),
    ]);
}

#[test]
fn nesting() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{'a':", "}"), ("$f(", ")"), ("-", "")] {
        let text = format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
        check(text, Outcome::Syntax);
        // As deep as the parser goes, or nearly.
        let text = format!("{}1{}", open.repeat(300), close.repeat(300));
        let expected = if open == "$f(" { Outcome::Thrown } else { Outcome::Value };
        check(text, expected);
    }
    for open in ["(", "[", "{", "`", "'", "/", "/*", "|", "function(", "~>", "?", "λ", "\\"] {
        check(open.repeat(20_000), Outcome::Syntax);
    }
    for chain in ["1 + ", "'a' & ", "$v.", "1 = ", "$v ~> ", "true and ", "true ? ", "$a := "] {
        check(format!("{}1", chain.repeat(20_000)), Outcome::Syntax);
    }
    check(format!("1{}", "[0]".repeat(20_000)), Outcome::Syntax);
    check("[".repeat(10 * 1024 * 1024), Outcome::Syntax);
    check(format!("({})", "$v;".repeat(20_000)), Outcome::Value);
    check(format!("[{}1]", "$v,".repeat(20_000)), Outcome::Value);
}

#[test]
fn sequences() {
    check_all(&[
        ("$count([1..873782])", Outcome::Value),
        ("[1..873783]", Outcome::Memory),
        ("[1..10000000]", Outcome::Memory),
        ("[-1e300..1e300]", Outcome::Memory),
        ("[-9223372036854775808..9223372036854775807]", Outcome::Memory),
        ("[0..9223372036854775807]", Outcome::Memory),
        ("$range(0, 1e300, 1)", Outcome::Memory),
        ("$range(0, 1, 1e-300)", Outcome::Memory),
        ("$count($range(1, 2, 1e300))", Outcome::Value),
        ("$map([1..800000], function() { [1..800000] })", Outcome::Stopped),
        ("[1..1000].[[1..800000]]", Outcome::Stopped),
        ("[1..1000].[1..1000].[1..1000]", Outcome::Value),
        ("[1..800000].$states", Outcome::Stopped),
        ("[1..800000].($states)", Outcome::Stopped),
        ("$map([1..800000], function() { $states })", Outcome::Stopped),
        ("$reduce([1..40], function($a, $b) { [$a, $a] }, [1])", Outcome::Memory),
        ("$reduce([1..40], function($a, $b) { $append($a, $a) }, [1])", Outcome::Memory),
        ("$reduce([1..400000], $append)", Outcome::Stopped),
        ("$reduce([1..60], function($a, $b) { {'l': $a, 'r': $a} }, 1)", Outcome::Stopped),
        ("$string($reduce([1..60], function($a, $b) { {'l': $a, 'r': $a} }, 1))", Outcome::Stopped),
        ("$reduce([1..60], function($a, $b) { [[$a], [$a]] }, 1) = 1", Outcome::Stopped),
        ("$reduce([1..2000], function($a, $b) { {'a': $a} }, 1)", Outcome::Memory),
        ("$map([1..800000], function() { $reverse([1..1000]) })", Outcome::Stopped),
        ("$shuffle([1..873782])[0] > 0", Outcome::Value),
        ("$count($distinct([1..200000]))", Outcome::Value),
        ("$count($keys([1..9999].{$string($): 1}))", Outcome::Value),
        ("$zip([1..800000], [1..800000]) = 1", Outcome::Value),
        ("$partition([1..873782], 1) = 1", Outcome::Value),
    ]);
}

#[test]
fn strings() {
    check_all(&[
        ("$pad('a', 2000000000)", Outcome::Memory),
        ("$pad('a', -2000000000, 'ab')", Outcome::Memory),
        ("$map(['a'], $pad(?, 2e9))", Outcome::Memory),
        ("$states.input.name.$pad(2e9)", Outcome::Memory),
        ("'a' ~> $pad(2e9)", Outcome::Memory),
        ("($p := $pad; $p('a', 2e9))", Outcome::Memory),
        ("(($pad := 1); $pad('a', 2e9))", Outcome::Memory),
        ("$length($pad('a', 2.5e5))", Outcome::Value),
        ("$reduce([1..60], function($a, $b) { $a & $a }, 'ab')", Outcome::Memory),
        ("$reduce([1..60], function($a, $b) { $join([$a, $a]) }, 'ab')", Outcome::Memory),
        ("$reduce([1..60], function($a, $b) { $replace($a, 'a', 'aa') }, 'a')", Outcome::Memory),
        ("$reduce([1..60], function($a, $b) { $replace($a, /a/, '$0$0') }, 'a')", Outcome::Memory),
        (
            "$reduce([1..60], function($a, $b) { $replace($a, /a/, function() { 'aa' }) }, 'a')",
            Outcome::Stopped,
        ),
        ("$reduce([1..60], function($a, $b) { $encodeUrlComponent($a) }, '%')", Outcome::Value),
        ("$reduce([1..99], function($a, $b) { $base64encode($a) }, 'a')", Outcome::Memory),
        ("$reduce([1..60], function($a, $b) { $string([$a]) }, '\"')", Outcome::Memory),
        ("$join($map([1..800000], function() { 'a' }), $pad('', 2e5))", Outcome::Memory),
        ("$map([1..800000], function() { $pad('', 2e5) })", Outcome::Stopped),
        ("$split($pad('', 2.5e5), '')", Outcome::Value),
        ("$map([1..9], function() { $match($pad('', 2e5), / /) })", Outcome::Memory),
        ("$contains($pad('', 1e5, 'a') & '!', /(a+)+$/)", Outcome::Value),
        ("$match('aaa', /(a{1000}){1000}/)", Outcome::Syntax),
        ("$match('aaa', /((((a{99}){99}){99}){99}){99}/)", Outcome::Syntax),
        ("$match('ab', /a(?=b)/)", Outcome::Syntax),
        ("$match('aa', /(a)\\1/)", Outcome::Syntax),
        ("$match('aa', /[ab]*a([ab]{90}){90}c/)", Outcome::Syntax),
        ("$contains($pad('', 2e5, 'ab'), /[ab]*a[ab]{900}c/)", Outcome::Value),
        (
            "$map([1..99], function() { $contains($pad('', 2e5, 'ab'), /[ab]*a[ab]{900}c/) })",
            Outcome::Memory,
        ),
        ("$match('aa', /(a/)", Outcome::Syntax),
        ("$power(10, 1e9)", Outcome::Thrown),
        ("$power(2, 1e308) + 1", Outcome::Thrown),
        ("1e308 * 10", Outcome::Thrown),
        ("1 / 0", Outcome::Thrown),
        ("$sqrt(-1)", Outcome::Thrown),
        ("$formatBase(1e300, 36)", Outcome::Value),
        ("$formatBase(1, 1e9)", Outcome::Thrown),
        ("$toMillis('1', $pad('', 1e5, '[Y1]'))", Outcome::Memory),
        // The engine panics over this one.
        ("$now('[, 1]')", Outcome::Thrown),
        ("$now($pad('', 1e5, '[Y1]'))", Outcome::Memory),
        ("$fromMillis(1, $pad('', 1e5, '[Y1]'))", Outcome::Memory),
        ("$formatInteger(1, $pad('', 1e5, '0'))", Outcome::Memory),
        ("$formatNumber(1, $pad('', 1e6, '0'))", Outcome::Memory),
        ("$formatNumber(1e300, '#,##0.00')", Outcome::Value),
        ("$formatInteger(1e300, 'w')", Outcome::Value),
        ("$formatInteger(99999999, 'I')", Outcome::Value),
        ("$round(1.5, 1e9)", Outcome::Thrown),
        ("$round(1.5, -1e9)", Outcome::Thrown),
        ("$substring('abc', -1e300, 1e300)", Outcome::Value),
        ("$fromMillis(1e300)", Outcome::Thrown),
        ("$fromMillis(-1e300, '[Y]')", Outcome::Thrown),
        ("$toMillis('99999999-01-01T00:00:00Z')", Outcome::Thrown),
        ("'\\ud800'", Outcome::Syntax),
        ("$encodeUrl('\\ud800')", Outcome::Syntax),
        ("$decodeUrl('%ff%')", Outcome::Thrown),
        ("$base64decode('****')", Outcome::Value),
        ("$parse($join($map([1..5000], function() { '[' })))", Outcome::Thrown),
        ("$number($join($map([1..5000], function() { '9' })))", Outcome::Thrown),
        ("$string($power)", Outcome::Value),
        ("$sort([3, 'a'])", Outcome::Thrown),
        ("$sort([1..1000], function() { true })[0]", Outcome::Value),
        ("$states ~> |**|{'x': $states}|", Outcome::Value),
        ("$states.**.**.**.**.**", Outcome::Value),
    ]);
}

/// Calls of variables that hold no function, whatever they hold.
#[test]
fn calls_of_data() {
    check_all(&[
        ("$v()", Outcome::Thrown),
        ("$list(1)", Outcome::Thrown),
        ("$nothing()", Outcome::Thrown),
        ("1()", Outcome::Syntax),
        ("'a'()", Outcome::Syntax),
        ("{'a': 1}()", Outcome::Syntax),
        ("{$v: 1}", Outcome::Thrown),
    ]);
}

#[test]
fn deep_data() {
    let work = || {
        let mut deep = (0..10_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        let entropy = Entropy::new(0, 0);
        let states = json!({"input": 1});
        let mut variables = serde_json::Map::new();
        variables.insert("deep".to_owned(), deep.take());
        let session = Session::new(&states, &variables, &entropy);
        for text in ["$string($deep)", "$deep[0]", "$count($deep)"] {
            let found = session.evaluate(&Expression::parse(text).expect(text));
            assert!(matches!(found, Err(EvalError::Limit { .. })), "{text}");
        }
        let mut deep = variables.remove("deep").unwrap_or_default();
        while let Value::Array(mut items) = deep {
            deep = items.pop().unwrap_or_default();
        }
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    thread.expect("a thread starts").join().expect("as expected");
}

#[test]
fn values_that_share_their_parts_are_not_written_out() {
    let entropy = Entropy::new(0, 0);
    let states = json!({"input": (0..1000).collect::<Vec<_>>()});
    let session = Session::new(&states, &NoVariables, &entropy);
    let text = "$states.input.[$states.input.[$states.input]]";
    let found = session.evaluate(&Expression::parse(text).expect(text));
    assert!(matches!(found, Err(EvalError::Limit { .. })), "{found:?}");
}

/// Functions that hold functions are released one inside the other, wherever that happens.
#[test]
fn functions_that_hold_functions() {
    let check_all = |expected: Outcome, texts: &[&str]| {
        texts.iter().for_each(|text| check((*text).to_owned(), expected));
    };
    check_all(
        Outcome::Depth,
        &[
            "$reduce([1..20000], function($a, $v) { function() { $a } }, 1)",
            "$reduce([1..20000], function($a, $v) { ($f := function() { $a }; $f) }, 1)",
            "$reduce([1..20000], function($a, $v) { $f := function() { $a } }, 1)",
            "$reduce([1..20000], function($a, $v) { [[function() { $a }]] }, 1)",
            "$reduce([1..20000], function($a, $v) { {'a': function() { $a }} }, 1)",
            "($c := function($f, $n) { $n = 0 ? 1 : $c($f ~> function($x) { $x }, $n - 1) }; $c(function($y) { $y }, 100000))",
            "$reduce([1..20000], function($a, $v) { |$|{'a': $a}| }, 1)",
            "($k := function($x, $y) { $x }; $reduce([1..20000], function($a, $v) { $k($a, ?) }, 1))",
            "($id := function($f) { $f }; $reduce([1..20000], function($a, $v) { $id(function() { $a }) }, 1))",
            "($g := function($x, $n) { ($f := function() { $x }; $n = 0 ? 1 : $g($f, $n - 1)) }; $g(1, 100000))",
            "($g := function($x, $n) { $n = 0 ? 1 : $g(function() { $x }, $n - 1) }; $g(1, 100000))",
            "($f := $reduce([1..20000], function($a, $v) { function() { $a } }, 1); $f := 1; 2)",
        ],
    );
    let textual = "$a := function() { $a }; ".repeat(9000);
    check(format!("($a := 1; {textual} 1)"), Outcome::Depth);
    check_all(
        Outcome::Value,
        &[
            "$sum($map([1..20000], function($v) { ($f := function($x) { $x + $v }; $f(1)) }))",
            "$sum($map([1..5000], function($v) { $sum($map([1..3], function($w) { $v * $w })) }))",
            "($fact := function($n) { $n < 2 ? 1 : $n * $fact($n - 1) }; $fact(20))",
            "($even := function($n) { $n = 0 ? true : $odd($n - 1) }; 1)",
            "($add := function($a, $b) { $a + $b }; $sum($map([1..1000], function($v) { $add($v, ?)(1) })))",
            "($twice := function($f) { $f ~> $f }; $twice(function($x) { $x * 2 })(3))",
        ],
    );
}
