//! When a request was signed.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::rfc2822;
use jiff::tz::TimeZone;

/// A time to the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) ms: i64,
    /// `20150830T123600Z`, as it is signed.
    pub(super) text: String,
}

impl Moment {
    /// Of a value of `X-Amz-Date`.
    pub(super) fn basic(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let placed = bytes.len() == 16 && bytes[8] == b'T' && bytes[15] == b'Z';
        if !placed {
            return None;
        }
        let number = |from: usize, to: usize| {
            let digits = &bytes[from..to];
            let all = digits.iter().all(u8::is_ascii_digit);
            all.then(|| digits.iter().fold(0_i16, |sum, digit| sum * 10 + i16::from(digit - b'0')))
        };
        let small =
            |from: usize| number(from, from + 2).and_then(|number| i8::try_from(number).ok());
        let (hour, minute, second) = (small(9)?, small(11)?, small(13)?);
        let time =
            DateTime::new(number(0, 4)?, small(4)?, small(6)?, hour, minute, second, 0).ok()?;
        let stamp = time.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(Self { ms: stamp.as_millisecond(), text: text.to_owned() })
    }

    /// Of a value of `Date`, which may be either.
    pub(super) fn any(text: &str) -> Option<Self> {
        Self::basic(text).or_else(|| {
            let ms = rfc2822::parse(text).ok()?.timestamp().as_millisecond();
            Some(Self { ms, text: written(ms) })
        })
    }

    /// `20150830`.
    pub(super) fn date(&self) -> &str {
        self.text.get(..8).unwrap_or_default()
    }
}

/// Milliseconds since 1970 as `20150830T123600Z`.
pub(super) fn written(ms: i64) -> String {
    let end = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let stamp = Timestamp::from_millisecond(ms).unwrap_or(end);
    stamp.strftime("%Y%m%dT%H%M%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(
            Moment::any(text).map(|moment| written(moment.ms)).as_deref(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn both_forms() {
        check("20150830T123600Z", Some("20150830T123600Z"));
        check("Sun, 30 Aug 2015 12:36:00 GMT", Some("20150830T123600Z"));
        for wrong in [
            "",
            "20150830",
            "20150830T123600",
            "20150830T1236000",
            "20151330T123600Z",
            "20150830T246000Z",
            "2015083\u{e9}123600Z",
            "+0150830T123600Z",
            "2015-08-30T12:36:00Z",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn no_time_is_too_far() {
        assert_eq!(written(0), "19700101T000000Z");
        assert_eq!(written(i64::MAX), "99991230T220000Z");
        assert!(written(i64::MIN).ends_with('Z'));
    }
}
