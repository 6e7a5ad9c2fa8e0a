//! Moments as AWS writes them.

/// ISO 8601 in UTC, with milliseconds.
pub(crate) fn iso(at_ms: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(at_ms).unwrap_or(jiff::Timestamp::MAX);
    moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_milliseconds() {
        assert_eq!(iso(1_573_755_365_568), "2019-11-14T18:16:05.568Z");
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
    }
}
