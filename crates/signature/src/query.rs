//! The query string of a request, decoded.

use super::Refusal;

/// Names and values in the order they came.
pub(super) struct Query {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

pub(super) const SIGNATURE: &str = "X-Amz-Signature";

impl Query {
    /// A query whose percent-encoding is broken is refused: two of them could look alike when encoded again.
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let parts = text.split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decoded(name)?, decoded(value)?))
        };
        let pairs = parts.map(pair).collect::<Option<Vec<_>>>().ok_or_else(|| {
            Refusal::incomplete("the query string has a '%' that no two hexadecimal digits follow")
        })?;
        Ok(Self { pairs })
    }

    /// Whether the query carries a signature, or means to.
    pub(super) fn is_signed(&self) -> bool {
        ["X-Amz-Algorithm", SIGNATURE].iter().any(|name| self.all(name).next().is_some())
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let named = self.pairs.iter().filter(move |(found, _)| found == name.as_bytes());
        named.map(|(_, value)| value.as_slice())
    }

    /// The value of a parameter that is there once and is text. An error if it is there otherwise.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, ()> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => std::str::from_utf8(value).map(Some).map_err(|_| ()),
            (Some(_), Some(_)) => Err(()),
        }
    }

    /// Encoded again, sorted, without the signature itself.
    pub(super) fn canonical(&self) -> String {
        let signed = self.pairs.iter().filter(|(name, _)| name != SIGNATURE.as_bytes());
        let mut pairs: Vec<_> =
            signed.map(|(name, value)| (encoded(name, ""), encoded(value, ""))).collect();
        pairs.sort();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    }
}

/// Every byte but the unreserved ones of RFC 3986 and those that are kept.
pub(super) fn encoded(bytes: &[u8], kept: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes.iter().copied() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || kept.as_bytes().contains(&byte) {
            text.push(byte.into());
        } else {
            let digit = |nibble: u8| DIGITS[usize::from(nibble)].into();
            text.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text
}

/// A `+` is a plus: SDKs write a space as `%20`.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16)?.try_into().ok();
            let (high, low): (u8, u8) = (digit(bytes.next())?, digit(bytes.next())?);
            decoded.push(high << 4 | low);
        } else {
            decoded.push(byte);
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let query = Query::read(text).ok();
        assert_eq!(query.map(|query| query.canonical()).as_deref(), expected, "{text}");
    }

    #[test]
    fn canonical_queries() {
        check("", Some(""));
        check("b=2&a=1", Some("a=1&b=2"));
        check("a=2&a=1&a", Some("a=&a=1&a=2"));
        check("A=1&a=1&a-b=2", Some("A=1&a=1&a-b=2"));
        check("p=a%2fb&q=x+y&r=%20%C3%A9", Some("p=a%2Fb&q=x%2By&r=%20%C3%A9"));
        check("k=a=b", Some("k=a%3Db"));
        check("&a=1&&", Some("a=1"));
        check("a=1&X-Amz-Signature=abc", Some("a=1"));
        for broken in ["%", "a=%2", "a=%zz", "%+1=a", "a=%é"] {
            check(broken, None);
        }
    }
}
