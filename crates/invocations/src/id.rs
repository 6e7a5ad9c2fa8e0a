//! Names of invocations and of attempts: 16 bytes, shown as UUIDs.
//!
//! An id that must be the same however often it is asked for (a key that a caller repeats, a delivery that
//! is made again after a crash) is a digest of what it stands for; all others are drawn.

use std::fmt;
use std::str::FromStr;

use everstep_shards::Subject;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

/// An invocation: what a Lambda handler sees as `aws_request_id`, the same in all attempts. A session has
/// the id of the invocation that began it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct InvocationId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

/// One attempt of an invocation. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct AttemptId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

/// Where the notes of one who sends events are: in the shard that has the invocations of these events too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HomeId([u8; 16]);

impl HomeId {
    /// The same for the same names, in this order.
    #[must_use]
    pub fn named(names: &[&str]) -> Self {
        let parts: Vec<&[u8]> = [b"home".as_slice()]
            .into_iter()
            .chain(names.iter().map(|name| name.as_bytes()))
            .collect();
        Self(digest(&parts))
    }
}

everstep_shards::id!(HomeId);

/// The recipient of deliveries: a digest of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Recipient(pub(crate) [u8; 8]);

impl Recipient {
    pub(crate) fn named(name: &str) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest(&[b"addressee", name.as_bytes()])[..8]);
        Self(bytes)
    }
}

/// How UUIDs say what they were made of: by chance, or in a way of one's own.
const DRAWN: u8 = 4;
const DERIVED: u8 = 8;

/// What tells invocations from others that engines work on.
pub(crate) const KIND: u8 = 2;

impl InvocationId {
    /// The invocation, among all that engines work on.
    #[must_use]
    pub fn subject(self) -> Subject {
        Subject { kind: KIND, id: self.0 }
    }

    /// An id from 128 bits of chance.
    #[must_use]
    pub fn drawn(bits: [u64; 2]) -> Self {
        Self(uuid(bytes_of(bits), DRAWN))
    }

    /// The invocation that a source's message or a caller's idempotency key stands for.
    #[must_use]
    pub fn of_key(source: &str, key: &str) -> Self {
        Self(digest(&[b"key", source.as_bytes(), key.as_bytes()]))
    }

    /// The invocation that an item becomes, in the shard of who sends it: so one batch can accept it and note that. The
    /// item's id must be the same whenever it is sent.
    #[must_use]
    pub fn of_item(home: HomeId, item: &str) -> Self {
        let mut bytes = digest(&[b"item", &home.0, item.as_bytes()]);
        bytes[..2].copy_from_slice(&home.0[..2]);
        Self(bytes)
    }

    /// Not an invocation: an id in the shard of a home.
    pub(crate) fn at(home: HomeId) -> Self {
        Self(home.0)
    }

    /// The invocation that a delivery of another one becomes. A key may be used again once its first
    /// invocation is gone, and what followed from that may still be there: so the moment of the acceptance
    /// counts too.
    pub(crate) fn of_delivery(origin: Self, accepted_ms: i64, index: u32) -> Self {
        let (accepted, index) = (accepted_ms.to_be_bytes(), index.to_be_bytes());
        Self(digest(&[b"delivery", &origin.0, &accepted, &index]))
    }

    /// The invocation that a dead letter becomes when it is sent back. It is in the same shard, so that
    /// one batch can end the letter and begin the invocation.
    /// A key may lead to a letter again once the first is gone, so the moment of its acceptance counts.
    pub(crate) fn of_redrive(letter: Self, accepted_ms: i64) -> Self {
        let mut bytes = digest(&[b"redrive", &letter.0, &accepted_ms.to_be_bytes()]);
        bytes[..2].copy_from_slice(&letter.0[..2]);
        Self(bytes)
    }
}

everstep_shards::id!(InvocationId);

impl AttemptId {
    /// An id from 128 bits of chance.
    pub(crate) fn drawn(bits: [u64; 2]) -> Self {
        Self(uuid(bytes_of(bits), DRAWN))
    }

    /// The attempt that comes next, after so many that have been started and so many that were withdrawn.
    /// If its start does not survive a crash it has reached no worker, and the next may have its id.
    /// A key may be used again while a worker still has an attempt of its earlier invocation, so the moment of the
    /// acceptance counts.
    pub(crate) fn next(
        invocation: InvocationId,
        accepted_ms: i64,
        started: u32,
        withdrawn: u32,
    ) -> Self {
        let accepted = accepted_ms.to_be_bytes();
        let counts = [started.to_be_bytes(), withdrawn.to_be_bytes()].concat();
        Self(digest(&[b"attempt", &invocation.0, &accepted, &counts]))
    }
}

fn bytes_of([high, low]: [u64; 2]) -> [u8; 16] {
    ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
}

fn uuid(mut bytes: [u8; 16], version: u8) -> [u8; 16] {
    bytes[6] = (bytes[6] & 0x0f) | (version << 4);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    bytes
}

/// Each part with its length before it, so that no two lists of parts read the same.
fn digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    uuid(first, DERIVED)
}

fn show(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

macro_rules! shown_as_uuid {
    ($($name:ident)+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(&self.0, f)
            }
        }
    )+};
}

shown_as_uuid!(InvocationId AttemptId HomeId);

/// An invalid id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not an invocation id: expected 32 hexadecimal digits with hyphens, as in a UUID",
        )
    }
}

impl std::error::Error for NotAnId {}

impl FromStr for InvocationId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let hyphens: Vec<usize> = text.match_indices('-').map(|(at, _)| at).collect();
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let plain = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hyphens != [8, 13, 18, 23] || !plain {
            return Err(NotAnId);
        }
        let number = u128::from_str_radix(&digits, 16).map_err(|_| NotAnId)?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_shown() {
        for id in [InvocationId::drawn([1, u64::MAX]), InvocationId::of_key("a", "b")] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(InvocationId::drawn([0, 0]).to_string(), "00000000-0000-4000-8000-000000000000");
        for text in [
            "",
            "x",
            "00000000-0000-4000-8000-00000000000g",
            "000000000000-4000-8000-00000000-0000",
        ] {
            assert_eq!(text.parse::<InvocationId>(), Err(NotAnId), "{text}");
        }
    }

    #[test]
    fn what_is_derived_is_the_same_again_and_nothing_else() {
        assert_eq!(InvocationId::of_key("ab", "c"), InvocationId::of_key("ab", "c"));
        assert_ne!(InvocationId::of_key("ab", "c"), InvocationId::of_key("a", "bc"));
        let id = InvocationId::drawn([7, 8]);
        let of = |accepted_ms, index| InvocationId::of_delivery(id, accepted_ms, index);
        assert_ne!(of(0, 0), of(0, 1));
        assert_ne!(of(0, 0), of(1, 0), "another invocation of the same key");
        let redriven = InvocationId::of_redrive(id, 0);
        assert_ne!(redriven, InvocationId::of_redrive(id, 1));
        assert_ne!(redriven, id);
        for shards in [1, 3, 64] {
            assert_eq!(redriven.shard(shards), id.shard(shards));
        }
        let home = HomeId::named(&["orders", "0"]);
        assert_ne!(home, HomeId::named(&["orders0"]));
        let item = InvocationId::of_item(home, "1");
        assert_ne!(item, InvocationId::of_item(home, "2"));
        assert_ne!(item, InvocationId::of_item(HomeId::named(&["orders", "1"]), "1"));
        for shards in [1, 3, 64] {
            assert_eq!(item.shard(shards), home.shard(shards));
        }
    }
}
