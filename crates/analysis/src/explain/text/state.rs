//! One state: what it does, how long it can take, and a table of how its errors are handled.

use std::collections::HashMap;
use std::fmt::Write as _;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use everstep_asl::error_name;

use super::super::handling::{Caught, Step};
use super::super::state::{ErrorFacts, StateFacts, Timeout};
use super::super::time::Bound;
use super::super::words;
use super::{entry, wrapped};

/// The whole page of a state.
pub fn state(facts: &StateFacts, file: &str, width: usize) -> String {
    let does = facts.does.as_ref().map(|does| format!(", {does}")).unwrap_or_default();
    let mut text = wrapped(&format!("{}: {}{does}", facts.name, facts.kind), width, 2) + "\n";
    if let Some(comment) = &facts.comment {
        text += &(wrapped(comment, width, 0) + "\n");
    }
    let _ = writeln!(text, "{file}:{}:{}\n", facts.line, facts.column);
    if !facts.inside.is_empty() {
        text += &entry("Inside", &facts.inside.join(", inside "), width);
    }
    for way in &facts.ways {
        text += &match &way.when {
            Some(when) => entry("If", &format!("{when} → {}", way.next), width),
            None if facts.ways.len() > 1 => entry("Otherwise", &format!("→ {}", way.next), width),
            None => entry("Then", &format!("→ {}", way.next), width),
        };
    }
    if facts.ends {
        text += &entry("Then", "end", width);
    }
    if let Some(timeout) = facts.timeout {
        text += &entry("Timeout", timeout_words(timeout), width)
            .replace("{}", &timeout_seconds(timeout));
    }
    if facts.longest.aws != Bound::Seconds(0.0) {
        text += &entry("Duration", &longest(facts), width);
    }
    if !facts.errors.is_empty() {
        let _ = write!(text, "\n{}", table(&facts.errors, width));
        if facts.attempts_max > 1 {
            text += &(wrapped(RETRY_NOTE, width, 0) + "\n");
        }
    }
    text
}

const RETRY_NOTE: &str = "The first retrier that matches an error applies. When its retries are used up, Catch \
    applies; later retriers do not.";

fn timeout_words(timeout: Timeout) -> &'static str {
    match timeout {
        Timeout::Seconds(_) => "{} for each attempt",
        Timeout::FromData => "set by the data at run time",
        Timeout::Default => {
            "60 s for each attempt: TimeoutSeconds is not set, and this is the specification's default \
             (99,999,999 s on AWS)"
        }
    }
}

fn timeout_seconds(timeout: Timeout) -> String {
    match timeout {
        Timeout::Seconds(seconds) => everstep_source::duration::exact(seconds.saturating_mul(1000)),
        _ => String::new(),
    }
}

/// How long the state can take, and how that adds up.
fn longest(facts: &StateFacts) -> String {
    let mut text = words::bound(&facts.longest.specification);
    if let (Bound::Seconds(_), true) = (&facts.longest.specification, facts.attempts_max > 1) {
        let waits = facts.waits_max_seconds.map_or("unlimited".to_owned(), words::duration);
        let attempts = words::attempts(facts.attempts_max);
        let _ = write!(text, ": {attempts}, and {waits} between them");
    }
    if facts.longest.aws != facts.longest.specification {
        let _ =
            write!(text, "; with the default timeout of AWS, {}", words::bound(&facts.longest.aws));
    }
    text
}

fn table(errors: &[ErrorFacts], width: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(["Error", "Retries", "Then"]);
    for ([retried, then], names) in rows(errors) {
        table.add_row([names.join("\n"), unbroken(&retried), unbroken(&then)]);
    }
    let text = table.to_string().replace(UNBROKEN, " ");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A space that does not break a line.
const UNBROKEN: char = '\u{a0}';

/// Numbers stay with their units, arrows with what they point at.
fn unbroken(text: &str) -> String {
    let units = ["s", "min", "h", "d", "times", "years"];
    let mut words = text.split(' ').peekable();
    let mut result = String::new();
    while let Some(word) = words.next() {
        result.push_str(word);
        let Some(next) = words.peek() else { break };
        let number = word.ends_with(|c: char| c.is_ascii_digit());
        let unit =
            next.split([',', ';', '\n', ' ']).next().is_some_and(|unit| units.contains(&unit));
        result.push(if (number && unit) || word.ends_with('→') { UNBROKEN } else { ' ' });
    }
    result
}

/// Errors that meet the same end share a row.
fn rows(errors: &[ErrorFacts]) -> Vec<([String; 2], Vec<String>)> {
    let mut rows: Vec<([String; 2], Vec<String>)> = Vec::new();
    let mut places: HashMap<[String; 2], usize> = HashMap::new();
    for error in errors {
        let end = handled(error);
        let place = *places.entry(end.clone()).or_insert(rows.len());
        if place == rows.len() {
            rows.push((end, Vec::new()));
        }
        rows[place].1.push(name(error));
    }
    rows
}

fn name(error: &ErrorFacts) -> String {
    match error.meaning {
        Some(meaning) => format!("{}\n· {meaning}", error.error),
        None => error.error.clone(),
    }
}

/// The second and third column.
fn handled(error: &ErrorFacts) -> [String; 2] {
    let several = error.handling.len() > 1;
    let retried: Vec<String> =
        error.handling.iter().filter_map(|step| retried(step, several)).collect();
    let retried = if retried.is_empty() { "none".to_owned() } else { retried.join("\n") };
    let last = error.handling.last();
    let then = match last.and_then(|step| step.catch.as_ref().map(|caught| (step, caught))) {
        Some((step, caught)) => caught_words(step, caught, several),
        None => fails(error),
    };
    [retried, then]
}

fn fails(error: &ErrorFacts) -> String {
    let around: Vec<&str> = error.handling.iter().skip(1).map(|step| &*step.state).collect();
    if error.fatal {
        "the execution fails: this error cannot be caught".to_owned()
    } else if around.is_empty() {
        "the execution fails".to_owned()
    } else {
        format!("the execution fails: {} does not catch it either", around.join(", "))
    }
}

fn retried(step: &Step, several: bool) -> Option<String> {
    let retry = step.retry.as_ref()?;
    let total = words::total(retry).map(|total| format!("\n{total}")).unwrap_or_default();
    let whose = if several { format!("{}: ", step.state) } else { String::new() };
    let by = by("Retry", retry.index, &retry.matched, &step.error);
    Some(format!("{whose}{}{total}\n{by}", words::retries(retry)))
}

/// Which handler took the error, and by which name where that is another.
fn by(field: &str, index: usize, matched: &str, error: &str) -> String {
    let wildcard = [error_name::ALL, error_name::TASK_FAILED].contains(&matched);
    if matched == error && !wildcard {
        format!("({field}[{index}])")
    } else {
        format!("({field}[{index}], {matched})")
    }
}

fn caught_words(step: &Step, caught: &Caught, several: bool) -> String {
    let whose = if several { format!("{}: ", step.state) } else { String::new() };
    let by = by("Catch", caught.index, &caught.matched, &step.error);
    format!("{whose}→ {} {by}\n{}", caught.next, words::receives(caught))
}
