//! The headers of a request, by name.

use std::collections::BTreeMap;

/// Values by the name in small letters, in the order they came.
pub(super) struct Headers<'a> {
    values: BTreeMap<String, Vec<&'a [u8]>>,
}

impl<'a> Headers<'a> {
    pub(super) fn index(headers: &[(&'a str, &'a [u8])]) -> Self {
        let mut values: BTreeMap<String, Vec<&'a [u8]>> = BTreeMap::new();
        for (name, value) in headers {
            values.entry(name.to_ascii_lowercase()).or_default().push(value);
        }
        Self { values }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    pub(super) fn all(&self, name: &str) -> &[&'a [u8]] {
        self.values.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The value of a header that is there once, and is text. An error if it is there otherwise.
    pub(super) fn one(&self, name: &str) -> Result<Option<&'a str>, ()> {
        match self.all(name) {
            [] => Ok(None),
            [value] => std::str::from_utf8(value).map(|text| Some(text.trim())).map_err(|_| ()),
            _ => Err(()),
        }
    }
}
