//! Whether a replay did what was recorded.

use serde_json::Value;

use super::chains::{self, Pairing};
use super::events;
use super::placeholders::Placeholders;
use super::values::{Difference, Matcher};

/// What a replay of a case produced, in the service's own shapes: `input`, `output`, `parameters`
/// and the values of `assignedVariables` in the history are JSON texts.
#[derive(Clone)]
pub(super) struct Found {
    /// `SUCCEEDED`, `FAILED`, `TIMED_OUT` or `ABORTED`.
    pub status: String,
    /// Decoded.
    pub output: Option<Value>,
    pub error: Option<String>,
    pub cause: Option<String>,
    /// The events of `GetExecutionHistory`; times may be there and are ignored.
    pub history: Vec<Value>,
}

/// Compares with what was recorded; the error tells the first difference.
pub(super) fn compare(case: &Value, found: &Found) -> Result<(), String> {
    let expected = &case["expected"];
    let placeholders = Placeholders::of(case);
    let pairing = Pairing::of(expected);
    let mut matcher = Matcher::new(&placeholders, pairing != Pairing::Order);
    if expected["status"] != found.status.as_str() {
        let why = [&found.error, &found.cause].map(|text| text.as_deref().unwrap_or_default());
        let found = format!("{} {}", found.status, why.join(" "));
        return Err(Difference::new(&expected["status"], found.trim_end())
            .below("status")
            .to_string());
    }
    end(&mut matcher, expected, found).map_err(|difference| difference.to_string())?;
    match events::recorded(expected)? {
        Some(recorded) => {
            chains::compare(pairing, &recorded, &events::found(&found.history)?, &mut matcher)
        }
        None => Ok(()),
    }
}

fn end(matcher: &mut Matcher<'_>, expected: &Value, found: &Found) -> Result<(), Difference> {
    field("output", expected.get("output"), found.output.as_ref(), |expected, found| {
        matcher.value(expected, found)
    })?;
    let error = found.error.clone().map(Value::from);
    field("error", expected.get("error"), error.as_ref(), |expected, found| {
        matcher.value(expected, found)
    })?;
    let cause = found.cause.clone().map(Value::from);
    field("cause", expected.get("cause"), cause.as_ref(), |expected, found| {
        match (expected.as_str(), found.as_str()) {
            (Some(expected), Some(found)) => matcher.cause(expected, found),
            _ => matcher.value(expected, found),
        }
    })
}

fn field(
    name: &str,
    expected: Option<&Value>,
    found: Option<&Value>,
    compare: impl FnOnce(&Value, &Value) -> Result<(), Difference>,
) -> Result<(), Difference> {
    let result = match (expected, found) {
        (None, None) => Ok(()),
        (Some(expected), None) => Err(Difference::new(expected, "nothing")),
        (None, Some(found)) => Err(Difference::new("nothing", found)),
        (Some(expected), Some(found)) => compare(expected, found),
    };
    result.map_err(|difference| difference.below(name))
}
