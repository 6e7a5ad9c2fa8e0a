//! Where a value stands inside a definition, by names rather than bytes.

use std::borrow::Cow;
use std::fmt;

/// A path of field names and indexes, in the two notations that people meet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// RFC 6901: `/States/A~1B/Retry/0`. Empty for the whole definition.
    pub pointer: String,
    /// As the service prints it: `/States/A/B/Retry[0]`, and `/` for the whole definition.
    pub location: String,
}

impl Place {
    /// The whole definition.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        let escaped = if name.contains(['~', '/']) {
            Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
        } else {
            Cow::Borrowed(name)
        };
        Self { pointer: joined(&self.pointer, &escaped), location: joined(&self.location, name) }
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self {
            pointer: format!("{}/{index}", self.pointer),
            location: format!("{}[{index}]", self.location),
        }
    }

    /// The service's notation, never empty.
    #[must_use]
    pub fn service_location(&self) -> String {
        if self.location.is_empty() { "/".to_owned() } else { self.location.clone() }
    }
}

/// Every rule makes a place for every state: formatting would be most of its work.
fn joined(parent: &str, name: &str) -> String {
    let mut text = String::with_capacity(parent.len() + 1 + name.len());
    text.push_str(parent);
    text.push('/');
    text.push_str(name);
    text
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_notations_differ_in_escapes_and_indexes() {
        let place = Place::root().field("States").field("A/B~").field("Retry").index(0);
        assert_eq!(place.pointer, "/States/A~1B~0/Retry/0");
        assert_eq!(place.location, "/States/A/B~/Retry[0]");
        assert_eq!(Place::root().service_location(), "/");
    }
}
