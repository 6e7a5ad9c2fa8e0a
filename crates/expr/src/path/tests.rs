//! What paths find, and what they say when they do not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Path, ReferencePath, Root};
use crate::{Entropy, EvalError, NoVariables, Scope, SyntaxErrorKind};

/// Evaluates a path on `input`, with the context object `{"c": 1}` and a variable `v`.
fn evaluate(path: &str, input: &Value) -> Result<Value, EvalError> {
    let path = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let variables = json!({"v": {"a": [1, 2]}});
    path.evaluate(&Scope {
        input,
        context: &json!({"c": 1}),
        variables: variables.as_object().unwrap(),
        entropy: &Entropy::new(0, 0),
        prints_structures: true,
    })
    .map(std::borrow::Cow::into_owned)
}

fn document() -> Value {
    json!({
        "a": {"b": [10, 20, 30], "c": {"x": 1}, "null": null},
        "items": [{"x": 1, "n": "one"}, {"x": 2, "n": "two"}, {"x": null}, {"n": "x", "t": ["p"]}],
        "k": 1,
        "s": "hello",
        "a:b": "colon",
        "it's": "quote",
        "say \"hi\"": "escaped",
        "back\\\"slash": "raw",
    })
}

fn check(path: &str, expected: Value) {
    assert_eq!(evaluate(path, &document()), Ok(expected), "{path}");
}

fn check_reason(path: &str, expected: &str) {
    match evaluate(path, &document()) {
        Err(EvalError::Path { reason, .. }) => assert_eq!(reason, expected, "{path}"),
        other => panic!("{path}: {other:?}"),
    }
}

fn check_refused(path: &str, kind: SyntaxErrorKind, message: &str) {
    let error = Path::parse(path).expect_err(path);
    assert_eq!((error.kind, error.message.as_str()), (kind, message), "{path}");
    assert!(path.get(error.span.clone()).is_some(), "{path}: {:?}", error.span);
}

#[test]
fn definite_paths_give_the_node() {
    check("$.a.b[0]", json!(10));
    check("$['a'][\"b\"][-1]", json!(30));
    check("$.a.null", json!(null));
    check("$.a:b", json!("colon"));
    check("$.['k']", json!(1));
    check("$['it\\'s']", json!("quote"));
    check("$['say \\\"hi\\\"']", json!("escaped"));
    check("$[\"say \\\"hi\\\"\"]", json!("escaped"));
    check("$['say \"hi\"']", json!("escaped"));
    // A name with a backslash of its own, escaped and as it is.
    check("$['back\\\\\"slash']", json!("raw"));
    check("$['back\\\"slash']", json!("raw"));
    check("$['k','s','no']", json!({"k": 1, "s": "hello"}));
}

#[test]
fn indefinite_paths_give_a_list() {
    check("$.a.b[1:]", json!([20, 30]));
    check("$.a.b[:-1]", json!([10, 20]));
    check("$.a.b[-1:1]", json!([30, 10]));
    check("$.a.b[-2000000000:1]", json!([10, 20, 30, 10]));
    check("$.a.b[2,0,7]", json!([30, 10]));
    check("$.items[*].n", json!(["one", "two", "x"]));
    check("$.items[*].no", json!([]));
    check("$..x", json!([1, 1, 2, null]));
    check("$['a','k'].c", json!([{"x": 1}]));
}

#[test]
fn roots_are_input_context_and_variables() {
    check("$$.c", json!(1));
    check("$v.a[1]", json!(2));
    check("$v", json!({"a": [1, 2]}));
    assert_eq!(Path::parse("$v.a").unwrap().root(), &Root::Variable("v".into()));
    assert!(Path::parse("$").unwrap().is_identity());
    assert!(!Path::parse("$$").unwrap().is_identity());
    let mut names = Vec::new();
    Path::parse("$v.a").unwrap().variables(&mut |name| names.push(name.to_owned()));
    assert_eq!(names, ["v"]);
}

#[test]
fn definiteness_is_known_beforehand() {
    for (path, definite) in [
        ("$.a[0]['b']", true),
        ("$['a','b']", true),
        ("$['a','b'].c", false),
        ("$.a[0,1]", false),
        ("$.a[0:1]", false),
        ("$.a[*]", false),
        ("$..a", false),
        ("$[?(@.x)]", false),
        ("$.a.length()", true),
        ("$..a.length()", true),
        ("$.a[*].length()", false),
    ] {
        assert_eq!(Path::parse(path).unwrap().is_definite(), definite, "{path}");
    }
}

#[test]
fn missing_values_are_reported_in_jayways_words() {
    check_reason("$.no", "No results for path: $['no']");
    check_reason("$$.no", "No results for path: $['no']");
    check_reason("$.a.no", "No results for path: $['a']['no']");
    check_reason("$.no.deep", "Missing property in path $['no']");
    check_reason("$.a.b[7]", "No results for path: $['a']['b'][7]");
    check_reason("$.a.null[0]", "The path $['a']['null'] is null");
    check_reason(
        "$.a.c[0].y",
        "Filter: [0]['y'] can only be applied to arrays. Current context is: {x=1}",
    );
    check_reason(
        "$.s[?(@.x)]",
        "Filter: [?] can not be applied to primitives. Current context is: hello",
    );
    check_reason(
        "$.k.x",
        "Expected to find an object with property ['x'] in path $['k'] but found \
         'java.lang.Integer'. This is not a json object according to the JsonProvider: \
         'com.jayway.jsonpath.spi.json.JacksonJsonProvider'.",
    );
    check_reason("$w.x", "No value has been assigned to the variable $w");
}

#[test]
fn filters_compare_loosely() {
    check("$.items[?(@.x == '1')].n", json!(["one"]));
    check("$.items[?('2' == @.x)].n", json!(["two"]));
    check("$.items[?(@.x === '1')].n", json!([]));
    check("$.items[?(@.x != 1)].n", json!(["two", "x"]));
    check("$.items[?(@.x == null)]", json!([{"x": null}]));
    check("$.items[?(@.n == one)].x", json!([1]));
    check("$.items[?(@.x >= $.k)].n", json!(["one", "two"]));
    check("$.items[?(@.n > 'p')].n", json!(["two", "x"]));
    check("$.items[?(@.x < '5')]", json!([]));
}

#[test]
fn filters_know_lists_and_patterns() {
    check("$.items[?(@.n in ['two', \"x\"])].n", json!(["two", "x"]));
    check("$.items[?(@.n nin ['two'])].n", json!(["one", "x"]));
    check("$.items[?(@.t anyof ['p','q'])].n", json!(["x"]));
    check("$.items[?(@.t subsetof ['p','q'])].n", json!(["x"]));
    check("$.items[?(@.t noneof ['q'])].n", json!(["x"]));
    check("$.items[?(@.t contains 'p')].n", json!(["x"]));
    check("$.items[?(@.n size 3)].x", json!([1, 2]));
    check("$.items[?(@.t empty false)].n", json!(["x"]));
    check("$.items[?(@.n =~ /T.*/i)].x", json!([2]));
    check("$.items[?(@.n =~ /w/)].x", json!([]));
}

#[test]
fn filters_join_conditions() {
    check("$.items[?(@.x > 0 && @.n == 'two' || @.t)].n", json!(["two", "x"]));
    check("$.items[?(@.x > 0 && (@.n == 'two' || @.t))].n", json!(["two"]));
    check("$.items[?(!@.n)]", json!([{"x": null}]));
    check("$.items[?(!(@.x > 1))].n", json!(["one", "x"]));
    check("$.a[?(@.b)].c.x", json!([1]));
    check("$.items[?(@.t[?(@ == 'p')] size 1)].n", json!(["x"]));
}

#[test]
fn functions_end_a_path() {
    check("$.a.b.length()", json!(3));
    check("$.a.b.sum()", json!(60.0));
    check("$..x.max()", json!(2.0));
    check("$.a.c.keys()", json!(["x"]));
    check("$.a.b.index(-2)", json!(20));
    check("$.a.b.append(\"z\", $.k)", json!([10, 20, 30, "z", 1]));
    check("$.concat($.s, \"!\")", json!("hello!"));
    check("$.s.length()", json!(null));
    check_reason(
        "$.s.sum()",
        "Aggregation function attempted to calculate value using empty array",
    );
}

#[test]
fn what_cannot_be_known_is_refused_by_name() {
    use SyntaxErrorKind::{Invalid, Unsupported};
    check_refused("a.b", Invalid, "a path begins with `$`");
    check_refused("", Invalid, "a path begins with `$`");
    check_refused("$.a.", Invalid, "a path must not end with `.`");
    check_refused("$.with space", Invalid, "expected a name");
    check_refused("$.a[99999999999]", Invalid, "not an index");
    check_refused("$.a[0", Invalid, "expected `]`");
    check_refused("$.a[:]", Invalid, "a slice needs a bound");
    check_refused(
        "$['\\ud800']",
        Invalid,
        "`\\u` needs four hexadecimal digits, or two such pairs that form one character",
    );
    check_refused("$.a[?(@.x and 1)]", Invalid, "unknown operator `and`");
    check_refused("$.a[?(@.x == 1 and @.y)]", Invalid, "expected `&&`, `||` or `)`");
    check_refused("$.a[0:4:2]", Unsupported, "a slice has no step");
    check_refused("$.a.b().c", Unsupported, "unknown function `b()`");
    check_refused("$.a.first().c", Unsupported, "a function must be the last step");
    check_refused("$..[0].c", Unsupported, "nothing can follow `..` and an index");
    check_refused("$[?(@.x type 'a')]", Unsupported, "the operator `type` is not supported");
    check_refused("$[?(@..x)]", Unsupported, "whether an indefinite path exists cannot be asked");
    check_refused("$[?(!@.x == 1)]", Unsupported, "`!` stands before a path or a parenthesis only");
}

#[test]
fn hostile_paths_are_refused() {
    let deep = 10_000;
    for path in [
        format!("${}", "[".repeat(10 << 20)),
        format!("${}", ".a".repeat(deep)),
        format!("${}", "[?(@".repeat(deep)),
        format!("$[?({}", "(".repeat(deep)),
        format!("$[?({}@.a)]", "!".repeat(deep)),
        format!("$[?(@.a in {}", "[".repeat(deep)),
        format!("${}", ".sum($".repeat(deep)),
        format!("$[?(@.a =~ /{}/)]", "(a{1000}){1000}"),
    ] {
        assert!(Path::parse(&path).is_err(), "{}", &path[..40]);
        assert!(ReferencePath::parse(&path).is_err(), "{}", &path[..40]);
    }
}

#[test]
fn growth_is_bounded() {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let wide: Value = (0..5000).collect();
    let text = json!(["x".repeat(100_000), wide]);
    for (path, input) in [
        ("$..*..*..*..*..*", &deep),
        (&format!("${}", "[0,0]".repeat(60)), &deep),
        ("$[?(@ in $)]", &wide),
        ("$[*][?($[0] =~ /.*y/)]", &text),
    ] {
        let limited = matches!(evaluate(path, input), Err(EvalError::Limit { .. }));
        assert!(limited, "{path}");
    }
}

#[test]
fn borrowed_where_it_stands_in_the_data() {
    let input = document();
    let scope = Scope {
        input: &input,
        context: &Value::Null,
        variables: &NoVariables,
        entropy: &Entropy::new(0, 0),
        prints_structures: true,
    };
    for (path, borrowed) in
        [("$", true), ("$.a.b[0]", true), ("$.a.b.first()", true), ("$..x", false)]
    {
        let value = Path::parse(path).unwrap().evaluate(&scope).unwrap();
        assert_eq!(matches!(value, std::borrow::Cow::Borrowed(_)), borrowed, "{path}");
    }
}

mod reference {
    use super::*;

    fn fields(path: &str) -> Value {
        let path = ReferencePath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        path.insert(json!({}), json!(1)).unwrap()
    }

    #[test]
    fn the_specifications_examples_parse() {
        assert_eq!(fields("$.store.book"), json!({"store": {"book": 1}}));
        assert_eq!(fields("$.\\stor\\e.boo\\k"), json!({"store": {"book": 1}}));
        assert_eq!(fields("$.foo.\\.bar"), json!({"foo": {".bar": 1}}));
        let odd = json!({"foo@bar": {"baz[[": {"?pretty": 1}}});
        assert_eq!(fields("$.foo\\@bar.baz\\[\\[.\\?pretty"), odd);
        assert_eq!(fields("$.&\\\\.\\uD800\\uDF46"), json!({"&\\": {"\u{10346}": 1}}));
        assert_eq!(fields("$['store']['book']"), json!({"store": {"book": 1}}));
        for path in [
            "$.ledgers.branch[0].pending.count",
            "$.ledgers[0][22][315].foo",
            "$['store'][0]['book']",
            "$.detail-type",
            "$$.Execution.Input",
            "$list",
        ] {
            assert!(ReferencePath::parse(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn operators_are_refused_unless_escaped() {
        for path in [
            "$.a@b",
            "$.a,b",
            "$.a:b",
            "$.a?b",
            "$.*",
            "$..a",
            "$[*]",
            "$[0,1]",
            "$['a','b']",
            "$[0:1]",
            "$[?(@.x)]",
            "$.a.length()",
            "$.a b",
            "$.",
            "$.a[0",
            "a",
            "$.\\uD800",
            "$.a\\",
        ] {
            let error = ReferencePath::parse(path).expect_err(path);
            assert!(path.get(error.span).is_some(), "{path}");
        }
        assert_eq!(fields("$.a\\:b"), json!({"a:b": 1}));
        assert_eq!(fields("$['a:b, c']"), json!({"a:b, c": 1}));
    }

    fn check_insert(path: &str, target: Value, expected: Option<Value>) {
        let inserted = ReferencePath::parse(path).unwrap().insert(target, json!("new"));
        assert_eq!(inserted.ok(), expected, "{path}");
    }

    #[test]
    fn insertion_makes_fields_but_no_items() {
        check_insert("$", json!({"a": 1}), Some(json!("new")));
        check_insert("$.a", json!({"a": 1, "b": 2}), Some(json!({"a": "new", "b": 2})));
        check_insert(
            "$.a.b.c",
            json!({"a": {"x": 1}}),
            Some(json!({"a": {"x": 1, "b": {"c": "new"}}})),
        );
        check_insert("$.a[1].x", json!({"a": [1, {}]}), Some(json!({"a": [1, {"x": "new"}]})));
        check_insert("$[0]", json!([1, 2]), Some(json!(["new", 2])));
        check_insert("$.a[2]", json!({"a": [1, 2]}), None);
        check_insert("$.a[-1]", json!({"a": [1, 2]}), None);
        check_insert("$.a[0]", json!({}), None);
        check_insert("$.a.b", json!({"a": 1}), None);
        check_insert("$.x", json!("foo"), None);
        check_insert("$.x", json!([]), None);
        check_insert("$$.x", json!({}), None);
        check_insert("$v.x", json!({}), None);
    }

    proptest! {
        #[test]
        fn what_was_inserted_is_found(
            names in prop::collection::vec("[^\\\\']{1,8}", 0..6),
            number in any::<i64>(),
        ) {
            let text: String = names.iter().map(|name| format!("['{name}']")).collect();
            let path = ReferencePath::parse(&format!("${text}")).unwrap();
            let input = path.insert(json!({}), json!(number)).unwrap();
            let scope = Scope {
                input: &input,
                context: &Value::Null,
                variables: &NoVariables,
                entropy: &Entropy::new(0, 0),
                prints_structures: true,
            };
            prop_assert_eq!(path.evaluate(&scope).unwrap().into_owned(), json!(number));
        }
    }
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused_where_it_is_wrong(text in "[$@.\\[\\]()?!&|='\"a0-9,:*<>~/\\\\ ü-]{0,40}") {
        for text in [text.clone(), format!("$[?({text})]"), format!("$.{text}")] {
            match Path::parse(&text) {
                Ok(path) => {
                    let _ = evaluate(path.as_str(), &document());
                }
                Err(error) => prop_assert!(text.get(error.span.clone()).is_some(), "{} {:?}", text, error),
            }
            if let Err(error) = ReferencePath::parse(&text) {
                prop_assert!(text.get(error.span.clone()).is_some(), "{} {:?}", text, error);
            }
        }
    }
}
