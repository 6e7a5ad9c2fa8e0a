//! The signature of a canonical request.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::canonical::hex;
use super::claim::{ALGORITHM, Claim};

/// In hexadecimal, as it is sent.
pub(super) fn sign(secret: &str, claim: &Claim, canonical_request: &[u8]) -> String {
    let hash = hex(&Sha256::digest(canonical_request));
    let scope = claim.scope.signed();
    let text = format!("{ALGORITHM}\n{}\n{scope}\n{hash}", claim.moment.text);
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in claim.scope.parts() {
        key = keyed(&key, part.as_bytes());
    }
    hex(&keyed(&key, text.as_bytes()))
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key can have any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}
