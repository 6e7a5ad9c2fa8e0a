//! Names of what queues are made of.

use std::fmt;
use std::str::FromStr;

use everstep_shards::keys;
use everstep_store::Shard;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The shard that owns the queue of a name: always the same, as the number of shards is.
#[must_use]
pub fn shard_of(name: &str, shards: u16) -> Shard {
    keys::shard_of(&digest(&[b"queue", name.as_bytes()]), shards)
}

/// A message. A message that is moved to a dead-letter queue keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct MessageId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

impl MessageId {
    /// An id from 128 bits of chance.
    #[must_use]
    pub fn drawn([high, low]: [u64; 2]) -> Self {
        let bytes = ((u128::from(high) << 64) | u128::from(low)).to_be_bytes();
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes())
    }

    /// The message that a delivery becomes, however often it is made.
    #[must_use]
    pub fn of_delivery(key: &str) -> Self {
        Self::derived(&[b"delivery", key.as_bytes()])
    }

    /// The message that a redriven one becomes.
    pub(crate) fn of_redrive(moved: MoveId) -> Self {
        Self::derived(&[b"redrive", &moved.0])
    }

    fn derived(parts: &[&[u8]]) -> Self {
        Self(uuid::Builder::from_custom_bytes(digest(parts)).into_uuid().into_bytes())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uuid::from_bytes(self.0).fmt(f)
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MessageId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse::<Uuid>().map(|uuid| Self(uuid.into_bytes()))
    }
}

/// What the keys of rows begin with. A queue has two: one for as long as it exists, and one for its messages, which is
/// replaced when it is purged. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct RowsId(#[n(0)] u64);

impl RowsId {
    pub(crate) fn drawn(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) fn bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(u64::from_be_bytes).map(Self)
    }
}

/// A message group of a FIFO queue: a digest of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub(crate) struct Group(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

impl Group {
    pub(crate) fn named(name: &str) -> Self {
        Self(digest(&[b"group", name.as_bytes()]))
    }
}

/// What two messages have in common of which only the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Of a deduplication id, which may count within its group alone.
    pub(crate) fn of_id(id: &str, group: Option<&str>) -> Self {
        let group = group.unwrap_or_default();
        Self(digest(&[b"deduplication", id.as_bytes(), group.as_bytes()]))
    }

    /// Of a delivery by the engines of this process.
    pub(crate) fn of_delivery(key: &str) -> Self {
        Self(digest(&[b"delivery", key.as_bytes()]))
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// The move of one message from a queue to another. The same however often it is attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct MoveId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

impl MoveId {
    /// A message leaves the rows that it is in once.
    pub(crate) fn of(rows: RowsId, sequence: u64) -> Self {
        Self(digest(&[b"move", &rows.bytes(), &sequence.to_be_bytes()]))
    }

    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// The queue that moved messages are for: a digest of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Recipient([u8; 8]);

impl Recipient {
    pub(crate) fn named(name: &str) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest(&[b"recipient", name.as_bytes()])[..8]);
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 8] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// What SQS makes a deduplication id of when the content counts: the SHA-256 of the body.
pub(crate) fn content_digest(body: &str) -> String {
    Sha256::digest(body.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Each part with its length before it, so that no two lists of parts read the same.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_shown() {
        for id in [MessageId::drawn([1, u64::MAX]), MessageId::of_delivery("d")] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(MessageId::drawn([0, 0]).to_string(), "00000000-0000-4000-8000-000000000000");
        assert!("x".parse::<MessageId>().is_err());
    }

    #[test]
    fn what_is_derived_is_the_same_again_and_nothing_else() {
        let rows = RowsId::drawn(7);
        assert_eq!(MoveId::of(rows, 1), MoveId::of(rows, 1));
        assert_ne!(MoveId::of(rows, 1), MoveId::of(rows, 2));
        assert_ne!(Fingerprint::of_id("ab", Some("c")), Fingerprint::of_id("a", Some("bc")));
        assert_ne!(Fingerprint::of_id("a", None), Fingerprint::of_delivery("a"));
    }

    #[test]
    fn the_content_counts_by_its_sha_256() {
        let digest = content_digest("Test");
        assert_eq!(digest, "532eaabd9574880dbf76b9b8cc00832c20a6ec113d682299550d7a6e0f345e25");
    }
}
