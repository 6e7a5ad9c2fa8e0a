//! How the server's answers are printed: tables, facts, JSON.

use std::time::SystemTime;

use anyhow::Result;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table};
use everstep_source::terminal;
pub(crate) use everstep_story::history::millis;
pub(crate) use everstep_story::text::{facts, member as text, moment, payload};
use serde_json::Value;

use crate::exit::Exit;
use crate::output::Stream;
use crate::render::json::pretty;

/// Up to this length, names stay on one line, so that they can be copied.
const NAME_CHARS_MAX: usize = 40;

/// A table as wide as the terminal, or a line if there are no rows. The first column has names.
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
        // Before columns are measured.
        table.add_row(row.iter().map(|cell| terminal::text(cell)));
    }
    if names_max.is_some_and(|chars| chars <= NAME_CHARS_MAX)
        && let Some(names) = table.column_mut(0)
    {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    // Non-breaking spaces have kept words together.
    let text = table.to_string().replace('\u{a0}', " ");
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    Stream::Data.write(&lines.collect::<String>())
}

/// The server's answer as JSON.
pub(crate) fn json(answer: &Value) -> Result<()> {
    Stream::Data.write_json(&pretty(answer))
}

/// The server's answer as JSON, or a line for people.
pub(crate) fn answer(answer: &Value, as_json: bool, stream: Stream, line: &str) -> Result<Exit> {
    if as_json {
        json(answer)?;
    } else {
        stream.write(&format!("{line}\n"))?;
    }
    Ok(Exit::Good)
}

/// By the clock of this machine.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
