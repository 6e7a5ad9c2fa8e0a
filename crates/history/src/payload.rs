//! JSON that many events and states refer to, held once.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

/// A shared, immutable JSON value that knows its own size.
#[derive(Clone)]
pub struct Payload(Arc<Inner>);

struct Inner {
    value: Value,
    /// As it was given, if that was a text of another form than the compact one.
    text: Option<Box<str>>,
    size: OnceLock<usize>,
}

impl Payload {
    #[must_use]
    pub fn new(value: Value) -> Self {
        Self(Arc::new(Inner { value, text: None, size: OnceLock::new() }))
    }

    /// A value that is shown again as it was written: white space and forms of numbers kept.
    pub fn from_text(text: &str) -> serde_json::Result<Self> {
        let value = serde_json::from_str(text)?;
        Ok(Self(Arc::new(Inner { value, text: Some(text.into()), size: OnceLock::new() })))
    }

    /// Its JSON text: as it was given, else compact.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text.as_deref().map_or_else(|| self.0.value.to_string(), str::to_owned)
    }

    /// An array of payloads, each of which keeps its text.
    #[must_use]
    pub fn array(parts: &[Self]) -> Self {
        let value = Value::Array(parts.iter().map(|part| part.value().clone()).collect());
        let text = parts.iter().any(|part| part.0.text.is_some()).then(|| {
            let texts: Vec<String> = parts.iter().map(Self::text).collect();
            format!("[{}]", texts.join(",")).into_boxed_str()
        });
        Self(Arc::new(Inner { value, text, size: OnceLock::new() }))
    }

    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0.value
    }

    /// The value itself, without a copy if nobody else holds it.
    #[must_use]
    pub fn into_value(self) -> Value {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => inner.value,
            Err(shared) => shared.value.clone(),
        }
    }

    /// Bytes of its compact JSON text, counted once.
    #[must_use]
    pub fn size(&self) -> usize {
        *self.0.size.get_or_init(|| size(&self.0.value))
    }

    /// Whether both are the very same value in memory.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Payload {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self::new(value)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.value() == other.value()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.value(), f)
    }
}

/// The length of the compact text, without writing it.
fn size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text_size(text),
        Value::Array(elements) => {
            2 + elements.len().saturating_sub(1) + elements.iter().map(size).sum::<usize>()
        }
        Value::Object(fields) => {
            let inner: usize =
                fields.iter().map(|(name, value)| text_size(name) + 1 + size(value)).sum();
            2 + fields.len().saturating_sub(1) + inner
        }
    }
}

fn text_size(text: &str) -> usize {
    let escapes: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            0..0x20 => 5,
            _ => 0,
        })
        .sum();
    text.len() + escapes + 2
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_is_that_of_the_text() {
        for value in [
            json!(null),
            json!([1, -2.5, true, false, "a\"b\\\n\u{1}ü", {}]),
            json!({"a": {"b": []}, "c\t": [[]], "d": 1e300}),
        ] {
            assert_eq!(Payload::new(value.clone()).size(), value.to_string().len(), "{value}");
        }
    }
}
