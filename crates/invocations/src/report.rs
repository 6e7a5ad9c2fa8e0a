//! What is said of an invocation that is over: AWS's record for destinations, and the input of a catcher.
//!
//! Payloads are put in as they are, byte for byte: JSON is not parsed and written anew.

use std::str;

use serde_json::{Value, json};

use crate::invocation::{Invocation, Reason, State};
use crate::moment::iso;

/// What a destination gets. Keys beyond AWS's are under `everstep`.
pub(crate) fn record(invocation: &Invocation, payload: &[u8], response: Option<&[u8]>) -> Vec<u8> {
    record_with(invocation, as_json(payload), response.map(as_json), &[])
}

/// The same for a destination that cannot take it: without the event and the answer, which are kept with the
/// invocation. It says what is left out.
pub(crate) fn bare_record(invocation: &Invocation, has_response: bool) -> Vec<u8> {
    let null = || "null".to_owned();
    let left_out = ["requestPayload", "responsePayload"];
    let left_out = if has_response { &left_out[..] } else { &left_out[..1] };
    record_with(invocation, null(), has_response.then(null), left_out)
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
        Ok(text) if check_json(payload).is_ok() => text.trim().to_owned(),
        _ => Value::from(String::from_utf8_lossy(payload).into_owned()).to_string(),
    }
}

/// The parser passes over what it need not keep, whatever bytes it is made of: so these are looked at too.
pub(crate) fn check_json(payload: &[u8]) -> Result<(), String> {
    let text = str::from_utf8(payload).map_err(|error| error.to_string())?;
    let skipped = serde_json::from_str::<serde::de::IgnoredAny>(text);
    skipped.map(|_| ()).map_err(|error| error.to_string())
}

fn object(members: &[(&str, String)]) -> Vec<u8> {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}
