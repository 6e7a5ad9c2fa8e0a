//! The result of a call, as a task gets it.

use everstep_asl::error_name::DATA_LIMIT_EXCEEDED;
use everstep_interpreter::{Failure, Payload};
use everstep_retry::Class;
use serde_json::{Value, json};

use super::request::{Form, Target};
use crate::error::Error;
use crate::remote::cause;

/// Of the API: longer ones are cut.
const ERROR_CHARS_MAX: usize = 256;
const CAUSE_CHARS_MAX: usize = 32_768;

/// What a function or its endpoint answered.
pub(super) struct Answered<'a> {
    pub(super) payload: &'a [u8],
    pub(super) status: u16,
    pub(super) version: &'a str,
    pub(super) request_id: &'a str,
    /// In Base64, if the task asks for it.
    pub(super) log_result: Option<String>,
}

/// The output of a task by what its function answered.
pub(super) fn output(answered: &Answered<'_>, target: &Target) -> Result<Payload, Failure> {
    let text = std::str::from_utf8(answered.payload).unwrap_or_default();
    if target.form == Form::Result {
        return Payload::from_text(text).map_err(|error| invalid(&error));
    }
    // Nothing comes back of what is only accepted.
    let value = match (target.form, text) {
        (Form::Sdk, text) => json!(text),
        (_, "") => json!(""),
        (_, text) => serde_json::from_str(text).map_err(|error| invalid(&error))?,
    };
    Ok(Payload::new(wrapped(value, answered)))
}

/// It nests too deep: that it is JSON has been seen.
fn invalid(error: &serde_json::Error) -> Failure {
    Failure::new("Runtime.InvalidResponse", format!("the function's answer is refused: {error}"))
}

/// As the service wraps an answer, with the headers that are the same everywhere.
fn wrapped(payload: Value, answered: &Answered<'_>) -> Value {
    let Answered { status, version, request_id, log_result, .. } = answered;
    let headers = headers(answered);
    let one = headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
    let all = headers.iter().map(|(name, value)| ((*name).to_owned(), json!([value])));
    let mut wrapped = json!({ "ExecutedVersion": version });
    if let Some(log) = log_result {
        wrapped["LogResult"] = json!(log);
    }
    wrapped["Payload"] = payload;
    wrapped["SdkHttpMetadata"] = json!({
        "AllHttpHeaders": all.collect::<serde_json::Map<_, _>>(),
        "HttpHeaders": one.collect::<serde_json::Map<_, _>>(),
        "HttpStatusCode": status,
    });
    wrapped["SdkResponseMetadata"] = json!({ "RequestId": request_id });
    wrapped["StatusCode"] = json!(status);
    wrapped
}

fn headers(answered: &Answered<'_>) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("X-Amz-Executed-Version", answered.version.to_owned()),
        ("x-amzn-RequestId", answered.request_id.to_owned()),
        ("Content-Length", answered.payload.len().to_string()),
        ("Content-Type", "application/json".to_owned()),
    ];
    if let Some(log) = &answered.log_result {
        headers.insert(0, ("X-Amz-Log-Result", log.clone()));
    }
    headers
}

/// `resource` as a message about its result names it. The cause of a function that is the resource itself is the
/// function's own text; that of `lambda:invoke` has been read and written again, as `Payload` of a result has.
pub(super) fn failure(error: &Error, form: Form, resource: &str) -> Failure {
    if error.class == Class::DataLimitExceeded {
        let cause = format!(
            "The state/task '{resource}' returned a result with a size exceeding the maximum \
             number of bytes service limit."
        );
        return Failure::new(DATA_LIMIT_EXCEEDED, cause);
    }
    let payload = match form {
        Form::Result => error.text(),
        Form::Invocation | Form::Sdk => error.payload.to_string(),
    };
    if error.payload.get("errorType").is_none() {
        let cause = "The cause could not be determined because Lambda did not return an error type. \
                     Returned payload: ";
        return Failure::new("Lambda.Unknown", cut(&format!("{cause}{payload}"), CAUSE_CHARS_MAX));
    }
    Failure::new(cut(&error.error_type, ERROR_CHARS_MAX), cut(&payload, CAUSE_CHARS_MAX))
}

pub(super) fn throttled(request_id: &str) -> Failure {
    let code = "TooManyRequestsException";
    Failure::new(format!("Lambda.{code}"), cause("Rate Exceeded.", 429, code, request_id))
}

pub(super) fn not_found(arn: &str, request_id: &str) -> Failure {
    let code = "ResourceNotFoundException";
    let message = format!("Function not found: {arn}");
    Failure::new(format!("Lambda.{code}"), cause(&message, 404, code, request_id))
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &Error, name: &str, cause: &str) {
        let failure = failure(error, Form::Invocation, "lambda");
        assert_eq!((failure.name(), failure.cause.as_deref()), (name, Some(cause)));
    }

    #[test]
    fn failures_are_told_as_step_functions_tells_them() {
        let body = br#"{"errorMessage": "no widgets left", "errorType": "OutOfStockError"}"#;
        check(
            &Error::raised(body, None),
            "OutOfStockError",
            r#"{"errorMessage":"no widgets left","errorType":"OutOfStockError"}"#,
        );
        let own = failure(&Error::raised(body, None), Form::Result, "arn").cause.unwrap();
        assert_eq!(own.as_bytes(), body);
        check(
            &Error::raised(br#"{"a":1}"#, None),
            "Lambda.Unknown",
            "The cause could not be determined because Lambda did not return an error type. \
             Returned payload: {\"a\":1}",
        );
        check(
            &Error::too_large(),
            "States.DataLimitExceeded",
            "The state/task 'lambda' returned a result with a size exceeding the maximum number of \
             bytes service limit.",
        );
        let long = Error::new(&"e".repeat(300), Class::User, "m".repeat(40_000));
        let failure = failure(&long, Form::Result, "lambda");
        assert_eq!(failure.name().len(), ERROR_CHARS_MAX);
        assert_eq!(failure.cause.unwrap().len(), CAUSE_CHARS_MAX);
    }
}
