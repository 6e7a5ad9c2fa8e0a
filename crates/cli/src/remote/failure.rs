//! How a function failed, in words: from what it answered, or from the record of an attempt.

use serde_json::Value;

use super::shown;

/// `ValueError: no funds`
pub(crate) fn head(failure: &Value) -> String {
    let name = match shown::text(failure, "errorType") {
        name if name.is_empty() => "an error without a name".to_owned(),
        name => name,
    };
    let message = match &failure["errorMessage"] {
        Value::Null => String::new(),
        Value::String(message) => message.trim_end().to_owned(),
        other => other.to_string(),
    };
    if message.is_empty() { name } else { format!("{name}: {message}") }
}

/// Where it was raised, line by line. Python's clients say `stackTrace`, those for Node.js `trace`.
pub(crate) fn stack(failure: &Value) -> Vec<String> {
    let entries = failure.get("stackTrace").or_else(|| failure.get("trace"));
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let lines = entries.filter_map(Value::as_str).flat_map(str::lines);
    let mut lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    // Node.js says first what is said already.
    if lines.first().is_some_and(|line| *line == head(failure)) {
        lines.remove(0);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(failure: &str, expected: &[&str]) {
        let failure = serde_json::from_str(failure).unwrap();
        let told = [vec![head(&failure)], stack(&failure)].concat();
        assert_eq!(told, expected, "{failure}");
    }

    #[test]
    fn failures() {
        check(
            r#"{"errorType": "ValueError", "errorMessage": "no", "stackTrace": ["  File \"a.py\", line 1\n    raise\n"]}"#,
            &["ValueError: no", "  File \"a.py\", line 1", "    raise"],
        );
        check(
            r#"{"errorType": "Error", "errorMessage": "no", "trace": ["Error: no", "    at a.js:1"]}"#,
            &["Error: no", "    at a.js:1"],
        );
        check(r#"{"errorType": "Out"}"#, &["Out"]);
        check(r#"{"errorMessage": {"a": 1}}"#, &[r#"an error without a name: {"a":1}"#]);
        check(r#""text""#, &["an error without a name"]);
    }
}
