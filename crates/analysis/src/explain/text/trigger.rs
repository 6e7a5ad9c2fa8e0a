//! One trigger: where items come from, its next ticks, and what happens if what it starts fails.

use std::fmt::Write as _;

use everstep_source::duration::exact;

use super::super::trigger::TriggerFacts;
use super::function::table;
use super::{entry, wrapped};

/// The whole page of a trigger.
pub fn trigger(facts: &TriggerFacts, width: usize) -> String {
    let TriggerFacts { name, kind, source, from, .. } = facts;
    let mut text = wrapped(&format!("{name}: {kind}, {source}"), width, 2) + "\n";
    let _ = writeln!(text, "{from}\n");
    if !facts.enabled {
        text += &entry("Disabled", "it accepts nothing but what is fired by hand", width);
    }
    text += &entry("Starts", &facts.target, width);
    for (name, rule) in &facts.rules {
        text += &entry(name, rule, width);
    }
    text +=
        &entry("Backlog", &format!("at most {} accepted and not over", facts.max_backlog), width);
    if let Some(age_ms) = facts.max_event_age_ms {
        text += &entry("Event age", &format!("at most {}", exact(age_ms)), width);
    }
    for (index, tick) in facts.ticks.iter().enumerate() {
        text += &entry(if index == 0 { "Next" } else { "" }, tick, width);
    }
    if facts.kind == "timer" && facts.ticks.is_empty() {
        text += &entry("Next", "never again", width);
    }
    if let Some(retry) = &facts.retry {
        text += &entry("Retries", &retry.from, width);
    }
    for (index, end) in facts.ends.iter().enumerate() {
        text += &entry(if index == 0 { "In the end" } else { "" }, end, width);
    }
    if let Some(retry) = &facts.retry {
        let _ = write!(text, "\n{}", table(retry, width));
    }
    text
}
