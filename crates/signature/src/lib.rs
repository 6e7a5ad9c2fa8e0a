//! Signature Version 4 (SigV4) of requests.
//!
//! [`verify`] is a function of the request, the keys and the time, and so is [`Signing::sign`], its other half:
//! both sign one canonical form. What a request asks for is not known
//! here, nor what its caller may do. The messages of refusals are those of AWS services.
//!
//! Behaviour that is not plain from the specification:
//! - A session token (`X-Amz-Security-Token`) is accepted and compared with nothing: keys here are lasting
//!   ones, but SDKs send a token wherever they are configured with one.
//! - `Host` must be signed, and so must `X-Amz-Target` and `X-Amz-Content-Sha256` where they are sent: else
//!   an intercepted request could be replayed as another one while it is fresh.
//! - Signed headers must be listed in order, each once, as every signer does.
//! - Two kinds of signature at once, or two of a parameter that must be unique, are refused.

mod canonical;
mod claim;
mod header_form;
mod headers;
mod keys;
mod moment;
mod query;
mod query_form;
mod refusal;
mod sign;
mod signature;

#[cfg(test)]
mod tests;

use subtle::ConstantTimeEq;

use claim::Claim;
use headers::Headers;
pub use keys::{InvalidKeys, Keys};
use moment::Moment;
use query::Query;
pub use refusal::{Reason, Refusal};
pub use sign::{Credentials, Signing, Unsignable};

/// A request as it came over the wire.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a str,
    /// Percent-encoded as it came.
    pub path: &'a str,
    /// What follows the `?`, as it came; empty if there is none.
    pub query: &'a str,
    /// In the order they came, repeated ones repeated. HTTP/2's `:authority` goes by the name `host`.
    pub headers: &'a [(&'a str, &'a [u8])],
    pub body: &'a [u8],
}

/// The scope that signatures must have.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// None if any will do.
    pub region: Option<&'a str>,
    /// As in the credential scope: `states`, `lambda`.
    pub service: &'a str,
    /// How far the clocks may be apart. AWS allows five minutes: [`SKEW_MS`].
    pub skew_ms: i64,
    /// Whether a body may go unsigned (`UNSIGNED-PAYLOAD`): only where TLS protects it.
    pub unsigned_payload: bool,
}

/// What AWS services allow.
pub const SKEW_MS: i64 = 300_000;

/// Who has signed a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub access_key_id: String,
}

/// Whether the request was signed by one of the keys, for this place and this time.
pub fn verify(
    request: &Request<'_>,
    keys: &Keys,
    now_ms: i64,
    policy: &Policy<'_>,
) -> Result<Caller, Refusal> {
    let headers = Headers::index(request.headers);
    let query = Query::read(request.query)?;
    let claim = claim(&headers, &query)?;
    claim.scope.check(&claim.moment, policy)?;
    claim.check_time(now_ms, policy.skew_ms)?;
    claim.check_signed_headers(&headers)?;
    let payload = canonical::payload_hash(request.body, &headers, policy)?;
    let canonical = canonical::request(request, &headers, &query, &claim.signed_headers, &payload)
        .ok_or_else(Refusal::mismatch)?;

    // An unknown key takes as long as a known one, so that the timing reveals nothing.
    let (secret, known) = keys.secret(&claim.scope.key_id);
    let expected = signature::sign(secret, &claim.scope, &claim.moment, &canonical);
    let equal: bool = expected.as_bytes().ct_eq(claim.signature.as_bytes()).into();
    match (known, equal) {
        (false, _) => Err(Refusal::unrecognized()),
        (true, false) => Err(Refusal::mismatch()),
        (true, true) => Ok(Caller { access_key_id: claim.scope.key_id }),
    }
}

/// The signature of a request, from its header or its query.
fn claim(headers: &Headers<'_>, query: &Query) -> Result<Claim, Refusal> {
    match (headers.has("authorization"), query.is_signed()) {
        (true, true) => Err(Refusal::incomplete(
            "the request is signed twice, by its Authorization header and in its query string",
        )),
        (true, false) => header_form::claim(headers),
        (false, true) => query_form::claim(query),
        (false, false) => {
            Err(Refusal::new(Reason::MissingAuthenticationToken, "Missing Authentication Token"))
        }
    }
}
