//! Recorded calls of `TestState`, made again.

use std::io;
use std::sync::Arc;

use everstep_interpreter::test_state::{Code, Request, RequestError, Tested, test_state};
use everstep_interpreter::{Dialect, Identity, Payload, TokenKey};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::placeholders::Placeholders;
use super::values::{Difference, Matcher};

/// Data that the service takes out of other data: how it writes such arrays is not what the case is
/// about.
const TAKEN: [&str; 3] = ["afterItemsPath", "afterItemSelector", "afterItemBatcher"];

pub(super) fn check(case: &Value) -> Outcome {
    let mut request = request(case);
    let mut tested = test_state(&request);
    if let Ok(Tested::Calls(_)) = &tested {
        // The function was really called: what it returned is in the recording.
        match returned(case) {
            Some(result) => request.answer = Some(Ok(result)),
            None => return Outcome::Skipped("the result of the call was not recorded"),
        }
        tested = test_state(&request);
    }
    match compare(case, &tested) {
        Ok(()) => Outcome::Passed,
        Err(difference) => Outcome::Failed(difference),
    }
}

fn compare(case: &Value, tested: &Result<Tested, RequestError>) -> Result<(), String> {
    match (case.get("expected_error"), tested) {
        (Some(expected), Err(found)) => refusal(expected, found),
        (Some(expected), Ok(found)) => Err(format!("expected {expected}\nfound    {found:?}")),
        (None, Err(found)) => Err(format!("refused: {found}")),
        (None, Ok(Tested::Calls(call))) => Err(format!("calls {}", call.resource.as_str())),
        (None, Ok(Tested::Done(response))) => {
            let (expected, found) = (decoded(&case["expected"]), decoded(&response.to_value()));
            let placeholders = Placeholders::of(case);
            let mut matcher = Matcher::new(&placeholders, false);
            matcher.value(&expected, &found).map_err(|difference| difference.to_string())
        }
    }
}

fn refusal(expected: &Value, found: &RequestError) -> Result<(), String> {
    let (code, message) = match &expected["Error"] {
        Value::Object(error) => (error["Code"].as_str(), error["Message"].as_str()),
        _ => (expected["exception_typename"].as_str(), expected["exception_value"].as_str()),
    };
    let (code, message) = (code.unwrap_or_default(), message.unwrap_or_default());
    // Refused by the client before it was sent: it is enough that it would be refused here too.
    if code == "ParamValidationError" && found.code == Code::ValidationException {
        return Ok(());
    }
    // An exception is reported as `An error occurred (Code) when calling the TestState operation: …`.
    let told = expected["exception_value"].is_string();
    let message = match message.split_once(" operation: ") {
        Some((_, message)) if told => message,
        _ => message,
    };
    let (expected, found) =
        (format!("{code}: {message}"), format!("{}: {}", found.code.name(), found.message));
    if expected == found {
        return Ok(());
    }
    Err(Difference::new(expected, found).below("error").to_string())
}

/// The recorder decoded what begins like an object and left the rest as text.
fn decoded(response: &Value) -> Value {
    let Value::Object(fields) = response else { return response.clone() };
    let decode = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) if text.starts_with('{') || TAKEN.contains(&name.as_str()) => {
                serde_json::from_str(text).unwrap_or_else(|_| value.clone())
            }
            Value::Object(_) if name == "inspectionData" => decoded(value),
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    Value::Object(fields.iter().map(decode).collect::<Map<_, _>>())
}

/// What a call that was not mocked returned.
fn returned(case: &Value) -> Option<Payload> {
    let expected = &case["expected"];
    let recorded = expected["inspectionData"].get("result").or_else(|| expected.get("output"))?;
    match recorded {
        Value::String(text) => Payload::from_text(text).ok(),
        value => Some(Payload::new(value.clone())),
    }
}

/// The recorded call, as the API reads it.
fn request(case: &Value) -> Request {
    let parameters = &case["request"];
    let mut body = json!({
        "definition": written(&case["definition"]),
        "stateName": parameters["stateName"],
        "mock": case["mock"],
        "stateConfiguration": parameters["stateConfiguration"],
        "inspectionLevel": case["inspectionLevel"],
        "revealSecrets": parameters["revealSecrets"],
    });
    let texts = [
        ("input", &case["input"]),
        ("variables", &parameters["variables"]),
        ("context", &parameters["context"]),
    ];
    for (name, value) in texts.into_iter().filter(|(_, value)| !value.is_null()) {
        body[name] = written(value).into();
    }
    Request {
        dialect: Dialect::Aws,
        now_ms: 1_700_000_000_000,
        seed: 1,
        ..everstep_server::test_state::request(&body, identity(case["hasRoleArn"] == true))
    }
}

fn identity(has_role: bool) -> Identity {
    let role = if has_role { "arn:aws:iam::111111111111:role/role" } else { "" };
    let arn = |kind: &str, rest: &str| {
        Arc::from(format!("arn:aws:states:us-east-1:111111111111:{kind}:{rest}"))
    };
    Identity {
        execution_arn: arn("express", "machine:run"),
        execution_name: Arc::from("run"),
        role_arn: Arc::from(role),
        machine_arn: arn("stateMachine", "machine"),
        machine_name: Arc::from("machine"),
        token_key: TokenKey::default(),
    }
}

/// JSON as the recorded calls had it, written by Python: a space behind each comma and colon.
fn written(value: &Value) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, Spaced);
    value.serialize(&mut serializer).expect("memory can be written to");
    String::from_utf8(text).expect("JSON is UTF-8")
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(expected: Value) -> Value {
        json!({
            "definition": { "Type": "Pass", "End": true },
            "input": [1, { "a": 2 }],
            "inspectionLevel": "INFO",
            "request": {},
            "placeholders": {},
            "expected": expected,
        })
    }

    /// `expected` opens the difference.
    fn differs(case: &Value, expected: Option<&str>) {
        let difference = match check(case) {
            Outcome::Passed => None,
            Outcome::Failed(difference) => Some(difference),
            Outcome::Skipped(reason) => panic!("skipped: {reason}"),
        };
        let opens = match (&difference, expected) {
            (Some(difference), Some(expected)) => difference.starts_with(expected),
            (difference, expected) => difference.is_none() && expected.is_none(),
        };
        assert!(opens, "expected {expected:?}, found {difference:?}");
    }

    #[test]
    fn texts_of_arrays_are_compared_as_texts() {
        let output = "[1, {\"a\": 2}]";
        differs(&case(json!({ "status": "SUCCEEDED", "output": output })), None);
        let compact = "[1,{\"a\":2}]";
        differs(&case(json!({ "status": "SUCCEEDED", "output": compact })), Some("output\n"));
    }

    #[test]
    fn texts_of_objects_are_compared_as_objects() {
        let mut case = case(json!({ "status": "SUCCEEDED", "output": { "b": 1, "a": 2 } }));
        case["input"] = json!({ "a": 2, "b": 1 });
        differs(&case, None);
        case["input"] = json!({ "a": 2, "b": 3 });
        differs(&case, Some("output.b\n"));
    }

    #[test]
    fn a_refusal_needs_code_and_message() {
        let mut case = case(Value::Null);
        case["mock"] = json!({ "result": "1" });
        let message = "State type 'Pass' is not supported when a mock is specified";
        case["expected_error"] =
            json!({ "Error": { "Code": "ValidationException", "Message": message } });
        differs(&case, None);
        case["expected_error"]["Error"]["Code"] = json!("InvalidDefinition");
        differs(&case, Some("error\n"));
        let told = "An error occurred (ValidationException) when calling the TestState operation: ";
        case["expected_error"] = json!({
            "exception_typename": "ValidationException", "exception_value": format!("{told}{message}"),
        });
        differs(&case, None);
        case["mock"] = Value::Null;
        case.as_object_mut().expect("an object").remove("mock");
        differs(&case, Some("expected {"));
    }
}
