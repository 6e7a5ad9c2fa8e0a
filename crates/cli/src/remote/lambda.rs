//! Lambda's `Invoke`.

use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use everstep_client::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use everstep_story::invocation::failure;
use serde_json::{Value, json};

use super::Api;
use super::refusal::Refused;

/// The server enforces the function's own time limit.
const TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// A request.
pub(crate) struct Call<'c> {
    /// Name or ARN.
    pub(crate) function: &'c str,
    pub(crate) invocation_type: InvocationType,
    /// JSON text.
    pub(crate) payload: String,
    /// Calls with the same key run once.
    pub(crate) key: Option<&'c str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvocationType {
    RequestResponse,
    Event,
    DryRun,
}

impl InvocationType {
    fn name(self) -> &'static str {
        match self {
            Self::RequestResponse => "RequestResponse",
            Self::Event => "Event",
            Self::DryRun => "DryRun",
        }
    }
}

/// A response.
pub(crate) struct Answer {
    status: u16,
    pub(crate) id: String,
    version: String,
    /// The payload is an error.
    pub(crate) failed: bool,
    pub(crate) payload: String,
    /// The end of the function's output, in Base64.
    log: String,
}

impl Answer {
    /// With the names that the AWS command line gives it.
    pub(crate) fn to_json(&self) -> Value {
        let mut answer = json!({ "StatusCode": self.status, "RequestId": self.id });
        if !self.version.is_empty() {
            answer["ExecutedVersion"] = json!(self.version);
        }
        if self.failed {
            answer["FunctionError"] = json!("Unhandled");
        }
        if self.failed && !self.log.is_empty() {
            answer["LogResult"] = json!(self.log);
        }
        if !self.payload.is_empty() {
            answer["Payload"] = self.payload_json();
        }
        answer
    }

    /// The last lines of the function's output, without those that Lambda adds.
    pub(crate) fn log(&self) -> Vec<String> {
        let bytes = BASE64_STANDARD.decode(&self.log).unwrap_or_default();
        let around = |line: &&str| {
            ["START RequestId: ", "END RequestId: ", "REPORT RequestId: "]
                .iter()
                .any(|start| line.starts_with(start))
        };
        failure::printable(String::from_utf8_lossy(&bytes).lines().filter(|line| !around(line)))
    }

    /// As a string if it is not JSON.
    pub(crate) fn payload_json(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap_or_else(|_| json!(self.payload))
    }
}

impl Api {
    /// Calls a function. The caller knows what a refusal means.
    pub(crate) fn invoke(&self, call: Call<'_>) -> Result<Result<Answer, Refused>> {
        let path = format!("/2015-03-31/functions/{}/invocations", encoded(call.function));
        let mut request = Request::new(Method::POST, format!("{}{path}", self.endpoint()))
            .header(
                HeaderName::from_static("x-amz-invocation-type"),
                HeaderValue::from_static(call.invocation_type.name()),
            )
            .body(call.payload)
            .timeout(TIMEOUT);
        if call.invocation_type == InvocationType::RequestResponse {
            let tail = HeaderValue::from_static("Tail");
            request = request.header(HeaderName::from_static("x-amz-log-type"), tail);
        }
        if let Some(key) = call.key {
            let key = HeaderValue::try_from(key)
                .context("the key has characters that an HTTP header cannot have")?;
            request = request.header(HeaderName::from_static("idempotency-key"), key);
        }
        let response = self.send(request, "lambda")?;
        Ok(if response.status.is_success() {
            Ok(answer(&response))
        } else {
            Err(refused(&response))
        })
    }
}

fn answer(response: &Response) -> Answer {
    Answer {
        status: response.status.as_u16(),
        id: header(&response.headers, "x-amzn-requestid"),
        version: header(&response.headers, "x-amz-executed-version"),
        failed: response.headers.contains_key("x-amz-function-error"),
        payload: String::from_utf8_lossy(&response.body).into_owned(),
        log: header(&response.headers, "x-amz-log-result"),
    }
}

fn refused(response: &Response) -> Refused {
    let code = header(&response.headers, "x-amzn-errortype");
    // Services put a place after it: `ResourceNotFoundException:http://internal...`.
    let code = code.split(':').next().unwrap_or_default();
    let code = if code.is_empty() { response.status.to_string() } else { code.to_owned() };
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let message = body["Message"].as_str().or(body["message"].as_str());
    Refused::new("Invoke", code, message.unwrap_or("no message").to_owned())
}

fn header(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

/// As one segment of a path.
fn encoded(name: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output() {
        let check = |log: &str, expected: &[&str]| {
            let (id, version, payload) = Default::default();
            let answer =
                Answer { status: 200, id, version, failed: true, payload, log: log.to_owned() };
            assert_eq!(answer.log(), expected);
        };
        check("W0VSUk9SXSBFDWF0IGFwcC5weQpkb25lCg==", &["[ERROR] E", "at app.py", "done"]);
        check("", &[]);
        check("no Base64", &[]);
    }

    #[test]
    fn names_in_paths() {
        let check = |name, expected: &str| assert_eq!(encoded(name), expected);
        check("charge-2_b", "charge-2_b");
        check("a/b c", "a%2Fb%20c");
        check("charge:$LATEST", "charge%3A%24LATEST");
    }
}
