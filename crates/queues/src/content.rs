//! What a sender gives.

use minicbor::{Decode, Encode};

#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Content {
    #[n(0)]
    pub body: String,
    /// Sorted by name.
    #[n(1)]
    pub attributes: Vec<Attribute>,
    #[n(2)]
    pub group: Option<String>,
    #[n(3)]
    pub deduplication_id: Option<String>,
    /// X-Ray's `AWSTraceHeader`.
    #[n(4)]
    pub trace_header: Option<String>,
    /// Who sent it: an access key, or what in this process did.
    #[n(5)]
    pub sender: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Attribute {
    #[n(0)]
    pub name: String,
    /// `String`, `Number` or `Binary`, perhaps with a label: `Number.int`.
    #[n(1)]
    pub data_type: String,
    #[n(2)]
    pub value: AttributeValue,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum AttributeValue {
    #[n(0)]
    Text(#[n(0)] String),
    #[n(1)]
    Binary(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
}

impl Content {
    #[must_use]
    pub fn text(body: impl Into<String>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// Bytes that count against the maximum of a queue.
    #[must_use]
    pub fn size(&self) -> usize {
        let attribute = |attribute: &Attribute| {
            let value = match &attribute.value {
                AttributeValue::Text(text) => text.len(),
                AttributeValue::Binary(bytes) => bytes.len(),
            };
            attribute.name.len() + attribute.data_type.len() + value
        };
        self.body.len() + self.attributes.iter().map(attribute).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_count() {
        let value = AttributeValue::Binary(vec![0; 5]);
        let attribute = Attribute { name: "abc".into(), data_type: "Binary".into(), value };
        let content = Content { attributes: vec![attribute], ..Content::text("ü") };
        assert_eq!(content.size(), 2 + 3 + 6 + 5);
    }
}
