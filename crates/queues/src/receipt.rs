//! What a message is deleted with: it names one receive of one message.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::id::{RowsId, digest};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Receipt {
    pub(crate) queue: RowsId,
    /// The messages of the queue, until it is purged.
    pub(crate) rows: RowsId,
    pub(crate) sequence: u64,
    /// The first receive is 1.
    pub(crate) receive: u32,
}

/// A text that was never a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAReceipt;

const BODY_BYTES: usize = 28;
/// Tells a receipt from any other text. It is not a secret.
const CHECK_BYTES: usize = 4;

impl Receipt {
    fn body(self) -> [u8; BODY_BYTES] {
        let mut body = [0; BODY_BYTES];
        body[..8].copy_from_slice(&self.queue.bytes());
        body[8..16].copy_from_slice(&self.rows.bytes());
        body[16..24].copy_from_slice(&self.sequence.to_be_bytes());
        body[24..].copy_from_slice(&self.receive.to_be_bytes());
        body
    }

    fn from_body(body: &[u8]) -> Option<Self> {
        let (queue, rest) = body.split_at_checked(8)?;
        let (rows, rest) = rest.split_at_checked(8)?;
        let (sequence, receive) = rest.split_at_checked(8)?;
        Some(Self {
            queue: RowsId::from_bytes(queue)?,
            rows: RowsId::from_bytes(rows)?,
            sequence: u64::from_be_bytes(sequence.try_into().ok()?),
            receive: u32::from_be_bytes(receive.try_into().ok()?),
        })
    }
}

fn check(body: &[u8]) -> [u8; CHECK_BYTES] {
    let digest = digest(&[b"receipt", body]);
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&digest[..CHECK_BYTES]);
    check
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body();
        f.write_str(&STANDARD.encode([body.as_slice(), &check(&body)].concat()))
    }
}

impl FromStr for Receipt {
    type Err = NotAReceipt;

    fn from_str(text: &str) -> Result<Self, NotAReceipt> {
        let bytes = STANDARD.decode(text).map_err(|_| NotAReceipt)?;
        let (body, found) = bytes.split_at_checked(BODY_BYTES).ok_or(NotAReceipt)?;
        if found != check(body) {
            return Err(NotAReceipt);
        }
        Self::from_body(body).ok_or(NotAReceipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_read_as_they_are_shown() {
        let (queue, rows) = (RowsId::drawn(5), RowsId::drawn(u64::MAX - 3));
        let receipt = Receipt { queue, rows, sequence: 77, receive: 2 };
        assert_eq!(receipt.to_string().parse(), Ok(receipt));
        for text in ["", "garbage", "AAAA", &"A".repeat(44)] {
            assert_eq!(text.parse::<Receipt>(), Err(NotAReceipt), "{text}");
        }
    }
}
