//! What is said of an invocation that is over: AWS's record for destinations, and the input of a catcher.
//!
//! Payloads are put in as they are, byte for byte: JSON is not parsed and written anew.

use std::str;

use serde_json::{Value, json};

use crate::invocation::{Invocation, Reason, State};
use crate::moment::iso;

/// What a destination gets. Keys beyond AWS's are under `everstep`.
///
/// What is larger than a destination can take would never arrive: then the event and the answer are left
/// out, and the record says so. Both are kept with the invocation.
pub(crate) fn record(
    invocation: &Invocation,
    payload: &[u8],
    response: Option<&[u8]>,
    bytes_max: usize,
) -> Vec<u8> {
    let whole = record_with(invocation, as_json(payload), response.map(as_json), &[]);
    if whole.len() <= bytes_max {
        return whole;
    }
    let mut left_out = vec!["requestPayload"];
    left_out.extend(response.map(|_| "responsePayload"));
    let null = || "null".to_owned();
    record_with(invocation, null(), response.map(|_| null()), &left_out)
}

fn record_with(
    invocation: &Invocation,
    payload: String,
    response: Option<String>,
    left_out: &[&str],
) -> Vec<u8> {
    let succeeded = invocation.state == State::Succeeded;
    let context = json!({
        "requestId": invocation.id.to_string(),
        "functionArn": format!("{}:$LATEST", invocation.terms.arn),
        "condition": condition(invocation.state),
        "approximateInvokeCount": invocation.attempts.started(),
    });
    let timestamp = Value::from(iso(invocation.ended_ms.unwrap_or(invocation.accepted_ms)));
    let mut members = vec![
        ("version", json!("1.0").to_string()),
        ("timestamp", timestamp.to_string()),
        ("requestContext", context.to_string()),
        ("requestPayload", payload),
    ];
    if let Some(response) = response {
        let mut context = json!({ "statusCode": 200, "executedVersion": "$LATEST" });
        if !succeeded {
            context["functionError"] = "Unhandled".into();
        }
        members.push(("responseContext", context.to_string()));
        members.push(("responsePayload", response));
    }
    let mut beyond = beyond_aws(invocation);
    if !left_out.is_empty() {
        beyond["leftOut"] = left_out.into();
    }
    members.push(("everstep", beyond.to_string()));
    object(&members)
}

fn beyond_aws(invocation: &Invocation) -> Value {
    let mut object = json!({
        "attempts": invocation.attempts.to_json(),
        "trigger": invocation.source.to_json(),
        "version": invocation.version,
    });
    if let Some(reason) = invocation.state.reason() {
        object["reason"] = reason.name().into();
    }
    if invocation.attempts.left_out() > 0 {
        object["attemptsLeftOut"] = invocation.attempts.left_out().into();
    }
    object
}

fn condition(state: State) -> &'static str {
    match state.reason() {
        None => "Success",
        Some(Reason::EventAgeExceeded) => "EventAgeExceeded",
        Some(Reason::ZeroReservedConcurrency) => "ZeroReservedConcurrency",
        Some(_) => "RetriesExhausted",
    }
}

/// What a catcher gets: as the catcher of a state does, and every attempt.
pub(crate) fn error_input(invocation: &Invocation, response: Option<&[u8]>) -> Vec<u8> {
    let (error, cause) = error_and_cause(invocation, response);
    json!({ "Error": error, "Cause": cause, "attempts": invocation.attempts.to_json() })
        .to_string()
        .into_bytes()
}

/// The name of the error, and what the function said.
pub(crate) fn error_and_cause(
    invocation: &Invocation,
    response: Option<&[u8]>,
) -> (String, String) {
    let reason = invocation.state.reason().map_or(invocation.state.name(), Reason::name);
    let error = invocation.attempts.last_failure().map_or(reason, |failure| &failure.error_type);
    let said = response.map(|response| String::from_utf8_lossy(response).into_owned());
    (error.to_owned(), said.unwrap_or_else(|| reason.to_owned()))
}

/// What is not JSON is shown as a text.
pub(crate) fn as_json(payload: &[u8]) -> String {
    match str::from_utf8(payload) {
        Ok(text) if is_json(payload) => text.trim().to_owned(),
        _ => Value::from(String::from_utf8_lossy(payload).into_owned()).to_string(),
    }
}

pub(crate) fn is_json(payload: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(payload).is_ok()
}

fn object(members: &[(&str, String)]) -> Vec<u8> {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}
