//! Where the next page of a list begins, as clients carry it back and forth.
//!
//! A token names a place, the moment it was given out, and the digest of both and of the request that it
//! belongs to: with another request, changed, or after a day, it is refused. Nothing in it is secret.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use everstep_api::protocol::{Error, Name};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::args::Args;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const DIGEST_BYTES: usize = 16;
const MOMENT_BYTES: usize = 8;

/// The token of a place in what the request lists.
pub(crate) fn token(args: Args<'_>, place: &[u8], now_ms: i64) -> String {
    let content = [now_ms.to_be_bytes().as_slice(), place].concat();
    URL_SAFE_NO_PAD.encode([digest(args, &content).as_slice(), &content].concat())
}

/// The place that the request's token names, if it has one.
pub(crate) fn place(args: Args<'_>, now_ms: i64) -> Result<Option<Vec<u8>>, Error> {
    let Some(token) = args.text("nextToken") else { return Ok(None) };
    match read(args, token, now_ms) {
        Some(place) => Ok(Some(place)),
        None => Err(invalid(args)),
    }
}

/// What is said of a token that cannot be used.
pub(crate) fn invalid(args: Args<'_>) -> Error {
    args.error(Name::InvalidToken, "Invalid Token: 'Invalid token'")
}

fn read(args: Args<'_>, token: &str, now_ms: i64) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (found, content) = bytes.split_at_checked(DIGEST_BYTES)?;
    let (moment, place) = content.split_at_checked(MOMENT_BYTES)?;
    let given_ms = i64::from_be_bytes(moment.try_into().ok()?);
    let fresh = now_ms.saturating_sub(given_ms) < DAY_MS;
    (fresh && *found == digest(args, content)).then(|| place.to_vec())
}

/// Of a place and of all in the request that says what is listed.
fn digest(args: Args<'_>, content: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hasher = Sha256::new();
    hasher.update(args.operation.name());
    hasher.update([0]);
    hasher.update(listed(args).to_string());
    hasher.update([0]);
    hasher.update(content);
    let whole = hasher.finalize();
    let mut first = [0; DIGEST_BYTES];
    first.copy_from_slice(&whole[..DIGEST_BYTES]);
    first
}

/// The request without what may differ from page to page, in one order.
fn listed(args: Args<'_>) -> Value {
    let mut members: Vec<(&String, &Value)> = args
        .body()
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| {
            !["nextToken", "maxResults"].contains(&name.as_str()) && !value.is_null()
        })
        .collect();
    members.sort_by_key(|(name, _)| *name);
    Value::Object(
        members
            .into_iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

#[cfg(test)]
mod tests {
    use everstep_api::protocol::Operation;
    use serde_json::json;

    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    /// Reads a token that was made for `{"executionArn": "a", "maxResults": 1}`.
    fn check(operation: Operation, mut request: Value, later_ms: i64, expected: Option<&[u8]>) {
        let first = json!({ "executionArn": "a", "maxResults": 1 });
        let made = token(Args::new(Operation::GetExecutionHistory, &first), b"here", NOW_MS);
        if request["nextToken"].is_null() {
            request["nextToken"] = made.into();
        }
        let found = place(Args::new(operation, &request), NOW_MS + later_ms);
        assert_eq!(found.ok().flatten().as_deref(), expected, "{request}");
    }

    #[test]
    fn a_token_is_good_for_its_own_request() {
        let history = Operation::GetExecutionHistory;
        check(history, json!({ "executionArn": "a" }), 0, Some(b"here"));
        check(history, json!({ "maxResults": 9, "executionArn": "a" }), 5, Some(b"here"));
        check(history, json!({ "executionArn": "b" }), 0, None);
        check(history, json!({ "executionArn": "a", "reverseOrder": true }), 0, None);
        check(history, json!({ "executionArn": "a" }), DAY_MS, None);
        check(Operation::ListExecutions, json!({ "executionArn": "a" }), 0, None);
        for wrong in ["", "x", "!", "AAAA", &"A".repeat(64)] {
            check(history, json!({ "executionArn": "a", "nextToken": wrong }), 0, None);
        }
    }
}
