//! One call of a function, and what comes of it.

use hyper::body::Bytes;

use crate::error::Error;

#[derive(Debug, Clone, Default)]
pub struct Call {
    /// What the code sees as its request id.
    pub request_id: String,
    /// JSON.
    pub payload: Bytes,
    /// JSON for the header `Lambda-Runtime-Client-Context`. Some clients exit on any shape but
    /// `{"custom":{"name":"string"}}`.
    pub client_context: Option<String>,
    pub trace_id: Option<String>,
    /// The ARN by which the function was named, if it was.
    pub function_arn: Option<String>,
    /// From 1; logs are tagged with it.
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// What the function returned: valid JSON.
    Succeeded {
        payload: Bytes,
    },
    Failed {
        error: Box<Error>,
    },
    /// As many calls as may wait are waiting already, or the function may not run at all.
    Throttled,
    /// There is no function of that name.
    NotFound,
    /// Nobody waits for it any more, or the host is shutting down: it may have run, or begun to.
    Cancelled,
}
