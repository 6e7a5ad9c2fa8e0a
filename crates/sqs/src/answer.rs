//! How a success and an error are written.

use serde_json::Value;

use crate::error::Error;

/// A response, less what the HTTP server adds by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

impl Answer {
    #[must_use]
    pub fn success(output: &Value, request_id: &str) -> Self {
        Self::written(200, output.to_string(), request_id)
    }

    #[must_use]
    pub fn error(error: &Error, request_id: &str) -> Self {
        let mut answer = Self::written(error.status(), error.body().to_string(), request_id);
        answer.headers.push(("x-amzn-query-error", error.query_header()));
        answer
    }

    fn written(status: u16, body: String, request_id: &str) -> Self {
        let headers = vec![
            ("x-amzn-RequestId", request_id.to_owned()),
            ("Content-Type", CONTENT_TYPE.to_owned()),
        ];
        Self { status, headers, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Name;

    fn check(error: &Error, status: u16, kind: &str, query: &str) {
        let answer = Answer::error(error, "id");
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!((answer.status, body["__type"].as_str()), (status, Some(kind)));
        assert!(answer.headers.contains(&("x-amzn-query-error", query.to_owned())), "{query}");
    }

    #[test]
    fn errors_have_two_names() {
        check(
            &Error::no_such_queue(),
            400,
            "com.amazonaws.sqs#QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue;Sender",
        );
        check(
            &Error::invalid("MaxNumberOfMessages", 11, "no"),
            400,
            "com.amazon.coral.service#InvalidParameterValueException",
            "InvalidParameterValue;Sender",
        );
        check(
            &Error::new(Name::QueueNameExists, ""),
            400,
            "com.amazonaws.sqs#QueueNameExists",
            "QueueAlreadyExists;Sender",
        );
        check(
            &Error::new(Name::ReceiptHandleIsInvalid, ""),
            404,
            "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            "ReceiptHandleIsInvalid;Sender",
        );
        check(
            &Error::new(Name::InternalFailure, ""),
            500,
            "com.amazon.coral.service#InternalFailure",
            "InternalFailure;Receiver",
        );
    }
}
