//! How a function failed, as text: from its response, or from the record of an attempt.

use serde_json::Value;

use everstep_source::words::count;

use crate::text::{member, payload};

/// `ValueError: no funds`
#[must_use]
pub fn head(failure: &Value) -> String {
    let name = match member(failure, "errorType") {
        name if name.is_empty() => "unnamed error".to_owned(),
        name => name,
    };
    let message = match &failure["errorMessage"] {
        Value::Null => String::new(),
        Value::String(message) => {
            message.trim_end().split('\n').map(plain).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    };
    if message.is_empty() { name } else { format!("{name}: {message}") }
}

/// Where it was raised, line by line: `stackTrace` in Python, `trace` in Node.js.
#[must_use]
pub fn stack(failure: &Value) -> Vec<String> {
    let entries = failure.get("stackTrace").or_else(|| failure.get("trace"));
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let lines = entries.filter_map(Value::as_str).flat_map(str::lines);
    let mut lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    // Node.js repeats the error first.
    if lines.first().is_some_and(|line| *line == head(failure)) {
        lines.remove(0);
    }
    lines
}

/// The last lines of its output, from the record of an attempt.
#[must_use]
pub fn log(failure: &Value) -> Vec<String> {
    let lines = failure["log"].as_array().into_iter().flatten();
    let lines = printable(lines.filter_map(Value::as_str));
    // A command's last line is its error message.
    let repeated = lines.len() == 1 && failure["errorMessage"].as_str() == Some(&lines[0]);
    if repeated { Vec::new() } else { lines }
}

/// Lines that are safe to print: Python's client writes a whole trace in one line, and a function may write
/// colours.
#[must_use]
pub fn printable<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    lines.flat_map(|line| line.split('\r')).map(plain).filter(|line| !line.is_empty()).collect()
}

/// Without control characters, and without the sequences that set colours.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.as_str().starts_with('[') {
            rest.next();
            rest.find(|c| ('@'..='~').contains(c));
        } else if !c.is_control() || c == '\t' {
            text.push(c);
        }
    }
    text.trim_end().to_owned()
}

/// How many lines of a response are shown.
const BODY_LINES_MAX: usize = 20;
const BODY_CHARS_MAX: usize = 200;

/// The body of a service's response.
#[must_use]
pub fn body(failure: &Value) -> Vec<String> {
    let text = match &failure["body"] {
        Value::Null => return Vec::new(),
        Value::String(text) => text.clone(),
        value => payload(&value.to_string(), BODY_CHARS_MAX),
    };
    let mut lines = printable(text.lines());
    let left_out = lines.len().saturating_sub(BODY_LINES_MAX);
    if left_out > 0 {
        lines.truncate(BODY_LINES_MAX);
        lines.push(format!("… {} not shown", count(left_out, "line")));
    }
    lines
}

/// What to do about a dead letter.
#[must_use]
pub fn remedy(invocation: &Value) -> String {
    let id = member(invocation, "invocationId");
    let first = match member(invocation, "reason").as_str() {
        "ZeroReservedConcurrency" => "set the function's `concurrency` to 1 or more; ",
        _ => "",
    };
    format!("dead letter; {first}to run it again, use `everstep deadletters redrive {id}`")
}

/// Indented lines below a heading; empty if there are none.
#[must_use]
pub fn indented(head: &str, lines: &[String]) -> String {
    let text = lines.iter().map(|line| format!("    {line}\n"));
    if lines.is_empty() { String::new() } else { format!("  {head}\n") + &text.collect::<String>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(failure: &str, expected: &[&str]) {
        let failure = serde_json::from_str(failure).unwrap();
        let text = [vec![head(&failure)], stack(&failure)].concat();
        assert_eq!(text, expected, "{failure}");
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
        check(r#"{"errorMessage": {"a": 1}}"#, &[r#"unnamed error: {"a":1}"#]);
        check(r#""text""#, &["unnamed error"]);
    }

    #[test]
    fn bodies() {
        let check = |body: Value, expected: &[&str]| {
            assert_eq!(body_of(&body), expected, "{body}");
        };
        check(serde_json::json!({ "why": "no such order" }), &[r#"{"why":"no such order"}"#]);
        check("<p>\u{1b}[31mno</p>\r\n\n".into(), &["<p>no</p>"]);
        check(Value::Null, &[]);
        let long = body_of(&"a\n".repeat(25).into());
        assert_eq!((long.len(), &*long[20]), (21, "… 5 lines not shown"));
    }

    fn body_of(body: &Value) -> Vec<String> {
        super::body(&serde_json::json!({ "body": body }))
    }
}
