//! Where an invocation comes from.

use minicbor::{Decode, Encode};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Source {
    #[n(0)]
    pub kind: SourceKind,
    /// The trigger, the function that is called, the function or letter that it follows from.
    #[n(1)]
    pub name: String,
    #[n(2)]
    pub message_id: Option<String>,
    #[n(3)]
    pub partition: Option<String>,
    #[n(4)]
    pub offset: Option<String>,
    #[n(5)]
    pub delivery_count: Option<u32>,
    /// Destinations that led to it.
    #[n(6)]
    pub depth: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum SourceKind {
    #[n(0)]
    Invoke,
    #[n(1)]
    Task,
    #[n(2)]
    Timer,
    #[n(3)]
    Queue,
    #[n(4)]
    Stream,
    #[n(5)]
    Http,
    #[n(6)]
    Destination,
    #[n(7)]
    Redrive,
    #[n(8)]
    File,
}

impl SourceKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invoke => "invoke",
            Self::Task => "task",
            Self::Timer => "timer",
            Self::Queue => "queue",
            Self::Stream => "stream",
            Self::Http => "http",
            Self::Destination => "destination",
            Self::Redrive => "redrive",
            Self::File => "file",
        }
    }
}

impl Source {
    /// A source of which nothing but its kind and its name is known.
    #[must_use]
    pub fn new(kind: SourceKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            message_id: None,
            partition: None,
            offset: None,
            delivery_count: None,
            depth: 0,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("kind".to_owned(), self.kind.name().into());
        object.insert("name".to_owned(), self.name.clone().into());
        let texts = [
            ("messageId", &self.message_id),
            ("partition", &self.partition),
            ("offset", &self.offset),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                object.insert(name.to_owned(), text.clone().into());
            }
        }
        if let Some(count) = self.delivery_count {
            object.insert("deliveryCount".to_owned(), count.into());
        }
        if self.depth > 0 {
            object.insert("depth".to_owned(), self.depth.into());
        }
        object.into()
    }
}
