//! How an attempt is named: by a name for the engine itself, and by a token for those who report on it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use everstep_history::{Attempt, FrameId};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The name of an attempt: the same after a crash, different for every attempt. Anybody can make one up, so what
/// comes from outside is a token.
#[must_use]
pub fn attempt_name(execution_arn: &str, attempt: Attempt) -> String {
    URL_SAFE_NO_PAD.encode(named(execution_arn, attempt))
}

/// The execution and the attempt that a name is of.
#[must_use]
pub fn parse_attempt_name(name: &str) -> Option<(String, Attempt)> {
    parse(&URL_SAFE_NO_PAD.decode(name).ok()?)
}

/// The key that task tokens are made with. Whoever has it can report on any attempt.
///
/// The default is for executions that nobody else can reach, such as those of a test.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenKey(pub [u8; 32]);

/// As much of the digest as a token has.
const DIGEST_BYTES: usize = 16;

impl TokenKey {
    /// What a worker gives back to name the attempt that it reports on: the same after a crash.
    #[must_use]
    pub fn token(&self, execution_arn: &str, attempt: Attempt) -> String {
        let name = named(execution_arn, attempt);
        let digest = self.digest(name.as_bytes()).finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([&digest[..DIGEST_BYTES], name.as_bytes()].concat())
    }

    /// The execution and the attempt that a token names, if it was made with this key. How long that takes says
    /// nothing about the key.
    #[must_use]
    pub fn parse(&self, token: &str) -> Option<(String, Attempt)> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (digest, name) = bytes.split_at_checked(DIGEST_BYTES)?;
        self.digest(name).verify_truncated_left(digest).ok()?;
        parse(name)
    }

    fn digest(&self, name: &[u8]) -> Hmac<Sha256> {
        let mut digest =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("a key may have any length");
        digest.update(name);
        digest
    }
}

/// The key is a secret.
impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

fn named(execution_arn: &str, attempt: Attempt) -> String {
    format!("{}.{}.{execution_arn}", attempt.frame.0, attempt.number)
}

fn parse(name: &[u8]) -> Option<(String, Attempt)> {
    let mut parts = std::str::from_utf8(name).ok()?.splitn(3, '.');
    let frame = FrameId(parts.next()?.parse().ok()?);
    let number = parts.next()?.parse().ok()?;
    Some((parts.next()?.to_owned(), Attempt { frame, number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:m:e.1";
    const ATTEMPT: Attempt = Attempt { frame: FrameId(3), number: 17 };

    #[test]
    fn a_name_is_of_its_attempt() {
        let name = attempt_name(ARN, ATTEMPT);
        assert_eq!(parse_attempt_name(&name), Some((ARN.to_owned(), ATTEMPT)));
        assert_eq!(parse_attempt_name("nonsense"), None);
    }

    #[test]
    fn a_token_needs_the_key() {
        let key = TokenKey([7; 32]);
        let token = key.token(ARN, ATTEMPT);
        assert_eq!(key.parse(&token), Some((ARN.to_owned(), ATTEMPT)));
        let other = Attempt { number: 18, ..ATTEMPT };
        let refused = [
            attempt_name(ARN, ATTEMPT),
            TokenKey([8; 32]).token(ARN, ATTEMPT),
            // The digest of one attempt for another.
            format!("{}{}", &token[..20], &key.token(ARN, other)[20..]),
            token[..30].to_owned(),
            String::new(),
            "nonsense".to_owned(),
        ];
        for token in refused {
            assert_eq!(key.parse(&token), None, "{token}");
        }
    }
}
