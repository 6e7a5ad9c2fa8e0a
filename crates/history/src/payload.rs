//! JSON that many events and states refer to, held once.
//!
//! What came in as text is parsed on first access, and what was computed is written when its text is
//! first needed; neither happens twice.

mod size;
mod text;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// A shared, immutable JSON value that knows its own text and size.
#[derive(Clone)]
pub struct Payload(Arc<Inner>);

/// Either the value or the text is there from the start, and the other can be made from it.
#[derive(Default)]
struct Inner {
    value: OnceLock<Value>,
    /// As it was given, else compact.
    text: OnceLock<Box<str>>,
    size: OnceLock<usize>,
    depth: OnceLock<usize>,
}

impl Payload {
    /// Levels of arrays and objects that a state may pass on: more than a text from outside may
    /// have (127), for templates and expressions wrap what they are given.
    pub const DEPTH_MAX: usize = 900;

    #[must_use]
    pub fn new(value: Value) -> Self {
        Self(Arc::new(Inner { value: value.into(), ..Inner::default() }))
    }

    /// A value that is shown again as it was written: white space and forms of numbers kept.
    pub fn from_text(text: &str) -> serde_json::Result<Self> {
        text::check(text).map(|depth| Self::from_checked(text, depth))
    }

    /// A text of [`Self::as_text`] that was kept: it may nest deeper than one from outside.
    pub fn from_stored(text: &str) -> serde_json::Result<Self> {
        text::check_stored(text).map(|depth| Self::from_checked(text, depth))
    }

    fn from_checked(text: &str, depth: usize) -> Self {
        let text = Box::<str>::from(text).into();
        Self(Arc::new(Inner { text, depth: depth.into(), ..Inner::default() }))
    }

    /// An array of payloads, each of which keeps its text.
    #[must_use]
    pub fn array(parts: &[Self]) -> Self {
        let inner = Inner::default();
        if parts.iter().any(|part| part.0.text.get().is_some()) {
            let texts: Vec<&str> = parts.iter().map(Self::as_text).collect();
            inner.text.get_or_init(|| format!("[{}]", texts.join(",")).into());
            let depths = parts.iter().map(Self::depth);
            inner.depth.get_or_init(|| 1 + depths.max().unwrap_or(0));
        }
        if inner.text.get().is_none() || parts.iter().all(|part| part.0.value.get().is_some()) {
            let values = parts.iter().map(|part| part.value().clone());
            inner.value.get_or_init(|| values.collect());
        }
        Self(Arc::new(inner))
    }

    /// Its JSON text: as it was given, else compact.
    #[must_use]
    pub fn as_text(&self) -> &str {
        self.0.text.get_or_init(|| {
            let text = serde_json::to_string(self.value()).expect("every value has a text");
            self.0.size.get_or_init(|| text.len());
            text.into()
        })
    }

    /// A copy of [`Self::as_text`].
    #[must_use]
    pub fn text(&self) -> String {
        self.as_text().to_owned()
    }

    #[must_use]
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| parse(&self.0.text))
    }

    /// The value itself, without a copy if it is not shared.
    #[must_use]
    pub fn into_value(self) -> Value {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner.value.into_inner().unwrap_or_else(|| parse(&inner.text)),
            Err(shared) => Self(shared).value().clone(),
        }
    }

    /// Bytes of its compact JSON text, counted once.
    #[must_use]
    pub fn size(&self) -> usize {
        *self.0.size.get_or_init(|| size::of(self.value()))
    }

    /// Bytes of the text that it was given as, else of its compact text: what it takes to hold or to write, more
    /// or less. A text is not parsed to know.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.0.text.get().map_or_else(|| self.size(), |text| text.len())
    }

    /// Levels of arrays and objects, counted once.
    #[must_use]
    pub fn depth(&self) -> usize {
        *self.0.depth.get_or_init(|| size::depth_of(self.value()))
    }

    /// Whether its size is more than so many bytes. A short text is not parsed to know.
    #[must_use]
    pub fn exceeds(&self, bytes_max: usize) -> bool {
        let short = |text: &str| text.len() <= bytes_max / size::GROWTH_MAX;
        !self.0.text.get().is_some_and(|text| short(text)) && self.size() > bytes_max
    }

    /// Whether both are the very same value in memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What [`Self::is_same`] compares.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

fn parse(text: &OnceLock<Box<str>>) -> Value {
    text::parse(text.get().expect("there is a text if there is no value"))
}

impl Deref for Payload {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value()
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        let same_text = || match (self.0.text.get(), other.0.text.get()) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => false,
        };
        self.is_same(other) || same_text() || self.value() == other.value()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.value(), f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPACED: &str = "{ \"b\": 1.0e1, \"a\": [ ] }";

    fn is_parsed(payload: &Payload) -> bool {
        payload.0.value.get().is_some()
    }

    fn is_written(payload: &Payload) -> bool {
        payload.0.text.get().is_some()
    }

    #[test]
    fn a_text_is_parsed_on_first_access() {
        let payload = Payload::from_text(SPACED).unwrap();
        assert_eq!(payload.as_text(), SPACED);
        assert!(payload == Payload::from_text(SPACED).unwrap());
        assert!(!payload.exceeds(SPACED.len() * size::GROWTH_MAX));
        assert!(!is_parsed(&payload));
        assert_eq!(payload["b"], json!(10.0));
        assert!(is_parsed(&payload));
        assert_eq!(payload.text(), SPACED, "the text stays as it was given");
        assert_eq!(payload.into_value(), json!({"b": 10.0, "a": []}));
    }

    #[test]
    fn a_value_is_written_when_its_text_is_needed() {
        let payload = Payload::new(json!({"b": 10.0, "a": []}));
        assert_eq!(payload.size(), 17);
        assert!(!payload.exceeds(17) && payload.exceeds(16));
        assert!(!is_written(&payload));
        assert_eq!(payload.as_text(), r#"{"b":10.0,"a":[]}"#);
        assert!(std::ptr::eq(payload.as_text(), payload.as_text()));
    }

    #[test]
    fn the_size_is_that_of_the_compact_text() {
        for (text, size) in
            [(SPACED, 17), ("[ 1e15 ]", 20), (r#"{"a":1,"a":2}"#, 7), (r#""\u00e9""#, 4)]
        {
            let payload = Payload::from_text(text).unwrap();
            for bytes_max in 0..GROWN_MAX {
                assert_eq!(payload.exceeds(bytes_max), size > bytes_max, "{text}, {bytes_max}");
            }
            assert_eq!(payload.size(), size, "{text}");
        }
    }

    const GROWN_MAX: usize = 200;

    #[test]
    fn equal_values_are_equal_however_written() {
        let text = |text| Payload::from_text(text).unwrap();
        assert_eq!(text(SPACED), Payload::new(json!({"a": [], "b": 10.0})));
        assert_eq!(text("[1]"), text("[ 1 ]"));
        assert_ne!(text("1"), text("1.0"));
        assert_ne!(text("[1]"), Payload::new(json!([2])));
    }

    #[test]
    fn an_array_keeps_the_texts_of_its_parts() {
        let (text, value) = (Payload::from_text("1e1").unwrap(), Payload::new(json!({"a": 1})));
        for (parts, written) in [
            (vec![], "[]"),
            (vec![value.clone()], r#"[{"a":1}]"#),
            (vec![text, value.clone()], r#"[1e1,{"a":1}]"#),
        ] {
            let array = Payload::array(&parts);
            assert_eq!(array.as_text(), written);
            let values: Value = parts.iter().map(|part| part.value().clone()).collect();
            assert_eq!(*array, values);
            assert_eq!(array.size(), values.to_string().len());
            assert_eq!(array.depth(), size::depth_of(&values));
        }
        let both = Payload::array(&[Payload::from_text("1").unwrap(), value]);
        assert!(is_written(&both) && !is_parsed(&both), "it has not been accessed");
    }
}
