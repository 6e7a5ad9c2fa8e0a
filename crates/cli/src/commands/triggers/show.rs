//! `everstep triggers show`

use clap::Args;
use serde_json::Value;

use super::list::from;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Show a trigger: counters, last runs, what is in flight
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Name of the trigger
    name: String,
}

impl Show {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let found = super::ask(api, "ShowTrigger", &self.name, None)?;
        if as_json {
            display::json(&found)?;
            return Ok(Exit::Good);
        }
        Stream::Data.write(&display::facts(&facts(&found)))?;
        let last = found["last"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !last.is_empty() {
            Stream::Data.write("\n")?;
            let header = ["Item", "Ended", "Outcome"];
            display::table(&header, last.iter().rev().map(row).collect(), "")?;
        }
        Ok(Exit::Good)
    }
}

fn facts(found: &Value) -> Vec<(&'static str, String)> {
    let text = |member| display::text(found, member);
    let moment = |member: &str| display::moment(&found[member]);
    let blocked = found["blockedBy"].as_array().into_iter().flatten().filter_map(Value::as_str);
    vec![
        ("Name", text("name")),
        ("Kind", text("kind")),
        ("From", from(found)),
        ("Target", text("target")),
        ("State", text("state")),
        ("Blocked by", blocked.collect::<Vec<_>>().join("\n")),
        ("Trouble", text("trouble")),
        ("Next", moment("next")),
        ("Last tick", moment("lastTick")),
        ("Accepted", accepted(found)),
        ("In flight", in_flight(found)),
        ("Not run", not_run(found)),
        ("Position", text("position")),
        ("Cursor", text("cursor")),
    ]
}

/// `12: 10 succeeded, 2 failed (2 dead letters)`
fn accepted(found: &Value) -> String {
    let counters = &found["counters"];
    let parts = [
        ("succeeded", "succeeded"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
        ("unknown", "unknown"),
    ];
    let mut words = counted(counters, &parts);
    if let Some(letters @ 1..) = counters["deadLettered"].as_u64() {
        words += &format!(
            " ({})",
            crate::output::count(usize::try_from(letters).unwrap_or(usize::MAX), "dead letter")
        );
    }
    let all = found["accepted"].as_u64().unwrap_or_default();
    if words.is_empty() { all.to_string() } else { format!("{all}: {words}") }
}

/// `3 of at most 1000, 2 waiting; the oldest since 2026-01-01 00:00:00Z`
fn in_flight(found: &Value) -> String {
    let number = |member: &str| found[member].as_u64().unwrap_or_default();
    let mut words = format!("{} of at most {}", number("inFlight"), number("maxBacklog"));
    if number("waiting") > 0 {
        words += &format!(", {} waiting", number("waiting"));
    }
    match display::moment(&found["oldestInFlight"]) {
        since if since.is_empty() => words,
        since => format!("{words}; the oldest since {since}"),
    }
}

fn not_run(found: &Value) -> String {
    let parts = [
        ("duplicates", "brought again"),
        ("coalesced", "combined with another"),
        ("skipped", "skipped"),
        ("refused", "refused"),
    ];
    counted(&found["counters"], &parts)
}

fn counted(counters: &Value, parts: &[(&str, &str)]) -> String {
    let number = |member: &str| counters[member].as_u64().filter(|number| *number > 0);
    let words =
        parts.iter().filter_map(|(member, word)| Some(format!("{} {word}", number(member)?)));
    words.collect::<Vec<_>>().join(", ")
}

fn row(last: &Value) -> Vec<String> {
    let text = |member| display::text(last, member);
    let outcome = match last["error"].as_str() {
        Some(error) => format!("{}: {error}", text("outcome")),
        None => text("outcome"),
    };
    vec![text("item"), display::moment(&last["endedAt"]), outcome]
}
