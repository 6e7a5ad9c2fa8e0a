//! How a success and an error are written.

use serde_json::{Number, Value};

use super::conforms::conforms;
use super::error::Error;
use super::model::Operation;

/// A response, less what the HTTP server adds by itself (`Content-Length`, `Date`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Answer {
    /// What the operation returns, `{}` where that is nothing. A value that is not as the model has it
    /// is a defect of the operation, and asserts in debug builds.
    #[must_use]
    pub fn success(operation: Operation, output: &Value, request_id: &str) -> Self {
        debug_assert_eq!(conforms(operation, output), Ok(()), "{}", operation.name());
        Self::written(200, output, request_id)
    }

    /// `{"__type": "...#StateMachineDoesNotExist", "message": "..."}`. SDKs drop all up to the `#`, and
    /// take `message` or `Message`. Services that speak JSON send no `x-amzn-ErrorType`.
    #[must_use]
    pub fn error(error: &Error, request_id: &str) -> Self {
        Self::written(error.status(), &error.body(), request_id)
    }

    /// What an operation of our own answers.
    #[must_use]
    pub fn own(status: u16, body: &Value, request_id: &str) -> Self {
        Self::written(status, body, request_id)
    }

    fn written(status: u16, body: &Value, request_id: &str) -> Self {
        let headers = vec![
            ("x-amzn-RequestId", request_id.to_owned()),
            ("Content-Type", super::request::CONTENT_TYPE.to_owned()),
        ];
        Self { status, headers, body: body.to_string() }
    }
}

/// Seconds since 1970 with their milliseconds, as the protocol writes a time: `1700000000.123`.
#[must_use]
pub fn timestamp(ms: i64) -> Number {
    // Thousandths are not binary fractions, but the nearest of those is written back as was meant.
    Number::from_f64(ms as f64 / 1000.0).expect("an integer by a thousand is finite")
}

#[cfg(test)]
mod tests {
    use everstep_signature::{Reason, Refusal};
    use serde_json::json;

    use super::*;
    use crate::protocol::{Common, Name};

    fn check(error: &Error, status: u16, body: &Value) {
        let answer = Answer::error(error, "id");
        assert_eq!(answer.status, status);
        assert_eq!(answer.body, body.to_string());
    }

    #[test]
    fn a_success_is_its_body() {
        let output = json!({ "executionArn": "arn", "startDate": timestamp(1_700_000_000_123) });
        let answer = Answer::success(Operation::StartExecution, &output, "f0");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, r#"{"executionArn":"arn","startDate":1700000000.123}"#);
        assert_eq!(
            answer.headers,
            [
                ("x-amzn-RequestId", "f0".to_owned()),
                ("Content-Type", "application/x-amz-json-1.0".to_owned()),
            ]
        );
        assert_eq!(Answer::success(Operation::TagResource, &json!({}), "f0").body, "{}");
    }

    #[test]
    #[should_panic(expected = "executionArn")]
    fn a_success_without_a_required_member_asserts() {
        let _ = Answer::success(Operation::StartExecution, &json!({}), "f0");
    }

    #[test]
    fn errors_of_the_service() {
        let missing = Error::new(
            Operation::StartExecution,
            Name::StateMachineDoesNotExist,
            "State Machine Does Not Exist: 'a'",
        );
        let body = json!({
            "__type": "com.amazonaws.swf.service.v2.model#StateMachineDoesNotExist",
            "message": "State Machine Does Not Exist: 'a'",
        });
        check(&missing, 400, &body);
        let invalid = Error::new(Operation::StopExecution, Name::ValidationException, "no")
            .with("reason", "API_DOES_NOT_SUPPORT_LABELED_ARNS");
        let body = json!({
            "__type": "com.amazonaws.swf.service.v2.model#ValidationException",
            "message": "no",
            "reason": "API_DOES_NOT_SUPPORT_LABELED_ARNS",
        });
        check(&invalid, 400, &body);
        let conflict =
            Error::new(Operation::DeleteStateMachineVersion, Name::ConflictException, "m");
        let kind = "com.amazonaws.swf.service.v2.model#ConflictException";
        check(&conflict, 409, &json!({ "__type": kind, "message": "m" }));
    }

    #[test]
    fn errors_of_the_protocol() {
        let of = |name, kind, status| {
            check(&Error::common(name, "m"), status, &json!({ "__type": kind, "message": "m" }));
        };
        of(Common::Validation, "com.amazon.coral.validate#ValidationException", 400);
        of(Common::Throttling, "com.amazon.coral.availability#ThrottlingException", 400);
        of(Common::UnknownOperation, "com.amazon.coral.service#UnknownOperationException", 400);
        of(Common::InternalFailure, "com.amazon.coral.service#InternalFailure", 500);
        let kind = "com.amazon.coral.service#SerializationException";
        let body = json!({ "__type": kind, "Message": "m" });
        check(&Error::common(Common::Serialization, "m"), 400, &body);
    }

    #[test]
    fn refusals_of_callers() {
        let refusal =
            Refusal::new(Reason::MissingAuthenticationToken, "Missing Authentication Token");
        let body = json!({
            "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
            "message": "Missing Authentication Token",
        });
        check(&refusal.into(), 400, &body);
    }

    #[test]
    #[should_panic(expected = "does not declare")]
    fn an_error_must_be_declared() {
        let _ = Error::new(Operation::ListActivities, Name::StateMachineDoesNotExist, "");
    }

    #[test]
    #[should_panic(expected = "has no reason")]
    fn a_member_must_be_the_errors() {
        let _ = Error::new(Operation::DeleteActivity, Name::InvalidArn, "").with("reason", "x");
    }

    #[test]
    fn times() {
        let check = |ms: i64, expected: &str| assert_eq!(timestamp(ms).to_string(), expected);
        check(1_700_000_000_123, "1700000000.123");
        check(1_700_000_000_000, "1700000000.0");
        check(1_700_000_000_001, "1700000000.001");
        check(0, "0.0");
        check(-1, "-0.001");
        check(253_402_300_799_999, "253402300799.999");
    }
}
