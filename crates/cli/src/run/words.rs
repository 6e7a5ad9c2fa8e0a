//! Words for durations and errors.

use everstep_interpreter::Failure;
use serde_json::Value;

/// `0.2 s`, `59.9 s`, `2 min 5 s`, `3 h 2 min`, `2 d 4 h`
pub(crate) fn duration(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = (ms + 500) / 1000;
    match seconds {
        _ if ms < 59_950 => format!("{}.{} s", (ms + 50) / 1000, (ms + 50) % 1000 / 100),
        ..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A length that was set: `3 s` and not `3.0 s`, `2 min` and not `2 min 0 s`.
pub(crate) fn span(ms: i64) -> String {
    if ms < 60_000 && ms % 1000 == 0 {
        return format!("{} s", ms / 1000);
    }
    let text = duration(ms);
    let even = [" 0 s", " 0 min", " 0 h"].iter().find_map(|nothing| text.strip_suffix(nothing));
    even.map(str::to_owned).unwrap_or(text)
}

/// A length that was measured, however short.
pub(crate) fn measured(ms: i64) -> String {
    if ms < 1000 { format!("{} ms", ms.max(0)) } else { duration(ms) }
}

/// `once`, `twice`, `3 times`
pub(crate) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// How an error is called where it is told of.
pub(super) fn name(failure: &Failure) -> String {
    match failure.name() {
        "" => "an error without a name".to_owned(),
        name => name.to_owned(),
    }
}

/// What a cause says: of the JSON text that a Lambda function leaves, its message.
pub(super) fn cause(failure: &Failure) -> Option<String> {
    let cause = failure.cause.as_deref()?;
    let message = serde_json::from_str::<Value>(cause)
        .ok()
        .and_then(|value| Some(value.get("errorMessage")?.as_str()?.to_owned()));
    let text = message.unwrap_or_else(|| cause.to_owned());
    let words: Vec<&str> = without_place(&text).split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Without the service's own words for the state, which stands beside it here.
fn without_place(cause: &str) -> &str {
    let place = "An error occurred while executing the state '";
    let rest = cause.strip_prefix(place).and_then(|rest| rest.split_once("). "));
    rest.map_or(cause, |(_, rest)| rest)
}

/// At most so many characters, the last one a sign that there is more.
pub(crate) fn shorten(text: &str, max: usize) -> String {
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
    fn durations() {
        for (ms, expected) in [
            (0, "0.0 s"),
            (49, "0.0 s"),
            (50, "0.1 s"),
            (4_500, "4.5 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 0 s"),
            (125_000, "2 min 5 s"),
            (3_599_600, "1 h 0 min"),
            (187_200_000, "2 d 4 h"),
        ] {
            assert_eq!(duration(ms), expected, "{ms}");
        }
    }

    #[test]
    fn spans() {
        for (ms, expected) in [
            (0, "0 s"),
            (1_500, "1.5 s"),
            (20_000, "20 s"),
            (60_000, "1 min"),
            (610_000, "10 min 10 s"),
            (3_600_000, "1 h"),
            (86_400_000, "1 d"),
        ] {
            assert_eq!(span(ms), expected, "{ms}");
        }
    }

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
