//! Compresses what pages consist of.

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT_ENCODING;
use miniz_oxide::deflate::compress_to_vec;

/// Shorter texts are not worth it.
const BYTES_MIN: usize = 1024;
/// Fast, and not much larger than the best.
const LEVEL: u8 = 4;

pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let mut codings = accepted.unwrap_or_default().split(',');
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim() == "gzip" && weight.trim() != "q=0"
    })
}

/// Nothing if the text is too short.
pub(super) fn compressed(text: &[u8]) -> Option<Bytes> {
    if text.len() < BYTES_MIN {
        return None;
    }
    // RFC 1952: no name, no time, an unknown system.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    out.extend(compress_to_vec(text, LEVEL));
    out.extend(crc32fast::hash(text).to_le_bytes());
    // Its length modulo 2^32.
    out.extend((text.len() as u32).to_le_bytes());
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_can_be_read_again() {
        let text = "everstep ".repeat(1000);
        let packed = compressed(text.as_bytes()).expect("it is long enough");
        assert!(packed.len() < text.len() / 10);
        let body = &packed[10..packed.len() - 8];
        let read = miniz_oxide::inflate::decompress_to_vec(body).expect("it is deflated");
        assert_eq!(read, text.as_bytes());
        assert!(compressed(b"short").is_none());
    }

    #[test]
    fn only_for_those_who_accept_it() {
        let check = |value: &'static str, expected| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, value.parse().expect("a value"));
            assert_eq!(is_accepted(&headers), expected, "{value}");
        };
        check("gzip, deflate, br", true);
        check("br;q=1.0, gzip;q=0.8", true);
        check("gzip;q=0", false);
        check("identity", false);
        assert!(!is_accepted(&HeaderMap::new()));
    }
}
