//! Parts of a server's answer as text: facts below each other, times, payloads.

use everstep_expr::timestamp;
use serde_json::Value;

use crate::history::millis;

/// The width of the names, so that blocks of facts align.
const NAME_WIDTH: usize = 12;

/// One line for each fact; those without a text are left out.
#[must_use]
pub fn facts(facts: &[(&str, String)]) -> String {
    let given = || facts.iter().filter(|(_, text)| !text.is_empty());
    let longest = given().map(|(name, _)| name.chars().count() + 1).max().unwrap_or_default();
    let (width, line) =
        (longest.max(NAME_WIDTH), "\n".to_owned() + &" ".repeat(longest.max(NAME_WIDTH)));
    given().map(|(name, text)| format!("{name:width$}{}\n", text.replace('\n', &line))).collect()
}

/// A text member of an answer; empty if it is missing.
#[must_use]
pub fn member(answer: &Value, member: &str) -> String {
    answer[member].as_str().unwrap_or_default().to_owned()
}

/// `2026-11-16 09:30:00Z`; empty if there is no time.
#[must_use]
pub fn moment(time: &Value) -> String {
    let Some(ms) = millis(time) else { return String::new() };
    let text = timestamp::format_millis(ms);
    let (date, clock) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date} {}Z", clock.split('.').next().unwrap_or_default())
}

/// JSON text on one line if that is at most `room` characters, else indented.
#[must_use]
pub fn payload(text: &str, room: usize) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if text.chars().count() > room => format!("{value:#}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let check = |time: Value, expected: &str| assert_eq!(moment(&time), expected, "{time}");
        check(serde_json::json!(0), "1970-01-01 00:00:00Z");
        check(serde_json::json!(1_700_000_000.999), "2023-11-14 22:13:20Z");
        check(serde_json::json!("2023-11-14T22:13:20.999Z"), "2023-11-14 22:13:20Z");
        check(Value::Null, "");
    }

    #[test]
    fn names_of_any_length() {
        let text = |name| facts(&[(name, "a\nb".to_owned()), ("None", String::new())]);
        assert_eq!(text("Attempt 999"), "Attempt 999 a\n            b\n");
        assert_eq!(text("Attempt 1000"), "Attempt 1000 a\n             b\n");
    }

    #[test]
    fn payloads() {
        assert_eq!(payload(r#"{"a":1}"#, 7), r#"{"a":1}"#);
        assert_eq!(payload(r#"{"a":1}"#, 6), "{\n  \"a\": 1\n}");
        assert_eq!(payload("not JSON", 3), "not JSON");
    }
}
