//! Any text as an expression: it is refused, or it has a value, or it fails; and what needs
//! no engine gives what the engine gives.
#![no_main]

use std::cell::OnceCell;
use std::panic;

use everstep_expr::jsonata::{Expression, Session};
use everstep_expr::{Entropy, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, json};

thread_local! {
    static DATA: OnceCell<(Value, Map<String, Value>)> = const { OnceCell::new() };
}

fn data() -> (Value, Map<String, Value>) {
    // A panic of the engine that a session turns into an error is not a finding; one that
    // gets out still is.
    panic::set_hook(Box::new(|_| {}));
    let states = json!({
        "input": {"a": [1, 2.5, "x", null, true], "b": {"c": [{"d": 1}, {"d": [2]}]}, "s": "Ada"},
        "context": {"Execution": {"Id": "id"}},
        "result": [],
    });
    let variables = json!({"v": {"x": 7}, "l": [1, [2, 3]], "s": "text", "n": null});
    (states, variables.as_object().cloned().unwrap_or_default())
}

fuzz_target!(|text: &str| {
    DATA.with(|cell| cell.get_or_init(data).0.is_null());
    let parsed = Expression::parse(text);
    if let Err(error) = &parsed {
        assert!(text.get(error.span.clone()).is_some(), "{error:?}");
    }
    let Ok(expression) = parsed else {
        return;
    };
    expression.variables(&mut |name| assert!(!name.is_empty()));
    expression.states_fields(&mut |_| {});
    DATA.with(|cell| {
        let (states, variables) = cell.get_or_init(data);
        let evaluate = |expression: &Expression| {
            let entropy = Entropy::new(1_700_000_000_000, 1);
            Session::new(states, variables, &entropy).evaluate(expression)
        };
        let value = evaluate(&expression);
        if let Ok(block) = Expression::parse(&format!("({text}\n)")) {
            let again = evaluate(&block);
            if value.is_ok() && again.is_ok() {
                assert_eq!(value, again);
            }
        }
    });
});
