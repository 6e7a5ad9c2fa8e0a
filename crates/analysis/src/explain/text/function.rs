//! One function: what runs, where its settings come from, and a table of its retries.

use everstep_source::duration::exact;
use std::fmt::Write as _;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};

use super::super::function::{FunctionFacts, Range, RetryFacts, RuleFacts, Setting, Wait};
use super::{entry, wrapped};

/// The whole page of a function.
pub fn function(facts: &FunctionFacts, width: usize) -> String {
    let FunctionFacts { name, runtime, runs, from, .. } = facts;
    let mut text = wrapped(&format!("{name}: {runtime}, {runs}"), width, 2) + "\n";
    let _ = writeln!(text, "{from}\n");
    let timeout = format!("{} for each attempt", exact(facts.timeout_ms.value));
    text += &setting("Timeout", &timeout, &facts.timeout_ms, width);
    let concurrency = match facts.concurrency.value {
        None => "16 at a time; more calls and events are queued".to_owned(),
        Some(0) => {
            "0: disabled; calls are rejected with 429, events fail with ZeroReservedConcurrency"
                .to_owned()
        }
        Some(number) => {
            format!("{number} at a time; more calls are rejected with 429, more events are queued")
        }
    };
    text += &setting("Concurrency", &concurrency, &facts.concurrency, width);
    let age = match facts.max_event_age_ms.value {
        None => "no limit".to_owned(),
        Some(ms) => format!("at most {}", exact(ms)),
    };
    text += &setting("Event age", &age, &facts.max_event_age_ms, width);
    text += &entry("Retries", &facts.retry.from, width);
    for (name, target) in [
        ("On success", &facts.on_success),
        ("On failure", &facts.on_failure),
        ("Dead letter", &facts.dead_letter),
    ] {
        if let Some(target) = target {
            text += &setting(name, &format!("→ {}", target.value), target, width);
        }
    }
    for next in &facts.next {
        text += &entry("Then", &format!("→ {next}"), width);
    }
    for next in &facts.next_on_error {
        text += &entry("On error", &format!("→ {next}, with the error"), width);
    }
    let _ = write!(text, "\n{}", table(&facts.retry, width));
    text += &(wrapped(&notes(facts), width, 0) + "\n");
    text
}

fn setting<T>(name: &str, words: &str, setting: &Setting<T>, width: usize) -> String {
    entry(name, &format!("{words} ({})", setting.from), width)
}

fn notes(facts: &FunctionFacts) -> String {
    let mut text = "A delay starts when an attempt has failed.".to_owned();
    if facts.retry.rules.len() > 1 {
        text += " The first rule that matches an error applies. Each rule counts its own retries.";
    }
    if facts.max_event_age_ms.value.is_some() {
        text += " An event that would be too old at the end of a delay is not retried.";
    }
    text
}

pub(super) fn table(retry: &RetryFacts, width: usize) -> String {
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header(["Error", "Retries", "Delay", "Elapsed"]);
    if !retry.non_retryable.is_empty() {
        table.add_row([&retry.non_retryable.join("\n"), "never", "", ""]);
    }
    for rule in &retry.rules {
        table.add_row([names(rule), times(rule), waits(rule), elapsed(rule)]);
    }
    if !retry.all {
        let other = if retry.rules.is_empty() { "any error" } else { "any other error" };
        table.add_row([other, "never", "", ""]);
    }
    let text = table.to_string().replace(UNBROKEN, " ");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A space that does not break a line: the columns are read across.
const UNBROKEN: char = '\u{a0}';

fn names(rule: &RuleFacts) -> String {
    let name = |name: &String| match meaning(name) {
        Some(meaning) => format!("{name}\n· {meaning}"),
        None => name.clone(),
    };
    rule.errors.iter().map(name).collect::<Vec<_>>().join("\n")
}

fn meaning(name: &str) -> Option<&'static str> {
    match name {
        "Error.ALL" => Some("any error"),
        "Error.User" => Some("the code raises an error"),
        "Error.Runtime" => Some("the process exits or does not start"),
        "Error.Timeout" => Some("an attempt exceeds its timeout"),
        "Error.DataLimitExceeded" => Some("the response is too large"),
        "Lambda.Unknown" => Some("it crashes"),
        _ => None,
    }
}

fn times(rule: &RuleFacts) -> String {
    let times = match rule.max_retry_count {
        None => "unlimited".to_owned(),
        Some(0) => "never".to_owned(),
        Some(1) => "once".to_owned(),
        Some(2) => "twice".to_owned(),
        Some(times) => format!("{times} times"),
    };
    let age = match (rule.age_may_prevent_retry, rule.age_prevents_retry) {
        (_, Some(retry)) => format!("\ntoo old before retry {retry}"),
        (Some(retry), None) => format!("\npossibly too old before retry {retry}"),
        (None, None) => String::new(),
    };
    times + &age
}

fn waits(rule: &RuleFacts) -> String {
    column(rule, |wait| wait.wait_ms)
}

fn elapsed(rule: &RuleFacts) -> String {
    let mut text = column(rule, |wait| wait.elapsed_ms);
    if has_more(rule)
        && let Some(total) = rule.total_ms
    {
        text = text.trim_end_matches('…').to_owned() + "… " + &range(total);
    }
    text
}

fn column(rule: &RuleFacts, of: impl Fn(&Wait) -> Range) -> String {
    let line = |wait| range(of(wait)).replace(' ', &UNBROKEN.to_string());
    let mut lines: Vec<String> = rule.waits.iter().map(line).collect();
    if has_more(rule) {
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

/// Whether there are retries that are not listed.
fn has_more(rule: &RuleFacts) -> bool {
    rule.max_retry_count.is_none_or(|max| max as usize > rule.waits.len())
}

fn range(range: Range) -> String {
    everstep_source::duration::range(range.least, range.most)
}
