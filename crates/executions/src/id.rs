//! Names as they are stored: short, of one length, spread evenly.

use std::fmt;

use everstep_shards::Subject;
use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

/// An execution, by its ARN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct ExecutionId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

impl ExecutionId {
    #[must_use]
    pub fn of(arn: &str) -> Self {
        Self(digest(arn.as_bytes()))
    }

    /// The execution, among all that engines work on.
    #[must_use]
    pub fn subject(self) -> Subject {
        Subject { kind: KIND, id: self.0 }
    }
}

/// What tells executions from others that engines work on.
pub(crate) const KIND: u8 = 1;

everstep_shards::id!(ExecutionId);

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Something that has a list of executions: a machine, a version, an alias, a Map Run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct ListId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 8]);

impl ListId {
    #[must_use]
    pub fn of(arn: &str) -> Self {
        Self(digest(arn.as_bytes()))
    }

    /// What the keys of its rows begin with.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

/// The first bytes of the SHA-256 of a text: two texts that share them cannot be found.
pub(crate) fn digest<const N: usize>(text: &[u8]) -> [u8; N] {
    let whole = Sha256::digest(text);
    let mut first = [0; N];
    first.copy_from_slice(&whole[..N]);
    first
}
