//! How answers are shown: tables, facts, times, JSON.

use std::time::SystemTime;

use anyhow::Result;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table};
use everstep_expr::timestamp;
pub(crate) use everstep_story::history::millis;
use serde_json::Value;

use crate::output::Stream;
use crate::render::json::pretty;

/// Up to this length, names are shown on one line, so that they can be copied.
const NAME_CHARS_MAX: usize = 40;

/// A table of the width of the window, or what is said where there is nothing. The first column has names.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>, nothing: &str) -> Result<()> {
    if rows.is_empty() {
        return Stream::Story.write(&format!("{nothing}\n"));
    }
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(Stream::Data.width()).unwrap_or(u16::MAX))
        .set_header(header.to_vec());
    let names_max = rows.iter().filter_map(|row| Some(row.first()?.chars().count())).max();
    for row in rows {
        table.add_row(row);
    }
    if names_max.is_some_and(|chars| chars <= NAME_CHARS_MAX)
        && let Some(names) = table.column_mut(0)
    {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    // Blanks that do not break have kept together what belongs together.
    let text = table.to_string().replace('\u{a0}', " ");
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    Stream::Data.write(&lines.collect::<String>())
}

/// What names have, so that blocks of facts stand below each other.
const NAME_WIDTH: usize = 12;

/// What there is to say of one thing, a line each; what is empty is left out.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    let told = || facts.iter().filter(|(_, text)| !text.is_empty());
    let longest = told().map(|(name, _)| name.chars().count() + 1).max().unwrap_or_default();
    let (width, line) =
        (longest.max(NAME_WIDTH), "\n".to_owned() + &" ".repeat(longest.max(NAME_WIDTH)));
    told().map(|(name, text)| format!("{name:width$}{}\n", text.replace('\n', &line))).collect()
}

/// The API's own answer.
pub(crate) fn json(answer: &Value) -> Result<()> {
    Stream::Data.write(&pretty(answer))
}

/// A text member of an answer; nothing if it is not there.
pub(crate) fn text(answer: &Value, member: &str) -> String {
    answer[member].as_str().unwrap_or_default().to_owned()
}

/// By the clock of this machine.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `2026-11-16 09:30:00Z`; nothing if there is no time.
pub(crate) fn moment(time: &Value) -> String {
    let Some(ms) = millis(time) else { return String::new() };
    let text = timestamp::format_millis(ms);
    let (date, clock) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date} {}Z", clock.split('.').next().unwrap_or_default())
}

/// JSON text as it is easiest to read: on one line if it fits there.
pub(crate) fn payload(text: &str, room: usize) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if text.chars().count() > room => pretty(&value).trim_end().to_owned(),
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
        let told = |name| facts(&[(name, "a\nb".to_owned()), ("None", String::new())]);
        assert_eq!(told("Attempt 999"), "Attempt 999 a\n            b\n");
        assert_eq!(told("Attempt 1000"), "Attempt 1000 a\n             b\n");
    }

    #[test]
    fn payloads() {
        assert_eq!(payload(r#"{"a":1}"#, 7), r#"{"a":1}"#);
        assert_eq!(payload(r#"{"a":1}"#, 6), "{\n  \"a\": 1\n}");
        assert_eq!(payload("not JSON", 3), "not JSON");
    }
}
