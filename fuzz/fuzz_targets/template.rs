//! Payload templates: any JSON is compiled, or refused at a field that is there.

#![no_main]

use everstep_expr::template::Template;
use everstep_expr::{Entropy, NoVariables, Scope, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    match Template::parse(&value) {
        Ok(template) => drop(template.evaluate(&Scope {
            input: &json!({"a": [1, 2], "s": "text"}),
            context: &json!({"c": 1}),
            variables: &NoVariables,
            entropy: &Entropy::new(0, 0),
            prints_structures: true,
        })),
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(value.pointer(&error.pointer).is_some(), "{}", error.pointer);
            }
        }
    }
});
