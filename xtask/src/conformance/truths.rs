//! What a faithful replay of a recorded execution could have produced: placeholders filled in,
//! texts encoded, lost events put back. For the self-check only.

use serde_json::{Value, json};

use super::chains::Pairing;
use super::compare::Found;
use super::events::{TEXTS, VARIABLES};
use super::placeholders::{Part, Placeholders, Shape, Whole};

/// Every truth worth telling about a case.
pub(super) fn truths(case: &Value) -> Vec<(String, Found)> {
    let made_up = found(case, &case["expected"]);
    let mut truths = vec![
        ("as a replay hands it back".to_owned(), Maker::replayed().found(&case["expected"])),
        ("with made-up values".to_owned(), made_up.clone()),
    ];
    match Pairing::of(&case["expected"]) {
        Pairing::Order => {}
        Pairing::Chains => truths.extend(interleavings(&made_up)),
        Pairing::Heap => {
            let mut expected = case["expected"].clone();
            reverse_inside(&mut expected);
            truths.push(("with branches reversed".to_owned(), found(case, &expected)));
        }
    }
    truths
}

/// `expected`, which may be a lie, told with made-up values.
pub(super) fn found(case: &Value, expected: &Value) -> Found {
    let mut maker = Maker { placeholders: Placeholders::of(case), makes_up: true, words: 0 };
    maker.found(expected)
}

/// A value for the hole `name`, the same each time.
pub(super) fn made_up(name: &str, variant: u64) -> String {
    let number = name.bytes().fold(variant, |sum, byte| sum * 31 % 0xffff_ffff + u64::from(byte));
    match Shape::of(name) {
        Shape::Uuid => format!("00000000-0000-4000-8000-{number:012x}"),
        Shape::Time => format!("2026-01-02T03:04:05.{number}Z"),
        Shape::JsonText => format!("{{\"made up\":[{number},\"it's\"]}}"),
        Shape::Number => number.to_string(),
        Shape::Any => format!("made-up-{number}"),
    }
}

struct Maker {
    placeholders: Placeholders,
    makes_up: bool,
    /// How many words were replaced: each is a value of its own.
    words: u64,
}

impl Maker {
    fn replayed() -> Self {
        Self { placeholders: Placeholders::default(), makes_up: false, words: 0 }
    }

    fn found(&mut self, expected: &Value) -> Found {
        let mut history = expected["history"].as_array().cloned().unwrap_or_default();
        for (index, event) in history.iter_mut().enumerate() {
            event["timestamp"] = json!(index);
            *event = self.value(event);
            encode(event);
        }
        for raw in expected["rawText"].as_array().into_iter().flatten() {
            let index = usize::try_from(raw["event"].as_u64().unwrap_or(u64::MAX));
            let event = index.ok().and_then(|index| history.get_mut(index));
            let (field, text) = (raw["field"].as_str(), raw["text"].as_str());
            if let (Some(details), Some(field), Some(text)) = (event.and_then(details), field, text)
            {
                details[field] = json!(self.text(text));
            }
        }
        if Pairing::of(expected) == Pairing::Heap {
            history = with_lost_events(history);
        }
        let text = |name: &str| expected[name].as_str().map(|text| self.text(text));
        let [error, cause] = ["error", "cause"].map(text);
        Found {
            status: expected["status"].as_str().unwrap_or_default().to_owned(),
            output: expected.get("output").map(|output| self.value(output)),
            error,
            cause,
            history,
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                object.iter().map(|(key, value)| (key.clone(), self.value(value))).collect()
            }
            Value::Array(array) => array.iter().map(|value| self.value(value)).collect(),
            Value::String(text) if self.makes_up => self.string(text),
            _ => value.clone(),
        }
    }

    fn string(&mut self, text: &str) -> Value {
        match self.placeholders.whole(text) {
            Whole::Bound(name) => Value::from(made_up(name, 0)),
            Whole::Wild(name) => {
                self.words += 1;
                match Shape::of(name) {
                    Shape::Number => json!(self.words),
                    _ => Value::from(made_up(name, self.words)),
                }
            }
            Whole::Text => Value::from(self.text(text)),
        }
    }

    fn text(&self, text: &str) -> String {
        let parts = self.placeholders.parts(text);
        parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => (*text).to_owned(),
                Part::Hole(name) => made_up(name, 0),
            })
            .collect()
    }
}

pub(super) fn details(event: &mut Value) -> Option<&mut Value> {
    event.as_object_mut()?.iter_mut().find_map(|(key, value)| {
        key.ends_with("EventDetails").then_some(value).filter(|value| value.is_object())
    })
}

/// Writes the texts of an event as the wire has them.
fn encode(event: &mut Value) {
    let Some(details) = details(event).and_then(Value::as_object_mut) else { return };
    for (key, value) in details {
        if TEXTS.contains(&key.as_str()) {
            *value = json!(value.to_string());
        } else if key == VARIABLES {
            for (_, value) in value.as_object_mut().into_iter().flatten() {
                *value = json!(value.to_string());
            }
        }
    }
}

/// Numbers the events inside Parallel states and fills the gaps with what the recorder lost.
fn with_lost_events(events: Vec<Value>) -> Vec<Value> {
    let mut history: Vec<Value> = Vec::new();
    for mut event in events {
        let next = history.len() as u64 + 1;
        if event["id"] == 0 {
            event["id"] = json!(next);
            event["previousEventId"] = json!(next - 1);
        }
        for id in next..event["id"].as_u64().unwrap_or_default() {
            let lost = "ParallelStateSucceeded";
            history.push(json!({ "id": id, "previousEventId": id - 1, "type": lost }));
        }
        history.push(event);
    }
    history
}

/// Each run of events without ids, backwards; exact texts are by position and move along.
fn reverse_inside(expected: &mut Value) {
    let history = expected["history"].as_array().cloned().unwrap_or_default();
    let mut order: Vec<usize> = (0..history.len()).collect();
    order
        .chunk_by_mut(|a, b| history[*a]["id"] == 0 && history[*b]["id"] == 0)
        .for_each(<[usize]>::reverse);
    for raw in expected["rawText"].as_array_mut().into_iter().flatten() {
        let index = order.iter().position(|index| raw["event"] == *index);
        raw["event"] = json!(index);
    }
    expected["history"] = order.iter().map(|index| history[*index].clone()).collect();
}

/// The histories in which one event came before the one recorded before it, though it did not
/// follow it.
fn interleavings(truth: &Found) -> Vec<(String, Found)> {
    let swaps = (1..truth.history.len())
        .filter(|second| truth.history[*second]["previousEventId"] != json!(second));
    swaps
        .filter(|second| *second > 1)
        .map(|second| {
            let mut found = truth.clone();
            found.history.swap(second - 1, second);
            let (low, high) = (second as u64, second as u64 + 1);
            for event in &mut found.history {
                for field in ["id", "previousEventId"] {
                    match event[field].as_u64() {
                        Some(id) if id == low => event[field] = json!(high),
                        Some(id) if id == high => event[field] = json!(low),
                        _ => {}
                    }
                }
            }
            (format!("with events {low} and {high} interleaved"), found)
        })
        .collect()
}
