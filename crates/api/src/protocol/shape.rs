//! What a value of the protocol is made of.

/// A named type of the service's model.
#[derive(Debug)]
pub struct Shape {
    pub name: &'static str,
    /// Its values are never repeated in a message or a log.
    pub sensitive: bool,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    Structure(&'static [Member]),
    List {
        element: &'static Shape,
        length: Bounds,
    },
    /// By names.
    Map {
        value: &'static Shape,
    },
    Text {
        length: Bounds,
        pattern: Option<&'static str>,
        /// All it may be; empty for any text.
        values: &'static [&'static str],
    },
    Integer(Bounds),
    Long(Bounds),
    Float(Bounds),
    Boolean,
    /// Seconds since 1970, as a number.
    Timestamp,
}

/// A member of a structure.
#[derive(Debug)]
pub struct Member {
    pub name: &'static str,
    pub shape: &'static Shape,
    pub required: bool,
    /// The SDKs make one up where the caller gives none.
    pub idempotency_token: bool,
    /// Its length is counted in bytes of UTF-8, not in characters.
    pub in_bytes: bool,
}

impl Member {
    pub(super) const fn new(name: &'static str, shape: &'static Shape) -> Self {
        Self { name, shape, required: false, idempotency_token: false, in_bytes: false }
    }

    pub(super) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(super) const fn idempotency_token(self) -> Self {
        Self { idempotency_token: true, ..self }
    }

    pub(super) const fn in_bytes(self) -> Self {
        Self { in_bytes: true, ..self }
    }
}

/// Both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub min: Option<i64>,
    pub max: Option<i64>,
}

impl Bounds {
    pub const NONE: Self = Self { min: None, max: None };
}
