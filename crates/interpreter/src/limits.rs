//! The service's limits, each of which can be lifted.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a payload's JSON text.
    pub payload_bytes: usize,
    /// Events of the history, the last one included; none for EXPRESS workflows.
    pub history_events: Option<u32>,
    /// Iterations of an inline Map that run at a time if the definition sets no limit.
    pub inline_concurrency: u32,
    /// Bytes of the variables, results and inputs that an execution holds at one moment.
    pub held_bytes: usize,
    /// Bytes of the items of a Map, of the inputs of a Map Run or of its results: what one event may record.
    pub list_bytes: usize,
    /// How long Wait states and the delays before retries are, in millionths of what the definition says: for
    /// tests that have no time.
    pub wait_scale_millionths: u64,
}

impl Limits {
    /// So long does a wait of that many milliseconds take.
    #[must_use]
    pub fn scaled(&self, ms: i64) -> i64 {
        if self.wait_scale_millionths == WHOLE || ms <= 0 {
            return ms;
        }
        let scaled = i128::from(ms) * i128::from(self.wait_scale_millionths) / i128::from(WHOLE);
        i64::try_from(scaled).unwrap_or(i64::MAX)
    }
}

const WHOLE: u64 = 1_000_000;

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: 262_144,
            history_events: Some(25_000),
            inline_concurrency: 40,
            held_bytes: 32 << 20,
            list_bytes: 16 << 20,
            wait_scale_millionths: WHOLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_scaled() {
        let check = |wait_scale_millionths: u64, ms: i64, expected: i64| {
            let limits = Limits { wait_scale_millionths, ..Limits::default() };
            assert_eq!(limits.scaled(ms), expected, "{ms} ms at {wait_scale_millionths}");
        };
        check(WHOLE, 1234, 1234);
        check(500_000, 1001, 500);
        check(0, 1_000_000, 0);
        check(3 * WHOLE, 5, 15);
        check(1, -5, -5);
        check(u64::MAX, i64::MAX, i64::MAX);
    }
}
