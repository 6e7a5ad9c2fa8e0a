//! Access keys and their secrets.

use std::collections::HashMap;
use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The keys that may sign. Shown, they are their ids.
#[derive(Clone, Default)]
pub struct Keys {
    secrets: HashMap<String, String>,
}

/// Keys that cannot be used as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidKeys {
    /// Letters, digits and `_` only, so that an id can stand in a header.
    Id(String),
    /// A secret that is empty is none. The id is named.
    EmptySecret(String),
    Repeated(String),
}

/// Stands in where a key is unknown.
const DUMMY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

impl Keys {
    /// Of pairs of an access key id and its secret.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, InvalidKeys> {
        let mut secrets = HashMap::new();
        for (id, secret) in pairs {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if id.is_empty() || !id.bytes().all(plain) {
                return Err(InvalidKeys::Id(id));
            }
            if secret.is_empty() {
                return Err(InvalidKeys::EmptySecret(id));
            }
            if secrets.contains_key(&id) {
                return Err(InvalidKeys::Repeated(id));
            }
            secrets.insert(id, secret);
        }
        Ok(Self { secrets })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Whether these are a key and its secret. Takes the same time whether or not the key is known.
    #[must_use]
    pub fn is_pair(&self, id: &str, secret: &str) -> bool {
        let (own, is_known) = self.secret(id);
        let is_same = Sha256::digest(own).ct_eq(&Sha256::digest(secret));
        bool::from(is_same) && is_known
    }

    /// The secret of a key, or another one; and whether the key is known.
    pub(super) fn secret(&self, id: &str) -> (&str, bool) {
        match self.secrets.get(id) {
            Some(secret) => (secret, true),
            None => (DUMMY, false),
        }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids: Vec<_> = self.secrets.keys().collect();
        ids.sort();
        f.debug_tuple("Keys").field(&ids).finish()
    }
}

impl fmt::Display for InvalidKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => {
                write!(f, "access key id '{id}' must be letters, digits and underscores")
            }
            Self::EmptySecret(id) => write!(f, "access key '{id}' has an empty secret"),
            Self::Repeated(id) => write!(f, "access key '{id}' is given twice"),
        }
    }
}

impl std::error::Error for InvalidKeys {}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pairs: &[(&str, &str)]) -> Result<Keys, InvalidKeys> {
        Keys::new(pairs.iter().map(|(id, secret)| ((*id).to_owned(), (*secret).to_owned())))
    }

    #[test]
    fn secrets_are_not_shown() {
        let keys = keys(&[("BETA", "hunter2"), ("ALPHA", "hunter3")]).unwrap();
        assert_eq!(format!("{keys:?}"), r#"Keys(["ALPHA", "BETA"])"#);
        assert!(!keys.is_empty());
        assert!(Keys::default().is_empty());
    }

    #[test]
    fn keys_that_cannot_be_used() {
        let check = |pairs: &[(&str, &str)], expected: &str| {
            assert_eq!(keys(pairs).unwrap_err().to_string(), expected);
        };
        check(&[("", "s")], "access key id '' must be letters, digits and underscores");
        check(&[("A/B", "s")], "access key id 'A/B' must be letters, digits and underscores");
        check(&[("A", "")], "access key 'A' has an empty secret");
        check(&[("A", "s"), ("A", "t")], "access key 'A' is given twice");
    }
}
