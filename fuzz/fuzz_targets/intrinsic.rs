//! Intrinsic functions: any text is compiled or refused with a span inside it; what compiles can
//! be evaluated.

#![no_main]

use everstep_expr::intrinsic::Call;
use everstep_expr::{Entropy, NoVariables, Scope, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    let input = json!({"a": [1, "1", null, {"x": 5}], "s": "a,b", "n": -1.5, "o": {"k": 1}});
    match Call::parse(text) {
        Ok(call) => drop(call.evaluate(&Scope {
            input: &input,
            context: &Value::Null,
            variables: &NoVariables,
            entropy: &Entropy::new(0, 0),
            prints_structures: true,
        })),
        Err(error) => assert!(text.get(error.span).is_some()),
    }
});
