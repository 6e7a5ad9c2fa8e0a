//! What a process is answered.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Response, StatusCode};
use serde_json::json;

use crate::error::RESPONSE_BYTES_MAX;

pub(crate) type Answer = Response<Full<Bytes>>;

/// As Lambda answers what it does not take.
pub(crate) fn refusal(status: StatusCode, error_type: &str, message: &str) -> Answer {
    let body = json!({ "errorMessage": message, "errorType": error_type }).to_string();
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("is a value"));
    answer
}

pub(crate) fn too_large() -> Answer {
    let text = format!("Exceeded maximum allowed payload size ({RESPONSE_BYTES_MAX} bytes).");
    refusal(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", &text)
}

pub(crate) fn accepted() -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(b"{\"status\":\"OK\"}")));
    *answer.status_mut() = StatusCode::ACCEPTED;
    answer.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("is a value"));
    answer
}
