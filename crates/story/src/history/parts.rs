//! What single events and states say: failures, times, where a decision begins.

use std::collections::HashMap;
use std::sync::Arc;

use everstep_asl::model::{Fail, Kind, Operand, State, Text, WaitUntil};
use everstep_interpreter::{Failure, FrameId, Payload};
use serde_json::Value;

use super::HistoryEvent;

/// What a Fail state fails with, as far as the definition says.
pub(super) fn own_failure(state: &State) -> Failure {
    let Kind::Fail(Fail { error, cause }) = &state.kind else { return Failure::default() };
    let literal = |text: &Option<Text>| match text {
        Some(Text::Literal(text)) => Some(Arc::from(text.as_str())),
        _ => None,
    };
    Failure { error: literal(error), cause: literal(cause) }
}

/// Which state each event of a chunk leads to.
pub(super) fn nexts(history: &[Value]) -> HashMap<u64, &str> {
    let events = history.iter().map(HistoryEvent);
    let entered = events.filter(|event| event.kind().ends_with("StateEntered"));
    entered.filter_map(|event| Some((event.previous(), event.text("name")?))).collect()
}

/// Whether a decision begins with it: it was caused from outside, or by time.
pub(super) fn comes_from_outside(kind: &str) -> bool {
    let ends = ["Started", "Submitted", "Succeeded", "TimedOut", "Failed"];
    let task =
        ["Task", "Activity", "LambdaFunction", "MapRun"].iter().any(|of| kind.starts_with(of));
    let ended = task && ends.iter().any(|end| kind.ends_with(end));
    ended || matches!(kind, "WaitStateExited" | "ExecutionRedriven" | "ExecutionAborted")
}

pub(super) fn is_of_scope(kind: &str) -> bool {
    kind.starts_with("Map") || kind.starts_with("Parallel")
}

pub(super) fn failure(event: &HistoryEvent<'_>) -> Failure {
    let part = |member| event.text(member).map(Arc::from);
    Failure { error: part("error"), cause: part("cause") }
}

pub(super) fn index(event: &HistoryEvent<'_>) -> u32 {
    event.number("index").and_then(|index| u32::try_from(index).ok()).unwrap_or_default()
}

/// When a Wait ends, if the definition says.
pub(super) fn until_ms(until: &WaitUntil, at_ms: i64) -> Option<i64> {
    match until {
        WaitUntil::Seconds(Operand::Literal(seconds)) => {
            Some(at_ms.saturating_add(i64::try_from(seconds.saturating_mul(1000)).ok()?))
        }
        WaitUntil::Timestamp(Operand::Literal(moment)) => Some(moment.to_millis().max(at_ms)),
        _ => None,
    }
}

// Saturates, which is what is wanted.
pub(super) fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

pub(super) fn id(place: usize) -> FrameId {
    FrameId(u32::try_from(place).unwrap_or(u32::MAX))
}

pub(super) fn nothing() -> Payload {
    Payload::new(Value::Null)
}
