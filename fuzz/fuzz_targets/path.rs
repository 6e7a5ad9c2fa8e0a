//! Paths: any text is compiled or refused with a span inside it; what compiles can be evaluated,
//! and what can be inserted is found again.

#![no_main]

use everstep_expr::path::{Path, ReferencePath};
use everstep_expr::{Entropy, NoVariables, Scope, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    let input = json!({"a": {"b": [1, "1", null, {"x": 5, "s": "é"}]}, "s": "text", "n": [3, 1.5]});
    let entropy = Entropy::new(0, 0);
    let scope = |input| Scope {
        input,
        context: &Value::Null,
        variables: &NoVariables,
        entropy: &entropy,
        prints_structures: true,
    };
    match Path::parse(text) {
        Ok(path) => drop(path.evaluate(&scope(&input))),
        Err(error) => assert!(text.get(error.span).is_some()),
    }
    match ReferencePath::parse(text) {
        Ok(path) => {
            if let Ok(changed) = path.insert(input.clone(), json!("new")) {
                let found = path.evaluate(&scope(&changed)).expect("it was inserted");
                assert_eq!(*found, json!("new"));
            }
        }
        Err(error) => assert!(text.get(error.span).is_some()),
    }
});
