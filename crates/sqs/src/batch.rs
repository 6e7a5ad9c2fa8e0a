//! What all batches have in common.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::{Error, Name};

/// Entries of a batch.
pub const ENTRIES_MAX: usize = 10;

/// Whether the entries of a batch can be told apart, and are not too many. `entry` is what the service calls one.
pub fn check_batch<'i>(
    entry: &str,
    ids: impl ExactSizeIterator<Item = Option<&'i str>>,
) -> Result<(), Error> {
    let count = ids.len();
    if count == 0 {
        let message = format!("There should be at least one {entry} in the request.");
        return Err(Error::new(Name::EmptyBatchRequest, message));
    }
    if count > ENTRIES_MAX {
        let message = format!(
            "Maximum number of entries per request are {ENTRIES_MAX}. You have sent {count}."
        );
        return Err(Error::new(Name::TooManyEntriesInBatchRequest, message));
    }
    let mut known = BTreeSet::new();
    for id in ids {
        let id = id.ok_or_else(|| Error::missing(&format!("{entry}.Id")))?;
        if !is_id(id) {
            let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can \
                           be at most 80 letters long.";
            return Err(Error::new(Name::InvalidBatchEntryId, message));
        }
        if !known.insert(id) {
            return Err(Error::new(Name::BatchEntryIdsNotDistinct, format!("Id {id} repeated.")));
        }
    }
    Ok(())
}

fn is_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=80).contains(&id.len()) && id.bytes().all(allowed)
}

/// An entry that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    pub id: String,
    pub error: Error,
}

impl Failed {
    #[must_use]
    pub fn to_json(&self) -> Value {
        let name = self.error.name();
        json!({
            "Id": self.id,
            "SenderFault": name.is_senders(),
            "Code": name.code(),
            "Message": self.error.message(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ids: &[&str], expected: Result<(), Name>) {
        let found = check_batch("SendMessageBatchRequestEntry", ids.iter().map(|id| Some(*id)));
        assert_eq!(found.map_err(|error| error.name()), expected, "{ids:?}");
    }

    #[test]
    fn batches() {
        check(&["a", "b-_9"], Ok(()));
        check(&[], Err(Name::EmptyBatchRequest));
        check(&["a", "a"], Err(Name::BatchEntryIdsNotDistinct));
        check(&["a:b"], Err(Name::InvalidBatchEntryId));
        check(&[""], Err(Name::InvalidBatchEntryId));
        check(&[&"x".repeat(81)], Err(Name::InvalidBatchEntryId));
        let many: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&many, Err(Name::TooManyEntriesInBatchRequest));
    }
}
