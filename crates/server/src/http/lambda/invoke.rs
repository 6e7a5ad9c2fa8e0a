//! Lambda's `Invoke`: reads the request, writes the answer.

use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use everstep_runners::log_result;
use serde_json::{Map, Value};

use super::{named, of_query, refused};
use crate::functions::{InvocationType, Invoke, Invoked, Refusal};

/// Lambda's own limit on a client context, in bytes of Base64.
const CONTEXT_BYTES_MAX: usize = 3583;

/// What a call asks for. `called` is the function as the path has it: a name, a name with a qualifier, an
/// ARN, or a part of one.
pub(super) fn read(
    called: &str,
    uri: &Uri,
    headers: &HeaderMap,
    payload: Vec<u8>,
) -> Result<Invoke, Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (function, qualifier) = named(called)?;
    let invocation_type = match text("x-amz-invocation-type").unwrap_or("RequestResponse") {
        "RequestResponse" => InvocationType::RequestResponse,
        "Event" => InvocationType::Event,
        "DryRun" => InvocationType::DryRun,
        other => {
            let message =
                format!("invalid invocation type '{other}': use RequestResponse, Event or DryRun");
            return Err(Refusal::new(400, "InvalidParameterValueException", message));
        }
    };
    let client_context = match headers.get("x-amz-client-context") {
        Some(context) => Some(client_context(context.as_bytes())?),
        None => None,
    };
    let payload = if payload.is_empty() { b"{}".to_vec() } else { payload };
    let qualifier = qualifier.or_else(|| of_query(uri, "Qualifier")).map(str::to_owned);
    let key = text("idempotency-key").or_else(|| text("x-everstep-execution-name"));
    let (function, key) = (function.to_owned(), key.map(str::to_owned));
    Ok(Invoke { function, qualifier, invocation_type, payload, client_context, key })
}

/// Data for the code, beside the event.
fn client_context(text: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let wrong = |message: String| Refusal::new(400, "InvalidRequestContentException", message);
    if text.len() > CONTEXT_BYTES_MAX {
        return Err(wrong(format!(
            "Client context must be at most {CONTEXT_BYTES_MAX} bytes of Base64, not {}.",
            text.len()
        )));
    }
    let object = STANDARD.decode(text).ok().and_then(|json| serde_json::from_slice(&json).ok());
    let message = "Client context must be a valid Base64-encoded JSON object.";
    object.ok_or_else(|| wrong(message.to_owned()))
}

/// Whether the caller asks for the log of the call.
pub(super) fn wants_log(headers: &HeaderMap) -> bool {
    headers.get("x-amz-log-type").is_some_and(|value| value == "Tail")
}

pub(super) fn written(
    invocation_type: InvocationType,
    tail: bool,
    outcome: Result<Invoked, Refusal>,
) -> Response<Body> {
    match outcome {
        Ok(invoked) => answer(invocation_type, tail, invoked),
        Err(refusal) => refused(&refusal, &uuid::Uuid::new_v4().to_string()),
    }
}

fn answer(invocation_type: InvocationType, tail: bool, invoked: Invoked) -> Response<Body> {
    let status = match invocation_type {
        InvocationType::RequestResponse => 200,
        InvocationType::Event => 202,
        InvocationType::DryRun => 204,
    };
    let log = (tail && invocation_type == InvocationType::RequestResponse)
        .then(|| log_result(&invoked.id, &invoked.version, &invoked.log));
    let mut response = Response::builder()
        .status(status)
        .header("x-amzn-RequestId", invoked.id)
        .header("X-Amz-Executed-Version", invoked.version)
        .header("Content-Type", "application/json");
    if invoked.failed {
        response = response.header("X-Amz-Function-Error", "Unhandled");
    }
    if let Some(log) = log {
        response = response.header("X-Amz-Log-Result", log);
    }
    response.body(invoked.payload.into()).expect("its headers are plain text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_contexts() {
        let check = |json: &str, expected: Result<Value, &str>| {
            let found = client_context(STANDARD.encode(json).as_bytes());
            let found = found.map(Value::Object).map_err(|refusal| refusal.message);
            assert_eq!(found, expected.map_err(str::to_owned), "{json}");
        };
        let wrong = "Client context must be a valid Base64-encoded JSON object.";
        check(r#"{"custom":{"n":1}}"#, Ok(serde_json::json!({ "custom": { "n": 1 } })));
        check("{}", Ok(serde_json::json!({})));
        check("[]", Err(wrong));
        check("{", Err(wrong));
        let long = format!("{{\"a\":\"{}\"}}", "b".repeat(2677));
        assert!(client_context(STANDARD.encode(&long).as_bytes()).is_ok());
        let longer = long.replacen('b', "bbb", 1);
        check(&longer, Err("Client context must be at most 3583 bytes of Base64, not 3584."));
        assert!(client_context(b"{}").is_err());
    }
}
