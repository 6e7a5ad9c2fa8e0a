//! What the `ItemReader` of a Map state under test has read.

use everstep_asl::model::ItemReader;
use everstep_history::Payload;
use serde_json::Value;

use super::request::RequestError;

/// The items of a dataset; and the dataset after `ItemsPointer`, if the reader has one.
pub(super) struct Read {
    pub(super) items: Vec<Value>,
    pub(super) after_pointer: Option<Payload>,
}

/// Reads data as it was found in its source.
pub(super) fn read(reader: &ItemReader, text: &str) -> Result<Read, RequestError> {
    match reader.config.input_type.as_deref() {
        Some("JSON") | None => json(text, reader.config.items_pointer.as_deref()),
        Some("JSONL") => lines(text),
        Some(other) => Err(RequestError::invalid(format!(
            "mapItemReaderData of InputType {other} is not supported: use JSON or JSONL"
        ))),
    }
}

fn json(text: &str, pointer: Option<&str>) -> Result<Read, RequestError> {
    let data: Value = serde_json::from_str(text)
        .map_err(|_| RequestError::invalid("mapItemReaderData must be valid JSON"))?;
    let Some(pointer) = pointer else {
        return Ok(Read { items: array(data)?, after_pointer: None });
    };
    let found = data.pointer(pointer).cloned().ok_or_else(|| {
        RequestError::invalid(format!("mapItemReaderData has nothing at ItemsPointer '{pointer}'"))
    })?;
    let after_pointer = Some(Payload::new(found.clone()));
    Ok(Read { items: array(found)?, after_pointer })
}

fn array(data: Value) -> Result<Vec<Value>, RequestError> {
    match data {
        Value::Array(items) => Ok(items),
        _ => Err(RequestError::invalid("mapItemReaderData must hold an array of items")),
    }
}

fn lines(text: &str) -> Result<Read, RequestError> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let items: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
    let items = items
        .map_err(|_| RequestError::invalid("mapItemReaderData must be one JSON value per line"))?;
    Ok(Read { items, after_pointer: None })
}
