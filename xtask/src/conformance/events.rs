//! One event of a history, as the service writes it and as the corpus keeps it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::values::{Difference, Matcher};

/// Fields of an event's details that are JSON texts on the wire.
pub(super) const TEXTS: [&str; 3] = ["input", "output", "parameters"];
/// An object whose values are JSON texts on the wire.
pub(super) const VARIABLES: &str = "assignedVariables";

pub(super) struct Event {
    pub(super) id: u64,
    pub(super) previous: u64,
    /// The event less its ids and time, with texts decoded.
    body: Map<String, Value>,
    /// Exact texts by field: those that were recorded, all that were found.
    texts: BTreeMap<String, String>,
}

impl Event {
    pub(super) fn kind(&self) -> &str {
        self.body.get("type").and_then(Value::as_str).unwrap_or("an event without a type")
    }

    pub(super) fn compare(
        &self,
        found: &Self,
        matcher: &mut Matcher<'_>,
    ) -> Result<(), Difference> {
        let [expected_type, found_type] = [self, found].map(Self::kind);
        if expected_type != found_type {
            return Err(Difference::new(expected_type, found_type).below("type"));
        }
        matcher.object(&self.body, &found.body)?;
        for (field, text) in &self.texts {
            let other = found.texts.get(field).map_or("", String::as_str);
            if !matcher.text(text, other) {
                return Err(Difference::new(text, other).below(format!("the text of {field}")));
            }
        }
        Ok(())
    }
}

/// The recorded events, each with the exact texts recorded for it.
pub(super) fn recorded(expected: &Value) -> Result<Option<Vec<Event>>, String> {
    let Some(history) = expected["history"].as_array() else { return Ok(None) };
    let mut events = history.iter().map(event).collect::<Result<Vec<_>, _>>()?;
    for raw in expected["rawText"].as_array().into_iter().flatten() {
        let index = raw["event"].as_u64().and_then(|index| usize::try_from(index).ok());
        let event = index.and_then(|index| events.get_mut(index));
        match (event, raw["field"].as_str(), raw["text"].as_str()) {
            (Some(event), Some(field), Some(text)) if TEXTS.contains(&field) => {
                event.texts.insert(field.to_owned(), text.to_owned());
            }
            _ => return Err(format!("the case has a rawText that names no text: {raw}")),
        }
    }
    Ok(Some(events))
}

/// The events of a replay, their texts decoded once, as the recorder did.
pub(super) fn found(history: &[Value]) -> Result<Vec<Event>, String> {
    history
        .iter()
        .map(|value| {
            let mut event = event(value)?;
            decode(&mut event)
                .map_err(|problem| format!("event {} {}: {problem}", event.id, event.kind()))?;
            Ok(event)
        })
        .collect()
}

fn event(value: &Value) -> Result<Event, String> {
    let mut body = value.as_object().cloned().ok_or(format!("not an event: {value}"))?;
    body.shift_remove("timestamp");
    let mut id = |name: &str| {
        let id = body.shift_remove(name).and_then(|id| id.as_u64());
        id.ok_or(format!("an event without a number as {name}: {value}"))
    };
    Ok(Event { id: id("id")?, previous: id("previousEventId")?, body, texts: BTreeMap::new() })
}

fn details_key(body: &Map<String, Value>) -> Option<String> {
    body.keys().find(|key| key.ends_with("EventDetails")).cloned()
}

fn decode(event: &mut Event) -> Result<(), String> {
    let Some(key) = details_key(&event.body) else { return Ok(()) };
    let Some(details) = event.body[&key].as_object_mut() else { return Ok(()) };
    for field in TEXTS {
        if let Some(value) = details.get_mut(field) {
            let text = decode_text(value).map_err(|problem| format!("{field} {problem}"))?;
            event.texts.insert(field.to_owned(), text);
        }
    }
    let variables = details.get_mut(VARIABLES).and_then(Value::as_object_mut);
    for (name, value) in variables.into_iter().flatten() {
        decode_text(value).map_err(|problem| format!("{VARIABLES}.{name} {problem}"))?;
    }
    Ok(())
}

fn decode_text(value: &mut Value) -> Result<String, String> {
    let text = value.as_str().ok_or(format!("is not a text: {value}"))?.to_owned();
    *value = serde_json::from_str(&text)
        .map_err(|error| format!("is not the text of JSON ({error}): {text}"))?;
    Ok(text)
}

/// The event that `events[index]` follows, in one form where two were recorded.
///
/// `MapStateExited` of a distributed Map followed the end of its run until August 2024, and its start since
/// November 2024.
pub(super) fn previous(events: &[Event], index: usize) -> u64 {
    let event = &events[index];
    match event.kind() {
        "MapStateExited" => {
            let followed = events[..index].iter().find(|before| before.id == event.previous);
            match followed {
                Some(run) if run.kind() == "MapRunSucceeded" => run.previous,
                _ => event.previous,
            }
        }
        _ => event.previous,
    }
}
