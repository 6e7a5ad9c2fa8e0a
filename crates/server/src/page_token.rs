//! Page tokens: where the next page of a list begins, as clients carry it back and forth.
//!
//! A token holds a position, the time it was issued, and a digest of both and of the request that it belongs to.
//! With another request, changed, or after a day, it is refused. Nothing in it is secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const DIGEST_BYTES: usize = 16;
const TIME_BYTES: usize = 8;

/// A request for a page of a list.
#[derive(Clone, Copy)]
pub(crate) struct Listing<'r> {
    pub(crate) operation: &'r str,
    pub(crate) request: &'r Value,
}

/// A token that is damaged, too old, or of another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidToken;

impl Listing<'_> {
    /// The token for a position in the list.
    pub(crate) fn token(self, position: &[u8], now_ms: i64) -> String {
        let content = [now_ms.to_be_bytes().as_slice(), position].concat();
        URL_SAFE_NO_PAD.encode([self.digest(&content).as_slice(), &content].concat())
    }

    /// The position of the request's token, if it has one.
    pub(crate) fn position(self, now_ms: i64) -> Result<Option<Vec<u8>>, InvalidToken> {
        match self.request["nextToken"].as_str() {
            None => Ok(None),
            Some(token) => self.read(token, now_ms).map(Some).ok_or(InvalidToken),
        }
    }

    fn read(self, token: &str, now_ms: i64) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (found, content) = bytes.split_at_checked(DIGEST_BYTES)?;
        let (time, position) = content.split_at_checked(TIME_BYTES)?;
        let issued_ms = i64::from_be_bytes(time.try_into().ok()?);
        let is_fresh = now_ms.saturating_sub(issued_ms) < DAY_MS;
        (is_fresh && *found == self.digest(content)).then(|| position.to_vec())
    }

    fn digest(self, content: &[u8]) -> [u8; DIGEST_BYTES] {
        let mut hasher = Sha256::new();
        hasher.update(self.operation);
        hasher.update([0]);
        hasher.update(self.listed().to_string());
        hasher.update([0]);
        hasher.update(content);
        let whole = hasher.finalize();
        let mut first = [0; DIGEST_BYTES];
        first.copy_from_slice(&whole[..DIGEST_BYTES]);
        first
    }

    /// The request without what may differ from page to page, sorted.
    fn listed(self) -> Value {
        let mut members: Vec<(&String, &Value)> = self
            .request
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, value)| {
                !["nextToken", "maxResults"].contains(&name.as_str()) && !value.is_null()
            })
            .collect();
        members.sort_by_key(|(name, _)| *name);
        let members = members.into_iter().map(|(name, value)| (name.clone(), value.clone()));
        Value::Object(members.collect::<Map<_, _>>())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;
    const HISTORY: &str = "GetExecutionHistory";

    /// Reads a token that was made for `{"executionArn": "a", "maxResults": 1}`.
    fn check(operation: &str, mut request: Value, later_ms: i64, expected: Option<&[u8]>) {
        let first = json!({ "executionArn": "a", "maxResults": 1 });
        let made = Listing { operation: HISTORY, request: &first }.token(b"here", NOW_MS);
        if request["nextToken"].is_null() {
            request["nextToken"] = made.into();
        }
        let found = Listing { operation, request: &request }.position(NOW_MS + later_ms);
        assert_eq!(found.ok().flatten().as_deref(), expected, "{request}");
    }

    #[test]
    fn a_token_is_good_for_its_own_request() {
        check(HISTORY, json!({ "executionArn": "a" }), 0, Some(b"here"));
        check(HISTORY, json!({ "maxResults": 9, "executionArn": "a" }), 5, Some(b"here"));
        check(HISTORY, json!({ "executionArn": "b" }), 0, None);
        check(HISTORY, json!({ "executionArn": "a", "reverseOrder": true }), 0, None);
        check(HISTORY, json!({ "executionArn": "a" }), DAY_MS, None);
        check("ListExecutions", json!({ "executionArn": "a" }), 0, None);
        for wrong in ["", "x", "!", "AAAA", &"A".repeat(64)] {
            check(HISTORY, json!({ "executionArn": "a", "nextToken": wrong }), 0, None);
        }
    }

    #[test]
    fn a_request_without_a_token_begins_at_the_start() {
        let request = json!({ "executionArn": "a" });
        let listing = Listing { operation: HISTORY, request: &request };
        assert_eq!(listing.position(NOW_MS), Ok(None));
    }
}
