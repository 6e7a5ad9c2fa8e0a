//! How a function failed, in words: from what it answered, or from the record of an attempt.

use serde_json::Value;

use super::shown;
use crate::output::count;

/// `ValueError: no funds`
pub(crate) fn head(failure: &Value) -> String {
    let name = match shown::text(failure, "errorType") {
        name if name.is_empty() => "an error without a name".to_owned(),
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

/// The last lines that it wrote before it failed, from the record of an attempt.
pub(crate) fn log(failure: &Value) -> Vec<String> {
    let lines = failure["log"].as_array().into_iter().flatten();
    let lines = written(lines.filter_map(Value::as_str));
    // The last line of a command is its message.
    let said = lines.len() == 1 && failure["errorMessage"].as_str() == Some(&lines[0]);
    if said { Vec::new() } else { lines }
}

/// As they can stand in a terminal: Python's client has one line for a whole trace, and colours are not for
/// others' windows.
pub(crate) fn written<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
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

/// How many lines of an answer are shown.
const BODY_LINES_MAX: usize = 20;
const BODY_CHARS_MAX: usize = 200;

/// What a service has said besides its status.
pub(crate) fn body(failure: &Value) -> Vec<String> {
    let text = match &failure["body"] {
        Value::Null => return Vec::new(),
        Value::String(text) => text.clone(),
        value => shown::payload(&value.to_string(), BODY_CHARS_MAX),
    };
    let mut lines = written(text.lines());
    let left_out = lines.len().saturating_sub(BODY_LINES_MAX);
    if left_out > 0 {
        lines.truncate(BODY_LINES_MAX);
        lines.push(format!("… {}, left out here", count(left_out, "line")));
    }
    lines
}

/// What can be done about one that is a dead letter.
pub(crate) fn remedy(invocation: &Value) -> String {
    let id = shown::text(invocation, "invocationId");
    let first = match shown::text(invocation, "reason").as_str() {
        "ZeroReservedConcurrency" => "give its function a `concurrency` of 1 or more, then ",
        _ => "",
    };
    format!(
        "it is a dead letter: {first}`everstep deadletters redrive {id}` runs it again, with all its retries"
    )
}

/// Lines below a head; nothing if there are none.
pub(crate) fn indented(head: &str, lines: &[String]) -> String {
    let told = lines.iter().map(|line| format!("    {line}\n"));
    if lines.is_empty() { String::new() } else { format!("  {head}\n") + &told.collect::<String>() }
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

    #[test]
    fn bodies() {
        let check = |body: Value, expected: &[&str]| {
            assert_eq!(body_of(&body), expected, "{body}");
        };
        check(serde_json::json!({ "why": "no such order" }), &[r#"{"why":"no such order"}"#]);
        check("<p>\u{1b}[31mno</p>\r\n\n".into(), &["<p>no</p>"]);
        check(Value::Null, &[]);
        let long = body_of(&"a\n".repeat(25).into());
        assert_eq!((long.len(), &*long[20]), (21, "… 5 lines, left out here"));
    }

    fn body_of(body: &Value) -> Vec<String> {
        super::body(&serde_json::json!({ "body": body }))
    }
}
