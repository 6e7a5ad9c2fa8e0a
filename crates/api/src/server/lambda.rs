//! Lambda's `Invoke`: what a request says, and how it is answered.

use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use serde_json::json;

use crate::extension::{Invoke, Invoked, Manner, Refusal};
use crate::protocol::Error;

/// What a call asks for. `called` is the function as the path has it: a name, a name with a qualifier, an
/// ARN, or a part of one.
pub(super) fn read(
    called: &str,
    uri: &Uri,
    headers: &HeaderMap,
    payload: Vec<u8>,
) -> Result<Invoke, Refusal> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (function, qualifier) = named(called).ok_or_else(|| {
        let message = format!("'{called}' is neither the name of a function nor its ARN");
        Refusal::new(400, "ValidationException", message)
    })?;
    let manner = match text("x-amz-invocation-type").unwrap_or("RequestResponse") {
        "RequestResponse" => Manner::RequestResponse,
        "Event" => Manner::Event,
        "DryRun" => Manner::DryRun,
        other => {
            let message = format!(
                "the invocation type '{other}' is none of RequestResponse, Event and DryRun"
            );
            return Err(Refusal::new(400, "InvalidParameterValueException", message));
        }
    };
    if text("x-amz-client-context").is_some() {
        // The retry context of an attempt is told there.
        let message =
            "a client context cannot be given: put what the function must know into the payload";
        return Err(Refusal::new(400, "InvalidParameterValueException", message));
    }
    let payload = if payload.is_empty() { b"{}".to_vec() } else { payload };
    let of_query = uri.query().unwrap_or_default().split('&');
    let of_query = of_query.filter_map(|pair| pair.split_once('='));
    let mut of_query = of_query.filter(|(name, _)| *name == "Qualifier").map(|(_, value)| value);
    let qualifier = qualifier.or_else(|| of_query.next()).map(str::to_owned);
    let key = text("idempotency-key").or_else(|| text("x-everstep-execution-name"));
    let (function, key) = (function.to_owned(), key.map(str::to_owned));
    Ok(Invoke { function, qualifier, manner, payload, key })
}

fn named(called: &str) -> Option<(&str, Option<&str>)> {
    let rest = match called.rsplit_once("function:") {
        Some((_, rest)) => rest,
        None if called.starts_with("arn:") => return None,
        None => called,
    };
    let (name, qualifier) = match rest.split_once(':') {
        Some((name, qualifier)) => (name, Some(qualifier)),
        None => (rest, None),
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    (!name.is_empty() && name.len() <= 140 && name.chars().all(plain)).then_some((name, qualifier))
}

pub(super) fn written(manner: Manner, outcome: Result<Invoked, Refusal>) -> Response<Body> {
    match outcome {
        Ok(invoked) => answer(manner, invoked),
        Err(refusal) => refused(&refusal, &uuid::Uuid::new_v4().to_string()),
    }
}

fn answer(manner: Manner, invoked: Invoked) -> Response<Body> {
    let status = match manner {
        Manner::RequestResponse => 200,
        Manner::Event => 202,
        Manner::DryRun => 204,
    };
    let mut response = Response::builder()
        .status(status)
        .header("x-amzn-RequestId", invoked.id)
        .header("X-Amz-Executed-Version", invoked.version)
        .header("Content-Type", "application/json");
    if invoked.failed {
        response = response.header("X-Amz-Function-Error", "Unhandled");
    }
    response.body(invoked.payload.into()).expect("its headers are plain text")
}

/// As SDKs read errors of a service that speaks REST with JSON.
pub(super) fn refused(refusal: &Refusal, request_id: &str) -> Response<Body> {
    let body = json!({ "Type": "User", "Message": refusal.message }).to_string();
    Response::builder()
        .status(refusal.status)
        .header("x-amzn-RequestId", request_id)
        .header("x-amzn-ErrorType", refusal.name)
        .header("Content-Type", "application/json")
        .body(body.into())
        .expect("its headers are plain text")
}

/// What the front door says, in Lambda's form.
pub(super) fn refusal(error: &Error) -> Refusal {
    Refusal { status: error.status(), name: error.name(), message: error.message().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_called_in_many_ways() {
        let check = |called, expected| assert_eq!(named(called), expected, "{called}");
        check("greet", Some(("greet", None)));
        check("greet:PROD", Some(("greet", Some("PROD"))));
        check("arn:aws:lambda:us-east-1:1:function:greet", Some(("greet", None)));
        check("arn:aws:lambda:us-east-1:1:function:greet:7", Some(("greet", Some("7"))));
        check("123456789012:function:greet", Some(("greet", None)));
        check("arn:aws:sqs:us-east-1:1:greet", None);
        check("", None);
        check("a b", None);
    }
}
