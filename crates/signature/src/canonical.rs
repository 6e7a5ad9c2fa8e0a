//! The form of a request that is signed: the same bytes at either end, whatever lies between.

use sha2::{Digest, Sha256};

use super::headers::Headers;
use super::query::{Query, encoded};
use super::{Policy, Refusal, Request};

const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// The canonical request. None if a signed header is missing.
pub(super) fn request(
    request: &Request<'_>,
    headers: &Headers<'_>,
    query: &Query,
    signed_headers: &str,
    payload_hash: &str,
) -> Option<Vec<u8>> {
    let mut canonical = Vec::new();
    for line in [request.method, &path(request.path), &query.canonical()] {
        canonical.extend_from_slice(line.as_bytes());
        canonical.push(b'\n');
    }
    for name in signed_headers.split(';') {
        header(&mut canonical, name, headers)?;
    }
    canonical.push(b'\n');
    canonical.extend_from_slice(signed_headers.as_bytes());
    canonical.push(b'\n');
    canonical.extend_from_slice(payload_hash.as_bytes());
    Some(canonical)
}

/// The hash of the body, or the word that it has none.
pub(super) fn payload_hash(
    body: &[u8],
    headers: &Headers<'_>,
    policy: &Policy<'_>,
) -> Result<String, Refusal> {
    let unsigned = headers.all("x-amz-content-sha256").contains(&UNSIGNED.as_bytes());
    match (unsigned, policy.unsigned_payload) {
        (true, true) => Ok(UNSIGNED.to_owned()),
        (true, false) => Err(Refusal::invalid(
            "the body must be signed: UNSIGNED-PAYLOAD is accepted over TLS only",
        )),
        (false, _) => Ok(hashed(body)),
    }
}

/// Without empty segments, `.` and `..`, and encoded once more: so for every service but S3.
pub(super) fn path(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => _ = segments.pop(),
            name => segments.push(name),
        }
    }
    let end = if path.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    encoded(format!("/{}{end}", segments.join("/")).as_bytes(), "/")
}

/// `name:value,value`, each value trimmed, and its runs of white space made one space. The specification
/// speaks of spaces only, but the signers of botocore, Java and JavaScript do so with tabs as well.
fn header(canonical: &mut Vec<u8>, name: &str, headers: &Headers<'_>) -> Option<()> {
    let values = headers.all(name);
    if values.is_empty() {
        return None;
    }
    canonical.extend_from_slice(name.as_bytes());
    canonical.push(b':');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            canonical.push(b',');
        }
        let mut words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        canonical.extend_from_slice(words.next().unwrap_or_default());
        for word in words {
            canonical.push(b' ');
            canonical.extend_from_slice(word);
        }
    }
    canonical.push(b'\n');
    Some(())
}

pub(super) fn hashed(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

/// In small letters.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let check = |given: &str, expected: &str| assert_eq!(path(given), expected, "{given}");
        check("", "/");
        check("/", "/");
        check("//", "/");
        check("/a//b/", "/a/b/");
        check("/a/./b/../c", "/a/c");
        check("/../..", "/");
        check("/a/..", "/");
        check("/a b/ü", "/a%20b/%C3%BC");
        check("/arn%3Aaws/x", "/arn%253Aaws/x");
    }
}
