//! How a call fails: the object that Lambda would give back, and what kind of failure it is.

use everstep_retry::Class;
use serde_json::{Map, Value, json};

/// The largest answer of a function: Lambda's 6 MB and the hundred bytes it adds.
pub const RESPONSE_BYTES_MAX: usize = 6_291_556;

#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What retriers match: `errorType` of the payload, `Lambda.Unknown` if it has none.
    pub error_type: String,
    pub class: Class,
    /// `errorType`, `errorMessage` and all other members that the function sent.
    pub payload: Value,
    /// The payload as the function wrote it, white space included.
    pub(crate) sent: Option<String>,
    /// When an HTTP service asks to be called again.
    pub retry_after_ms: Option<u64>,
    /// An HTTP service has refused the call, and would refuse it again.
    pub permanent: bool,
    /// The code of the function chose `error_type`.
    pub by_code: bool,
}

impl Error {
    pub(crate) fn new(error_type: &str, class: Class, message: String) -> Self {
        let payload = json!({ "errorType": error_type, "errorMessage": message });
        Self::of(payload, class)
    }

    /// By the object that a function has sent.
    pub(crate) fn of(payload: Value, class: Class) -> Self {
        let error_type = payload.get("errorType").and_then(Value::as_str);
        let error_type = error_type.unwrap_or("Lambda.Unknown").to_owned();
        Self {
            error_type,
            class,
            payload,
            sent: None,
            retry_after_ms: None,
            permanent: false,
            by_code: false,
        }
    }

    /// The payload's text: the function's own, where it sent one.
    #[must_use]
    pub fn text(&self) -> String {
        self.sent.clone().unwrap_or_else(|| self.payload.to_string())
    }

    /// What the code has raised. A value that is not an object becomes the message of one; `named` is the name that
    /// came beside it.
    pub(crate) fn raised(body: &[u8], named: Option<&str>) -> Self {
        match serde_json::from_slice(body) {
            Ok(Value::Object(object)) => {
                let sent = String::from_utf8(body.to_vec()).ok();
                Self { sent, ..Self::chosen(Value::Object(object)) }
            }
            _ => {
                let mut object = Map::new();
                if let Some(name) = named {
                    object.insert("errorType".to_owned(), json!(name));
                }
                object.insert("errorMessage".to_owned(), json!(String::from_utf8_lossy(body)));
                Self::chosen(Value::Object(object))
            }
        }
    }

    /// By an object that the code has made.
    pub(crate) fn chosen(payload: Value) -> Self {
        Self { by_code: true, ..Self::of(payload, Class::User) }
    }

    pub(crate) fn timed_out(request_id: &str, timeout_ms: u64) -> Self {
        let (seconds, hundredths) = (timeout_ms / 1000, timeout_ms % 1000 / 10);
        let message = format!(
            "RequestId: {request_id} Error: Task timed out after {seconds}.{hundredths:02} seconds"
        );
        Self::new("Sandbox.Timedout", Class::Timeout, message)
    }

    pub(crate) fn start_timed_out(request_id: &str, waited_ms: u64) -> Self {
        let seconds = (waited_ms + 500) / 1000;
        let message = format!(
            "RequestId: {request_id} Error: the runtime did not ask for an event within {seconds} s of its start"
        );
        Self::new("Sandbox.Timedout", Class::Timeout, message)
    }

    /// `how` it ended, in the words of [`crate::process::Ending`].
    pub(crate) fn exited(request_id: &str, how: &str) -> Self {
        let message = format!("RequestId: {request_id} Error: {how}");
        Self::new("Runtime.ExitError", Class::Runtime, message)
    }

    pub(crate) fn out_of_memory(request_id: &str, memory_mib: u32) -> Self {
        let message = format!(
            "RequestId: {request_id} Error: Runtime exited with error: signal: killed; it used more than \
             {memory_mib} MiB of memory"
        );
        Self::new("Runtime.OutOfMemory", Class::Runtime, message)
    }

    pub(crate) fn not_startable(request_id: &str, why: &str) -> Self {
        let message = format!("RequestId: {request_id} Error: {why}");
        Self::new("Runtime.InvalidEntrypoint", Class::Runtime, message)
    }

    pub(crate) fn too_large() -> Self {
        let message = format!(
            "Response payload size exceeded maximum allowed payload size ({RESPONSE_BYTES_MAX} bytes)."
        );
        Self::new("Function.ResponseSizeTooLarge", Class::DataLimitExceeded, message)
    }

    pub(crate) fn is_too_large(&self) -> bool {
        self.class == Class::DataLimitExceeded
    }

    pub(crate) fn invalid_response(request_id: &str, why: &str) -> Self {
        let message =
            format!("RequestId: {request_id} Error: the function's answer is not JSON: {why}");
        Self::new("Runtime.InvalidResponse", Class::Runtime, message)
    }
}

/// Clients do not check what they send: Python's sends `NaN`.
pub(crate) fn check_json(body: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| error.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &Error, name: &str, class: Class, payload: Value) {
        assert_eq!((error.error_type.as_str(), error.class), (name, class));
        assert_eq!(error.payload, payload);
    }

    #[test]
    fn failures_have_the_words_of_lambda() {
        check(
            &Error::timed_out("r-1", 1_000),
            "Sandbox.Timedout",
            Class::Timeout,
            json!({
                "errorType": "Sandbox.Timedout",
                "errorMessage": "RequestId: r-1 Error: Task timed out after 1.00 seconds"
            }),
        );
        check(
            &Error::exited("r-1", "Runtime exited with error: exit status 127"),
            "Runtime.ExitError",
            Class::Runtime,
            json!({
                "errorType": "Runtime.ExitError",
                "errorMessage": "RequestId: r-1 Error: Runtime exited with error: exit status 127"
            }),
        );
    }

    #[test]
    fn what_is_raised_is_kept_as_it_came() {
        let body = br#"{"errorMessage":"no","errorType":"Out","stackTrace":[]}"#;
        let payload = serde_json::from_slice(body).unwrap();
        check(&Error::raised(body, Some("other")), "Out", Class::User, payload);
        let spaced = br#"{ "errorMessage": "no" , "n": 1e2 }"#;
        assert_eq!(Error::raised(spaced, None).text().as_bytes(), spaced);
        assert_eq!(Error::raised(b"7", None).text(), r#"{"errorMessage":"7"}"#);
        let message = json!({ "errorMessage": "no\u{fffd}" });
        check(&Error::raised(b"no\xff", None), "Lambda.Unknown", Class::User, message);
        let named = json!({ "errorType": "Out", "errorMessage": "7" });
        check(&Error::raised(b"7", Some("Out")), "Out", Class::User, named);
    }

    #[test]
    fn answers_are_checked() {
        for (body, valid) in [
            (&b"null"[..], true),
            (b"{\"a\":[1.5,\"\xc3\xa9\"]}", true),
            (b"NaN", false),
            (b"", false),
            (b"1 2", false),
            (b"\"\xff\"", false),
        ] {
            assert_eq!(check_json(body).is_ok(), valid, "{}", String::from_utf8_lossy(body));
        }
    }
}
