//! Names and values of a query or a form, decoded.

/// More than any page or form of the console has.
const PAIRS_MAX: usize = 64;

#[derive(Debug, Clone, Default)]
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// `a=b&c=d%20e`
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).take(PAIRS_MAX);
        let decoded = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name, true), decode(value, true))
        };
        Self(pairs.map(decoded).collect())
    }

    /// The first value of a name; empty if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    pub(super) fn some(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|text| !text.is_empty())
    }

    pub(super) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.some(name)?.parse().ok()
    }
}

/// Text with `%20` and, in queries and forms, with `+` for a space.
pub(super) fn decode(text: &str, plus: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let coded = match (first, others) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        rest = if coded.is_some() { &others[2..] } else { others };
        bytes.push(match (coded, first) {
            (Some(byte), _) => byte,
            (None, b'+') if plus => b' ',
            (None, byte) => *byte,
        });
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let check = |text: &str, expected: &str| assert_eq!(Form::parse(text).text("a"), expected);
        check("a=b", "b");
        check("x=1&a=b+c%20d%26", "b c d&");
        check("a=%", "%");
        check("a=%4", "%4");
        check("a=%zz", "%zz");
        check("a=%C3%A9", "é");
        check("a=%FF", "\u{fffd}");
        check("a", "");
        check("", "");
        check("a=1&a=2", "1");
    }

    #[test]
    fn there_are_only_so_many() {
        assert_eq!(Form::parse(&"a=1&".repeat(1000)).0.len(), PAIRS_MAX);
    }

    #[test]
    fn a_plus_in_a_path_is_a_plus() {
        assert_eq!(decode("a+b%2B", false), "a+b+");
    }
}
