//! Task tokens: what a worker hands back to name the attempt that it reports on.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use everstep_history::{Attempt, FrameId};

/// The token of an attempt: the same after a crash, different for every attempt.
#[must_use]
pub fn task_token(execution_arn: &str, attempt: Attempt) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}.{}.{execution_arn}", attempt.frame.0, attempt.number))
}

/// The execution and attempt a token names.
#[must_use]
pub fn parse_token(token: &str) -> Option<(String, Attempt)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let mut parts = text.splitn(3, '.');
    let frame = FrameId(parts.next()?.parse().ok()?);
    let number = parts.next()?.parse().ok()?;
    Some((parts.next()?.to_owned(), Attempt { frame, number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_attempt() {
        let attempt = Attempt { frame: FrameId(3), number: 17 };
        let arn = "arn:aws:states:us-east-1:123456789012:execution:m:e.1";
        assert_eq!(parse_token(&task_token(arn, attempt)), Some((arn.to_owned(), attempt)));
        assert_eq!(parse_token("nonsense"), None);
    }
}
