//! The settings of a queue.

use minicbor::{Decode, Encode};

/// Moments are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Attributes {
    /// How long a message is hidden after it was received.
    #[n(0)]
    pub visibility_ms: i64,
    /// How long a message is kept after it arrived.
    #[n(1)]
    pub retention_ms: i64,
    /// How long a message is hidden after it was sent.
    #[n(2)]
    pub delay_ms: i64,
    /// How long a receive waits for a message.
    #[n(3)]
    pub wait_ms: i64,
    /// Bytes of the largest message.
    #[n(4)]
    pub bytes_max: u64,
    #[n(5)]
    pub redrive: Option<RedrivePolicy>,
    #[n(6)]
    pub redrive_allow: RedriveAllow,
    /// Of queues whose name ends in `.fifo`.
    #[n(7)]
    pub fifo: Option<Fifo>,
    /// Shown as it was set. Encrypts nothing.
    #[n(8)]
    pub managed_encryption: bool,
}

/// What becomes of messages that were received too often.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RedrivePolicy {
    /// The name of the dead-letter queue.
    #[n(0)]
    pub target: String,
    /// How often a message is received before it is moved there.
    #[n(1)]
    pub receives_max: u32,
}

/// Which queues may have a queue as their dead-letter queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub enum RedriveAllow {
    #[n(0)]
    #[default]
    Unset,
    #[n(1)]
    All,
    #[n(2)]
    None,
    /// By their names.
    #[n(3)]
    Queues(#[n(0)] Vec<String>),
}

impl RedriveAllow {
    #[must_use]
    pub fn admits(&self, source: &str) -> bool {
        match self {
            Self::Unset | Self::All => true,
            Self::None => false,
            Self::Queues(names) => names.iter().any(|name| name == source),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Fifo {
    /// A message without a deduplication id has a digest of its body.
    #[n(0)]
    pub content_based: bool,
    /// Ids count within their group alone.
    #[n(1)]
    pub by_group: bool,
    /// Shown as it was set: nothing here limits throughput.
    #[n(2)]
    pub limit_by_group: bool,
}

const SECOND_MS: i64 = 1000;
const DAY_MS: i64 = 24 * 60 * 60 * SECOND_MS;

impl Attributes {
    /// Of a queue for which nothing is set.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self {
            visibility_ms: 30 * SECOND_MS,
            retention_ms: 4 * DAY_MS,
            delay_ms: 0,
            wait_ms: 0,
            bytes_max: 1 << 20,
            redrive: None,
            redrive_allow: RedriveAllow::default(),
            fifo: is_fifo(name).then(Fifo::default),
            managed_encryption: true,
        }
    }
}

/// Whether the queue of a name is first in, first out.
#[must_use]
pub fn is_fifo(name: &str) -> bool {
    name.ends_with(".fifo")
}

/// Whether a text can be the name of a queue.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let plain = text.strip_suffix(".fifo").unwrap_or(text);
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !plain.is_empty() && text.len() <= NAME_MAX && plain.bytes().all(allowed)
}

/// Characters of a name.
pub const NAME_MAX: usize = 80;

/// The queue for messages that cannot be processed, unless another one is named. None for queues that are such
/// themselves, and for names that leave no room.
#[must_use]
pub fn poison_name(name: &str) -> Option<String> {
    let (plain, ending) = match name.strip_suffix(".fifo") {
        Some(plain) => (plain, ".fifo"),
        None => (name, ""),
    };
    let poison = format!("{plain}-poison{ending}");
    (!plain.ends_with("-poison") && is_name(&poison)).then_some(poison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["a", "A-b_9", "orders.fifo", &"x".repeat(80)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".fifo", "a/b", "a.b", "ü", "a.fifo.fifo", &"x".repeat(81)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn poison_queues_have_none_themselves() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(poison_name(name).as_deref(), expected, "{name}");
        };
        check("orders", Some("orders-poison"));
        check("orders.fifo", Some("orders-poison.fifo"));
        check("orders-poison", None);
        check("orders-poison.fifo", None);
        check(&"x".repeat(74), None);
    }
}
