//! Keys in the order of time: the layouts that engines share.

use std::fmt::Debug;
use std::hash::Hash;

/// What an engine calls the things that its shards own: 16 bytes, spread evenly. [`crate::id!`] makes one.
pub trait Id: Copy + Ord + Hash + Debug + Send + 'static {
    fn bytes(&self) -> &[u8; 16];

    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Makes an [`Id`] of a type that wraps 16 bytes, and gives it a shard.
#[macro_export]
macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// What the keys of its rows are made with.
            #[must_use]
            pub fn bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// The id whose rows have these bytes.
            #[must_use]
            pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }

            /// The shard that owns it: always the same, as the number of shards is.
            #[must_use]
            pub fn shard(self, shards: u16) -> $crate::keys::StoreShard {
                $crate::keys::shard_of(&self.0, shards)
            }
        }

        impl $crate::Id for $name {
            fn bytes(&self) -> &[u8; 16] {
                self.bytes()
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                Self::from_bytes(bytes)
            }
        }
    };
}

#[doc(hidden)]
pub use everstep_store::Shard as StoreShard;

/// The shard that owns an id.
#[must_use]
pub fn shard_of(id: &[u8; 16], shards: u16) -> StoreShard {
    let [first, second, ..] = *id;
    StoreShard(u16::from_be_bytes([first, second]) % shards)
}

/// Bytes in the order of moments.
#[must_use]
pub fn ordered(at_ms: i64) -> [u8; 8] {
    (at_ms.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

#[must_use]
pub fn parse_ordered(bytes: &[u8]) -> Option<i64> {
    Some((u64::from_be_bytes(bytes.try_into().ok()?) ^ (1 << 63)).cast_signed())
}

/// Where a moment begins in an order. An order is named by the first byte of its keys.
#[must_use]
pub fn from(order: u8, at_ms: i64) -> Vec<u8> {
    [&[order], ordered(at_ms).as_slice()].concat()
}

/// A place in an order: earliest first, then by id.
#[must_use]
pub fn at(order: u8, at_ms: i64, id: impl Id) -> Vec<u8> {
    [&[order], ordered(at_ms).as_slice(), id.bytes()].concat()
}

/// The moment and the id of a place in an order.
#[must_use]
pub fn parse_at<I: Id>(key: &[u8]) -> Option<(i64, I)> {
    Some((parse_ordered(key.get(1..9)?)?, I::from_bytes(key.get(9..)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Number;

    #[test]
    fn keys_are_in_the_order_of_what_they_name() {
        let moments = [i64::MIN, -1, 0, 1, 1_700_000_000_000, i64::MAX];
        assert!(moments.map(|moment| at(3, moment, Number::of(7))).is_sorted());
        assert!(from(3, 5) <= at(3, 5, Number::of(0)) && at(3, 5, Number::of(9)) < from(3, 6));
        assert!(at(3, i64::MAX, Number::of(9)) < from(4, i64::MIN));
    }

    #[test]
    fn keys_say_what_they_name() {
        assert_eq!(parse_at(&at(3, -5, Number::of(7))), Some((-5, Number::of(7))));
        assert_eq!(parse_at::<Number>(b"short"), None);
        assert_eq!(parse_ordered(&ordered(-1)), Some(-1));
    }
}
