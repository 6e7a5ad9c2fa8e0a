//! How long a value's compact text is, and how deep the value.

use serde_json::Value;

/// Making a text compact makes it at most this many times longer: `1e15` becomes
/// `1000000000000000.0`, and nothing grows more.
pub(super) const GROWTH_MAX: usize = 5;

/// The length of the compact text, without writing it.
pub(super) fn of(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => of_text(text),
        Value::Array(elements) => {
            2 + elements.len().saturating_sub(1) + elements.iter().map(of).sum::<usize>()
        }
        Value::Object(fields) => {
            let inner: usize =
                fields.iter().map(|(name, value)| of_text(name) + 1 + of(value)).sum();
            2 + fields.len().saturating_sub(1) + inner
        }
    }
}

fn of_text(text: &str) -> usize {
    let escapes: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum();
    text.len() + escapes + 2
}

/// Levels of arrays and objects.
pub(super) fn depth_of(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth_of).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_is_that_of_the_text() {
        for value in [
            json!(null),
            json!([1, -2.5, true, false, "a\"b\\\n\u{1}ü", {}]),
            json!({"a": {"b": []}, "c\t": [[]], "d": 1e300}),
        ] {
            assert_eq!(of(&value), value.to_string().len(), "{value}");
        }
    }

    fn check_growth(text: &str) {
        let Ok(value) = serde_json::from_str::<Value>(text) else { return };
        assert!(of(&value) <= GROWTH_MAX * text.len(), "{text} becomes {value}");
    }

    #[test]
    fn no_short_text_grows_more() {
        for text in ["1e15", "-1e15", "9e15", "1e16", "1e9", "1e-5", "1e-7", "0", "\"\\b\""] {
            check_growth(text);
        }
        for exponent in -400..400 {
            check_growth(&format!("1e{exponent}"));
            check_growth(&format!("-9E{exponent}"));
        }
    }

    proptest! {
        #[test]
        fn no_number_grows_more(text in "-?[0-9]{1,25}(\\.[0-9]{1,3})?([eE]-?[0-9]{1,3})?") {
            check_growth(&text);
        }
    }
}
