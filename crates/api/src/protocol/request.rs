//! What a request asks for, from its headers and its bytes.
//!
//! The service answers these refusals with nothing but their names; here they have messages too.

use serde_json::Value;

use super::error::{Common, Error};
use super::model::Operation;

pub(super) const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const TARGET: &str = "AWSStepFunctions.";

/// The operation of a request, by its headers `X-Amz-Target` and `Content-Type`.
///
/// JSON 1.1 differs only in how errors are named, and the service's framework takes either.
pub fn route(target: Option<&str>, content_type: Option<&str>) -> Result<Operation, Error> {
    let given = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let known = [CONTENT_TYPE, "application/x-amz-json-1.1"];
    if !known.iter().any(|known| given.eq_ignore_ascii_case(known)) {
        return Err(unknown(format!("the header Content-Type must be '{CONTENT_TYPE}'")));
    }
    let target = target.unwrap_or_default();
    let operation = target.strip_prefix(TARGET).and_then(Operation::find);
    operation.ok_or_else(|| {
        let hint = "is not 'AWSStepFunctions.' and the name of an operation";
        unknown(format!("the header X-Amz-Target, '{}', {hint}", shortened(target)))
    })
}

fn unknown(message: String) -> Error {
    Error::common(Common::UnknownOperation, message)
}

/// A text, cut to a length that fits a message.
fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}

/// The body of a request: a JSON object. Nesting is bounded by the parser.
pub fn read(body: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the body of the request is not JSON: {error}");
        Error::common(Common::Serialization, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: Option<&str>, content_type: Option<&str>, expected: Result<&str, &str>) {
        let found = route(target, content_type);
        let found = found.as_ref().map(|operation| operation.name()).map_err(Error::message);
        assert_eq!(found, expected, "{target:?} {content_type:?}");
    }

    #[test]
    fn routes() {
        let json = Some("application/x-amz-json-1.0");
        let start = Some("AWSStepFunctions.StartExecution");
        check(start, json, Ok("StartExecution"));
        check(start, Some("Application/X-Amz-Json-1.0; charset=utf-8"), Ok("StartExecution"));
        check(start, Some("application/x-amz-json-1.1"), Ok("StartExecution"));
        let content_type = "the header Content-Type must be 'application/x-amz-json-1.0'";
        check(start, Some("application/json"), Err(content_type));
        check(start, None, Err(content_type));
        let target = |target| {
            format!(
                "the header X-Amz-Target, '{target}', is not 'AWSStepFunctions.' and the name of an \
                 operation"
            )
        };
        check(None, json, Err(&target("")));
        for wrong in ["StartExecution", "DynamoDB_20120810.StartExecution", "AWSStepFunctions.Fly"]
        {
            check(Some(wrong), json, Err(&target(wrong)));
        }
        let long = "ä".repeat(5000);
        check(Some(&long), json, Err(&target(&"ä".repeat(100))));
    }

    #[test]
    fn bodies() {
        assert!(read(b"{}").is_ok());
        let deep = "[".repeat(100_000);
        for wrong in [&b""[..], b"{", b"\xff", b"{} {}", deep.as_bytes()] {
            assert_eq!(read(wrong).unwrap_err().name(), "SerializationException");
        }
    }
}
