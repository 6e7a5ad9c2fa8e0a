//! Errors and causes, as they are shown.

use everstep_interpreter::Failure;
use serde_json::Value;

/// An error's name.
#[must_use]
pub fn name(failure: &Failure) -> String {
    match failure.name() {
        "" => "unnamed error".to_owned(),
        name => name.to_owned(),
    }
}

/// The message of a cause: if it is the JSON of a Lambda function, its `errorMessage`.
#[must_use]
pub fn cause(failure: &Failure) -> Option<String> {
    message(failure.cause.as_deref())
}

/// As [`cause`], of the cause alone.
#[must_use]
pub fn message(cause: Option<&str>) -> Option<String> {
    let cause = cause?;
    let message = serde_json::from_str::<Value>(cause)
        .ok()
        .and_then(|value| Some(value.get("errorMessage")?.as_str()?.to_owned()));
    let text = message.unwrap_or_else(|| cause.to_owned());
    let words: Vec<&str> = without_place(&text).split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Without the name of the state, which is shown beside it.
fn without_place(cause: &str) -> &str {
    let place = "An error occurred while executing the state '";
    let rest = cause.strip_prefix(place).and_then(|rest| rest.split_once("). "));
    rest.map_or(cause, |(_, rest)| rest)
}

/// At most `max` characters; an ellipsis stands for the rest.
#[must_use]
pub fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes() {
        for (text, expected) in [
            (r#"{"errorMessage": "no\n  funds", "errorType": "X"}"#, Some("no funds")),
            (r#"{"message": 1}"#, Some(r#"{"message": 1}"#)),
            ("plain", Some("plain")),
            (
                "An error occurred while executing the state 'A' (entered at the event id #2). Bad.",
                Some("Bad."),
            ),
            (" ", None),
        ] {
            assert_eq!(cause(&Failure::new("X", text)).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn long_texts_are_shortened() {
        assert_eq!(shorten("näher", 5), "näher");
        assert_eq!(shorten("näher dran", 7), "näher…");
    }
}
