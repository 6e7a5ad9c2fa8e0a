//! An event of a history as the API returns it, and a line for it.

use everstep_expr::timestamp;
use everstep_source::words::count;
use serde_json::{Map, Value};

/// Reads the API's JSON.
pub struct HistoryEvent<'e>(pub &'e Value);

impl<'e> HistoryEvent<'e> {
    pub fn id(&self) -> u64 {
        self.0["id"].as_u64().unwrap_or_default()
    }

    pub fn previous(&self) -> u64 {
        self.0["previousEventId"].as_u64().unwrap_or_default()
    }

    pub fn kind(&self) -> &'e str {
        self.0["type"].as_str().unwrap_or_default()
    }

    pub fn at_ms(&self) -> i64 {
        millis(&self.0["timestamp"]).unwrap_or_default()
    }

    /// The one member that is named after the event's type.
    pub fn details(&self) -> Option<&'e Map<String, Value>> {
        let members = self.0.as_object()?.iter();
        members.filter(|(name, _)| name.ends_with("EventDetails")).find_map(|(_, v)| v.as_object())
    }

    pub fn text(&self, member: &str) -> Option<&'e str> {
        self.details()?.get(member)?.as_str()
    }

    pub fn number(&self, member: &str) -> Option<u64> {
        self.details()?.get(member)?.as_u64()
    }

    /// What distinguishes this event from others of its type.
    pub fn summary(&self) -> String {
        let text = |member| self.text(member);
        let mut parts: Vec<String> = Vec::new();
        parts.extend(text("name").map(str::to_owned));
        if let Some(index) = self.number("index") {
            parts.push(format!("item {index}"));
        }
        if let Some(length) = self.number("length") {
            parts.push(count(usize::try_from(length).unwrap_or(usize::MAX), "item"));
        }
        match (text("resourceType"), text("resource")) {
            (Some(service), Some(action)) => parts.push(format!("{service}:{action}")),
            (_, resource) => parts
                .extend(resource.map(|arn| arn.rsplit(':').next().unwrap_or_default().to_owned())),
        }
        parts.extend(text("workerName").map(|worker| format!("worker {worker}")));
        parts.extend(text("mapRunArn").map(str::to_owned));
        if let Some(count) = self.number("redriveCount") {
            parts.push(format!("redrive {count}"));
        }
        match (text("error"), text("cause")) {
            (Some(error), Some(cause)) => parts.push(format!("{error}: {cause}")),
            (Some(text), None) | (None, Some(text)) => parts.push(text.to_owned()),
            (None, None) => {}
        }
        parts.join(", ")
    }

    /// The input, output or parameters it carries, by their names.
    pub fn payloads(&self) -> impl Iterator<Item = (&'static str, &'e str)> {
        let texts = ["input", "parameters", "output"].map(|name| (name, self.text(name)));
        texts.into_iter().filter_map(|(name, text)| Some((name, text?)))
    }
}

/// A time of the API in milliseconds: a number of seconds, or a text.
// Saturates, which is what is wanted.
#[must_use]
pub fn millis(time: &Value) -> Option<i64> {
    if let Some(text) = time.as_str() {
        return Some(timestamp::parse(text).ok()?.to_millis());
    }
    Some((time.as_f64()? * 1000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn summaries() {
        let check = |details: Value, expected: &str| {
            let event = json!({ "id": 1, "someEventDetails": details });
            assert_eq!(HistoryEvent(&event).summary(), expected, "{details}");
        };
        check(json!({ "name": "Charge", "input": "{}" }), "Charge");
        check(json!({ "name": "Each", "index": 3 }), "Each, item 3");
        check(json!({ "length": 1 }), "1 item");
        check(json!({ "resource": "invoke", "resourceType": "lambda" }), "lambda:invoke");
        check(json!({ "resource": "arn:aws:lambda:r:1:function:charge" }), "charge");
        check(json!({ "error": "E", "cause": "why" }), "E: why");
        check(json!({ "cause": "why" }), "why");
        check(json!({}), "");
        assert_eq!(HistoryEvent(&json!({ "id": 1 })).summary(), "");
    }
}
