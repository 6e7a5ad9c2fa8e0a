//! The packed table: found by service and action, unpacked by service.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

static PACKED: &[u8] = include_bytes!("shapes.bin");

/// A service that is unpacked when it is first needed.
struct Entry {
    stream: &'static [u8],
    service: OnceLock<Option<Service>>,
}

/// The responses of one service.
#[derive(Debug)]
pub(crate) struct Service {
    /// Which shape an action returns; none if it returns nothing.
    actions: HashMap<String, Option<usize>>,
    pub(crate) shapes: Vec<Shape>,
}

/// What a value must be. Parts are given by their place in the service's list: a shape can hold
/// itself.
#[derive(Debug)]
pub(crate) enum Shape {
    Structure { fields: Vec<(String, usize)>, required: Vec<String> },
    List { element: usize, length: Bounds },
    Map { value: usize },
    Text { length: Bounds, values: Vec<String> },
    Bytes { length: Bounds },
    Number { bounds: Bounds },
    Boolean,
    Anything,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bounds {
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// What an action returns.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub(crate) service: &'static Service,
    pub(crate) shape: Option<usize>,
}

/// The response of an action, both named as in `arn:aws:states:::aws-sdk:service:action`. None if
/// the table has no such service or action.
#[must_use]
pub fn output(service: &str, action: &str) -> Option<Output> {
    let entry = index().get(service)?;
    let service = entry.service.get_or_init(|| Service::unpack(entry.stream)).as_ref()?;
    Some(Output { service, shape: *service.actions.get(action)? })
}

fn index() -> &'static HashMap<String, Entry> {
    static INDEX: OnceLock<HashMap<String, Entry>> = OnceLock::new();
    INDEX.get_or_init(|| read_index().unwrap_or_default())
}

fn read_index() -> Option<HashMap<String, Entry>> {
    let end = PACKED.iter().position(|byte| *byte == b'\n')?;
    let streams = PACKED.get(end + 1..)?;
    let header: Map<String, Value> = serde_json::from_slice(&PACKED[..end]).ok()?;
    let entry = |(name, place): (String, Value)| {
        let (offset, length) = (index_of(&place[0])?, index_of(&place[1])?);
        let stream = streams.get(offset..offset + length)?;
        Some((name, Entry { stream, service: OnceLock::new() }))
    };
    header.into_iter().map(entry).collect()
}

impl Service {
    fn unpack(stream: &[u8]) -> Option<Self> {
        let text = miniz_oxide::inflate::decompress_to_vec_zlib(stream).ok()?;
        let packed: Value = serde_json::from_slice(&text).ok()?;
        let actions = packed[0].as_object()?.iter();
        Some(Self {
            actions: actions.map(|(name, shape)| (name.clone(), index_of(shape))).collect(),
            shapes: packed[1].as_array()?.iter().map(Shape::unpack).collect::<Option<_>>()?,
        })
    }
}

impl Shape {
    fn unpack(packed: &Value) -> Option<Self> {
        let bounds =
            |from: usize| Bounds { min: packed[from].as_f64(), max: packed[from + 1].as_f64() };
        Some(match packed[0].as_str()? {
            "o" => Self::Structure { fields: fields(&packed[1])?, required: texts(&packed[2]) },
            "a" => Self::List { element: index_of(&packed[1])?, length: bounds(2) },
            "m" => Self::Map { value: index_of(&packed[1])? },
            "s" => Self::Text { length: bounds(1), values: texts(&packed[3]) },
            "x" => Self::Bytes { length: bounds(1) },
            "n" => Self::Number { bounds: bounds(1) },
            "b" => Self::Boolean,
            "?" => Self::Anything,
            _ => return None,
        })
    }
}

fn fields(packed: &Value) -> Option<Vec<(String, usize)>> {
    packed.as_object()?.iter().map(|(name, shape)| Some((name.clone(), index_of(shape)?))).collect()
}

fn texts(packed: &Value) -> Vec<String> {
    packed.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn index_of(number: &Value) -> Option<usize> {
    usize::try_from(number.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_unpacks_and_refers_to_what_is_there() {
        assert!(index().len() > 80);
        for (name, entry) in index() {
            let service = Service::unpack(entry.stream).unwrap_or_else(|| panic!("{name}"));
            let parts = service.shapes.iter().flat_map(|shape| match shape {
                Shape::Structure { fields, .. } => fields.iter().map(|(_, part)| *part).collect(),
                Shape::List { element: part, .. } | Shape::Map { value: part } => vec![*part],
                _ => Vec::new(),
            });
            let mut used = parts.chain(service.actions.values().copied().flatten());
            assert!(used.all(|shape| shape < service.shapes.len()), "{name}");
        }
    }

    #[test]
    fn actions_are_found_by_the_names_of_sdk_integrations() {
        assert!(output("lambda", "getFunction").is_some());
        assert!(output("sfn", "startExecution").is_some());
        assert!(output("eventbridge", "putEvents").is_some());
        assert!(output("lambda", "GetFunction").is_none());
        assert!(output("nosuchservice", "getFunction").is_none());
    }
}
