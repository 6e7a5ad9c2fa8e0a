//! The filters that the commands about invocations and dead letters share.

use anyhow::{Result, anyhow};
use clap::Args;
use everstep_expr::timestamp;
use serde_json::{Value, json};

use super::display::now_ms;

/// What is selected matches all of them.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Only of this function
    #[arg(long, short, value_name = "NAME")]
    function: Option<String>,
    /// Only if the last error was this one
    #[arg(long, short, value_name = "ERROR")]
    error: Option<String>,
    /// Only from this trigger or other source
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only since then: a duration such as 2h or 30m, or a timestamp
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Ago(u64),
    At(i64),
}

fn since(text: &str) -> Result<Since> {
    if text.contains('T') && !text.starts_with('P') {
        let moment = timestamp::parse(text)?;
        return Ok(Since::At(moment.to_millis()));
    }
    Ok(Since::Ago(duration(text)?))
}

/// In milliseconds, in any form that `everstep.yaml` accepts.
pub(crate) fn duration(text: &str) -> Result<u64> {
    everstep_source::duration::parse(text).map_err(|invalid| anyhow!("{}", invalid.hint))
}

impl Selection {
    /// Whether there is any filter.
    pub(crate) fn is_some(&self) -> bool {
        let Self { function, error, source, since } = self;
        function.is_some() || error.is_some() || source.is_some() || since.is_some()
    }

    /// As the server's operations take it.
    pub(crate) fn to_json(&self) -> Value {
        let since_ms = self.since.map(|since| match since {
            Since::Ago(ms) => now_ms().saturating_sub(i64::try_from(ms).unwrap_or(i64::MAX)),
            Since::At(ms) => ms,
        });
        json!({
            "function": self.function,
            "error": self.error,
            "source": self.source,
            "sinceMs": since_ms.map(|ms| ms.max(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Since, &str>) {
        let found = since(text).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn moments_and_durations() {
        check("2h", Ok(Since::Ago(7_200_000)));
        check("PT10S", Ok(Since::Ago(10_000)));
        check("1970-01-01T00:00:01Z", Ok(Since::At(1000)));
        check("-2h", Err("a duration cannot be negative"));
        check("soon", Err("write it as 10s, 15m, 1h30m, PT10S or 00:00:10"));
        check(
            "1970-01-01T",
            Err("there are too few digits, expected the form 2016-03-14T01:59:00Z"),
        );
    }
}
