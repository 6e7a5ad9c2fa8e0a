//! The signature of a canonical request.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::Moment;
use super::canonical::{hashed, hex};
use super::claim::{ALGORITHM, Scope};

/// In hexadecimal, as it is sent.
pub(super) fn sign(
    secret: &str,
    scope: &Scope,
    moment: &Moment,
    canonical_request: &[u8],
) -> String {
    let hash = hashed(canonical_request);
    let text = format!("{ALGORITHM}\n{}\n{}\n{hash}", moment.text, scope.signed());
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in scope.parts() {
        key = keyed(&key, part.as_bytes());
    }
    hex(&keyed(&key, text.as_bytes()))
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key can have any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}
