//! What a replay that is wrong in one place could have produced. For the self-check only.
//!
//! A lie changes what was recorded and is then filled in like the truth, so that it differs from
//! one in nothing else.

use serde_json::{Number, Value, json};

use super::chains::Pairing;
use super::compare::Found;
use super::events::TEXTS;
use super::placeholders::{Part, Placeholders, Shape, Whole};
use super::truths::{details, found, made_up};
use super::values::IGNORED;

/// Tells every lie about a case.
pub(super) fn lies(case: &Value, tell: &mut dyn FnMut(&str, &Found)) {
    let mut liar = Liar {
        case,
        placeholders: Placeholders::of(case),
        // Ids, types and words are not holes, so counting in all of the text is good enough.
        text: visible(&case["expected"]).to_string(),
        heap: Pairing::of(&case["expected"]) == Pairing::Heap,
        tell,
    };
    liar.about_the_end();
    liar.about_values();
    liar.about_events();
    liar.about_order();
    liar.about_texts();
}

struct Liar<'c, 't> {
    case: &'c Value,
    placeholders: Placeholders,
    text: String,
    heap: bool,
    tell: &'t mut dyn FnMut(&str, &Found),
}

impl Liar<'_, '_> {
    fn tell(&mut self, what: &str, edit: impl FnOnce(&mut Value)) {
        let mut expected = self.case["expected"].clone();
        edit(&mut expected);
        (self.tell)(what, &found(self.case, &expected));
    }

    fn history(&self) -> Vec<Value> {
        self.case["expected"]["history"].as_array().cloned().unwrap_or_default()
    }

    fn about_the_end(&mut self) {
        for status in ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", ""] {
            if self.case["expected"]["status"] != status {
                self.tell("another status", |expected| expected["status"] = json!(status));
            }
        }
        for name in ["output", "error", "cause"] {
            match self.case["expected"].get(name) {
                Some(_) => self.tell(&format!("no {name}"), |expected| {
                    expected.as_object_mut().and_then(|expected| expected.shift_remove(name));
                }),
                None => self.tell(&format!("a new {name}"), |expected| expected[name] = json!("x")),
            }
        }
        for name in ["error", "cause"] {
            if let Some(text) = self.case["expected"][name].as_str() {
                let lie = json!(format!("~{text}"));
                self.tell(&format!("another {name}"), |expected| expected[name] = lie);
            }
        }
    }

    /// Every value of the output and of each event's details.
    fn about_values(&mut self) {
        let mut places = Vec::new();
        if let Some(output) = self.case["expected"].get("output") {
            walk(output, "/output".to_owned(), &mut places);
        }
        for (index, event) in self.history().iter().enumerate() {
            for (key, value) in event.as_object().into_iter().flatten() {
                if is_details(key) {
                    walk(value, format!("/history/{index}/{key}"), &mut places);
                }
            }
        }
        for place in places {
            let value = self.case["expected"].pointer(&place).cloned().unwrap_or_default();
            for lie in self.values(&value) {
                self.tell(&format!("{place} as {lie}"), |expected| {
                    forget_text(expected, &place);
                    if let Some(value) = expected.pointer_mut(&place) {
                        *value = lie;
                    }
                });
            }
        }
    }

    /// Values that are not `value`, nor one it stands for.
    fn values(&self, value: &Value) -> Vec<Value> {
        match value {
            Value::Null => vec![json!(false)],
            Value::Bool(value) => vec![json!(!value)],
            Value::Number(number) => vec![another_number(number)],
            Value::String(text) => self.strings(text),
            Value::Array(array) => {
                let longer = array.iter().cloned().chain([Value::Null]).collect();
                let shorter = array.split_last().map(|(_, array)| json!(array));
                [longer, json!({})].into_iter().chain(shorter).collect()
            }
            Value::Object(object) => {
                let mut more = object.clone();
                more.insert("lie".to_owned(), Value::Null);
                let less = object.keys().map(|key| {
                    let mut less = object.clone();
                    less.shift_remove(key);
                    Value::from(less)
                });
                [Value::from(more), json!([])].into_iter().chain(less).collect()
            }
        }
    }

    fn strings(&self, text: &str) -> Vec<Value> {
        let misshapen = |name| (Shape::of(name) != Shape::Any).then(|| json!([]));
        match self.placeholders.whole(text) {
            Whole::Wild(name) => misshapen(name).into_iter().collect(),
            Whole::Bound(name) => {
                let again = self.text.matches(name).count() > 1;
                let other = again.then(|| json!(made_up(name, 1)));
                misshapen(name).into_iter().chain(other).collect()
            }
            Whole::Text => {
                let parts = self.placeholders.parts(text);
                let before = !matches!(parts.first(), Some(Part::Hole(_)));
                let after = !matches!(parts.last(), Some(Part::Hole(_)));
                let before = before.then(|| json!(format!("~{text}")));
                before.into_iter().chain(after.then(|| json!(format!("{text}~")))).collect()
            }
        }
    }

    fn about_events(&mut self) {
        let history = self.history();
        for (index, event) in history.iter().enumerate() {
            let set = |field: &'static str, lie: Value| {
                move |expected: &mut Value| expected["history"][index][field] = lie
            };
            self.tell(&format!("another type of {index}"), set("type", json!("PassStateAborted")));
            self.tell(&format!("more details of {index}"), set("lieEventDetails", json!({})));
            if event.as_object().is_some_and(|event| event.keys().any(|key| is_details(key))) {
                self.tell(&format!("no details of {index}"), |expected| {
                    let event = expected["history"][index].as_object_mut();
                    event.into_iter().for_each(|event| event.retain(|key, _| !is_details(key)));
                });
            }
            let Some(id) = event["id"].as_u64().filter(|id| *id > 0) else { continue };
            self.tell(&format!("another id of {index}"), set("id", json!(id + 1)));
            for previous in 0..=id {
                if !may_follow(&history[..=index], previous) {
                    let what = format!("{index} following {previous}");
                    self.tell(&what, set("previousEventId", json!(previous)));
                }
            }
        }
    }

    fn about_order(&mut self) {
        let history = self.history();
        for index in 0..history.len() {
            self.tell(&format!("{index} dropped"), |expected| drop_event(expected, index));
            if !self.heap {
                self.tell(&format!("{index} dropped, the rest renumbered"), |expected| {
                    drop_event(expected, index);
                    renumber(expected, index as u64 + 1);
                });
            }
            self.tell(&format!("{index} twice"), |expected| {
                let mut again = history[index].clone();
                let last = history.last().and_then(|event| event["id"].as_u64());
                again["id"] = json!(last.unwrap_or_default() + 1);
                again["previousEventId"] = json!(last);
                expected["history"].as_array_mut().into_iter().for_each(|h| h.push(again.clone()));
            });
        }
        for second in 1..history.len() {
            if self.tells_apart(&history, second) {
                self.tell(&format!("{second} and the one before swapped"), |expected| {
                    swap(expected, second);
                });
            }
        }
    }

    /// Whether two events cannot be exchanged without telling something else.
    fn tells_apart(&self, history: &[Value], second: usize) -> bool {
        let pair = [&history[second - 1], &history[second]];
        if pair.iter().any(|event| event["id"] == 0) {
            return false;
        }
        let leaf = |event: &Value| history.iter().all(|e| e["previousEventId"] != event["id"]);
        let siblings = pair[0]["previousEventId"] == pair[1]["previousEventId"];
        !(siblings && pair.into_iter().all(leaf))
    }

    /// What the wire has and the corpus does not.
    fn about_texts(&mut self) {
        let expected = &self.case["expected"];
        let truth = found(self.case, expected);
        for raw in expected["rawText"].as_array().into_iter().flatten() {
            self.tell(&format!("another text than {raw}"), |expected| {
                expected["rawText"].as_array_mut().into_iter().for_each(|r| r.retain(|r| r != raw));
            });
        }
        for index in 0..truth.history.len() {
            for lie in [json!("{"), json!({})] {
                let mut found = truth.clone();
                let texts = details(&mut found.history[index]).and_then(Value::as_object_mut);
                let mut told = false;
                for (key, value) in texts.into_iter().flatten() {
                    if TEXTS.contains(&key.as_str()) {
                        *value = lie.clone();
                        told = true;
                    }
                }
                if told {
                    (self.tell)(&format!("{index} with {lie} for a text"), &found);
                }
            }
            if self.heap && truth.history[index]["type"] == "ParallelStateSucceeded" {
                let mut found = truth.clone();
                found.history[index]["type"] = json!("PassStateAborted");
                (self.tell)(&format!("{index} another lost event"), &found);
            }
        }
    }
}

fn is_details(key: &str) -> bool {
    key.ends_with("EventDetails")
}

/// Whether the last of these events may follow `previous`.
fn may_follow(history: &[Value], previous: u64) -> bool {
    let Some((event, before)) = history.split_last() else { return false };
    let run = |e: &&Value| e["type"] == "MapRunStarted" || e["type"] == "MapRunSucceeded";
    let runs = before.iter().filter(run).any(|run| run["id"] == previous);
    event["previousEventId"] == previous || (event["type"] == "MapStateExited" && runs)
}

/// What was recorded, less what is never compared.
fn visible(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| {
                ![
                    &IGNORED[..],
                    &["logEvents", "describeExecution", "eventBridgeEvents", "endLogEvent"],
                ]
                .concat()
                .contains(&key.as_str())
            })
            .map(|(key, value)| (key.clone(), visible(value)))
            .collect(),
        Value::Array(array) => array.iter().map(visible).collect(),
        _ => value.clone(),
    }
}

/// The place of every value below `value`, itself included.
fn walk(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| !IGNORED.contains(&key.as_str())) {
                let step = key.replace('~', "~0").replace('/', "~1");
                walk(value, format!("{place}/{step}"), places);
            }
        }
        Value::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                walk(value, format!("{place}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(place);
}

/// The exact text of a value that is changed would hide the change.
fn forget_text(expected: &mut Value, place: &str) {
    let event = place.strip_prefix("/history/").and_then(|rest| rest.split('/').next());
    let event = event.and_then(|event| event.parse::<u64>().ok());
    if let (Some(event), Some(raw)) = (event, expected["rawText"].as_array_mut()) {
        raw.retain(|raw| raw["event"] != event);
    }
}

fn another_number(number: &Number) -> Value {
    match number.as_i64().and_then(|number| number.checked_add(1)) {
        Some(other) => json!(other),
        None => json!(number.as_f64().map_or(0.0, |number| number.abs() * 2.0 + 1.0)),
    }
}

fn drop_event(expected: &mut Value, index: usize) {
    if let Some(history) = expected["history"].as_array_mut() {
        history.remove(index);
    }
    let raw = expected["rawText"].as_array_mut();
    raw.into_iter().for_each(|raw| raw.clear());
}

/// Closes the gap that `id` left.
fn renumber(expected: &mut Value, id: u64) {
    for event in expected["history"].as_array_mut().into_iter().flatten() {
        for field in ["id", "previousEventId"] {
            if let Some(number) = event[field].as_u64().filter(|number| *number >= id) {
                event[field] = json!(number - 1);
            }
        }
    }
}

/// Exchanges two events, all but their ids.
fn swap(expected: &mut Value, second: usize) {
    let Some(history) = expected["history"].as_array_mut() else { return };
    history.swap(second - 1, second);
    for field in ["id", "previousEventId"] {
        let first = history[second - 1][field].take();
        history[second - 1][field] = history[second][field].take();
        history[second][field] = first;
    }
    let raw = expected["rawText"].as_array_mut();
    raw.into_iter().for_each(|raw| raw.clear());
}
