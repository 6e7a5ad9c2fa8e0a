//! The parts that events of the AWS history are made of.

use everstep_history::{Failure, Payload};
use serde_json::{Map, Value, json};

/// The id of the event before, the type, and the details by their name.
pub(super) type Described = (u32, String, Option<(&'static str, Value)>);

pub(super) fn plain(previous: u32, kind: &str, name: &'static str, details: Value) -> Described {
    (previous, kind.to_owned(), Some((name, details)))
}

pub(super) fn bare(previous: u32, kind: &str) -> Described {
    (previous, kind.to_owned(), None)
}

/// A payload as its JSON text, with the details the service adds.
pub(super) fn text(name: &str, payload: &Payload) -> Value {
    json!({ name: payload.text(), format!("{name}Details"): { "truncated": false } })
}

pub(super) fn failed(failure: &Failure) -> Value {
    let mut details = Map::new();
    if let Some(error) = &failure.error {
        details.insert("error".to_owned(), json!(&**error));
    }
    if let Some(cause) = &failure.cause {
        details.insert("cause".to_owned(), json!(&**cause));
    }
    Value::Object(details)
}
