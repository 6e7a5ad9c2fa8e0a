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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case() -> Value {
        let details = json!({ "truncated": false });
        json!({
            "placeholders": { "<uuid:1>": "a UUID", "snf_role_arn": "a role" },
            "expected": {
                "status": "SUCCEEDED",
                "output": { "id": "<uuid:1>" },
                "rawText": [{ "event": 0, "field": "input", "text": "[1, 2]" }],
                "history": [
                    { "id": 1, "previousEventId": 0, "type": "ExecutionStarted",
                      "executionStartedEventDetails":
                          { "input": [1, 2], "inputDetails": details, "roleArn": "snf_role_arn" } },
                    { "id": 2, "previousEventId": 1, "type": "PassStateExited",
                      "stateExitedEventDetails":
                          { "name": "P", "assignedVariables": { "id": "<uuid:1>" } } },
                ],
            },
        })
    }

    fn replay() -> Found {
        let details = json!({ "truncated": false });
        let id = "01234567-89ab-cdef-0123-456789abcdef";
        Found {
            status: "SUCCEEDED".to_owned(),
            output: Some(json!({ "id": id })),
            error: None,
            cause: None,
            history: vec![
                json!({ "id": 1, "previousEventId": 0, "type": "ExecutionStarted", "timestamp": 1,
                        "executionStartedEventDetails":
                            { "input": "[1, 2]", "inputDetails": details, "roleArn": "r" } }),
                json!({ "id": 2, "previousEventId": 1, "type": "PassStateExited", "timestamp": 2,
                        "stateExitedEventDetails":
                            { "name": "P",
                              "assignedVariables": { "id": json!(id).to_string() } } }),
            ],
        }
    }

    /// `expected` opens the difference that the change makes.
    fn check(change: impl FnOnce(&mut Found), expected: Option<&str>) {
        let mut found = replay();
        change(&mut found);
        let difference = compare(&case(), &found).err();
        let opens = match (&difference, expected) {
            (Some(difference), Some(expected)) => difference.starts_with(expected),
            (difference, expected) => difference.is_none() && expected.is_none(),
        };
        assert!(opens, "expected {expected:?}, found {difference:?}");
    }

    #[test]
    fn a_faithful_replay_agrees() {
        check(|_| {}, None);
    }

    #[test]
    fn the_end_is_compared_first() {
        check(
            |found| found.status = "FAILED".to_owned(),
            Some("status\nexpected \"SUCCEEDED\"\nfound    FAILED"),
        );
        check(|found| found.output = None, Some("output\n"));
        check(|found| found.output = Some(json!({ "id": 1 })), Some("output.id\n"));
        check(|found| found.error = Some("E".to_owned()), Some("error\nexpected nothing"));
        check(|found| found.cause = Some("C".to_owned()), Some("cause\nexpected nothing"));
    }

    #[test]
    fn a_placeholder_is_one_value_from_output_to_history() {
        let other = "\"01234567-89ab-cdef-0123-456789abcde0\"";
        check(
            |found| {
                found.history[1]["stateExitedEventDetails"]["assignedVariables"]["id"] =
                    json!(other);
            },
            Some("event 2 PassStateExited, stateExitedEventDetails.assignedVariables.id\n"),
        );
    }

    #[test]
    fn texts_are_compared_exactly_where_recorded() {
        let set = |text: Value| {
            move |found: &mut Found| {
                found.history[0]["executionStartedEventDetails"]["input"] = text;
            }
        };
        check(set(json!("[1,2]")), Some("event 1 ExecutionStarted, the text of input\n"));
        check(
            set(json!("[1, 3]")),
            Some("event 1 ExecutionStarted, executionStartedEventDetails.input.1\n"),
        );
        check(set(json!([1, 2])), Some("event 1 ExecutionStarted: input is not a text"));
        check(set(json!("[1,")), Some("event 1 ExecutionStarted: input is not the text of JSON"));
    }

    #[test]
    fn a_failed_evaluation_follows_what_was_recorded() {
        let history = |previous: u64| {
            json!([
                { "id": 1, "previousEventId": 0, "type": "ExecutionStarted" },
                { "id": 2, "previousEventId": 0, "type": "WaitStateEntered",
                  "stateEnteredEventDetails": { "name": "W" } },
                { "id": 3, "previousEventId": previous, "type": "EvaluationFailed",
                  "evaluationFailedEventDetails": { "state": "W" } },
            ])
        };
        for (recorded, followed, agrees) in [(0, 0, true), (2, 2, true), (0, 2, false)] {
            let case = json!({ "expected": { "status": "FAILED", "history": history(recorded) } });
            let history = history(followed).as_array().cloned().unwrap_or_default();
            let found = Found { status: "FAILED".to_owned(), output: None, history, ..replay() };
            assert_eq!(compare(&case, &found).is_ok(), agrees, "{recorded} {followed}");
        }
    }
}
