//! A call as it is handed to a process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};

use super::answer::Answer;
use crate::call::Call;

/// The answer to `next`.
pub(super) fn event(call: &Call, function_arn: &str, timeout_ms: u64) -> Answer {
    let mut answer = Answer::new(Full::new(call.payload.clone()));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let deadline_ms = deadline_ms(timeout_ms).to_string();
    let arn = call.function_arn.as_deref().unwrap_or(function_arn);
    let given = [
        ("lambda-runtime-aws-request-id", Some(call.request_id.as_str())),
        ("lambda-runtime-deadline-ms", Some(&deadline_ms)),
        ("lambda-runtime-invoked-function-arn", Some(arn)),
        ("lambda-runtime-trace-id", call.trace_id.as_deref()),
        ("lambda-runtime-client-context", call.client_context.as_deref()),
    ];
    for (name, value) in given {
        // Bytes beyond ASCII may stand in a header, line ends may not.
        let value = value.and_then(|value| HeaderValue::from_bytes(value.as_bytes()).ok());
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    answer
}

fn deadline_ms(timeout_ms: u64) -> u128 {
    let deadline = SystemTime::now() + Duration::from_millis(timeout_ms);
    deadline.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}
