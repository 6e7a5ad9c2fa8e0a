//! Operations of AWS Lambda that invoke and list functions. All others are refused by name.

mod invoke;
mod operation;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{Method, Request, Response, Uri};
use axum::routing::{get, post};
use everstep_api::protocol::Error;
use serde_json::json;

use super::body::Broken;
use super::handler::Gateway;
use crate::functions::{Functions, Lookup, Refusal};

/// Lambda's six megabytes.
const BYTES_MAX: usize = 6 << 20;
/// Functions on a page: the default, and the maximum.
const PAGE: usize = 50;
const PAGE_MAX: usize = 10_000;

pub(super) fn routes() -> Router<Arc<Gateway>> {
    Router::new()
        .route("/2015-03-31/functions/{name}/invocations", post(invoke))
        .route("/2015-03-31/functions", get(list))
        .route("/2015-03-31/functions/", get(list))
        .route("/2015-03-31/functions/{name}", get(function))
        .route("/2015-03-31/functions/{name}/configuration", get(configuration))
}

/// Whether a request is one of Lambda's.
pub(super) fn is_path(uri: &Uri) -> bool {
    uri.path().starts_with("/2015-03-31/")
}

/// The answer when there is no room for the answer.
pub(super) fn throttled() -> Response<Body> {
    let refusal = Refusal::new(429, "TooManyRequestsException", "Rate Exceeded.");
    refused(&refusal, &request_id())
}

/// The refusal of an operation of Lambda that is not supported; None if the request is not one.
pub(super) fn unsupported(method: &Method, uri: &Uri) -> Option<Response<Body>> {
    let name = operation::find(method, uri)?;
    let message = format!(
        "{name} is not supported: to change functions, edit the everstep.yaml that the server was started with. \
         Supported are Invoke, ListFunctions, GetFunction and GetFunctionConfiguration"
    );
    let refusal = Refusal::new(501, "UnsupportedOperationException", message);
    Some(refused(&refusal, &request_id()))
}

/// `Invoke`
async fn invoke(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, payload, functions) = match authenticated(&gateway, request).await {
        Ok(request) => request,
        Err(refusal) => return refused(&refusal, &request_id()),
    };
    match invoke::read(&name, &head.uri, &head.headers, payload) {
        Ok(invoke) => {
            let (kind, tail) = (invoke.invocation_type, invoke::wants_log(&head.headers));
            invoke::written(kind, tail, functions.invoke(invoke).await)
        }
        Err(refusal) => refused(&refusal, &request_id()),
    }
}

/// `ListFunctions`
async fn list(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> Response<Body> {
    look_up(&gateway, request, |uri| {
        let after = of_query(uri, "Marker").filter(|marker| !marker.is_empty());
        let max = match of_query(uri, "MaxItems").map(str::parse) {
            None => PAGE,
            Some(Ok(max @ 1..=PAGE_MAX)) => max,
            Some(_) => {
                let message = format!("MaxItems must be a number from 1 to {PAGE_MAX}");
                return Err(Refusal::new(400, "InvalidParameterValueException", message));
            }
        };
        Ok(Lookup::Functions { after: after.map(str::to_owned), max })
    })
    .await
}

/// `GetFunction`
async fn function(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    look_up(&gateway, request, |_| Ok(Lookup::Function(named(&name)?.0.to_owned()))).await
}

/// `GetFunctionConfiguration`
async fn configuration(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    look_up(&gateway, request, |_| Ok(Lookup::Configuration(named(&name)?.0.to_owned()))).await
}

async fn look_up(
    gateway: &Gateway,
    request: Request<Body>,
    read: impl FnOnce(&Uri) -> Result<Lookup, Refusal>,
) -> Response<Body> {
    let request = authenticated(gateway, request).await;
    let answer = request.and_then(|(head, _, functions)| functions.look_up(&read(&head.uri)?));
    match answer {
        Ok(answer) => Response::builder()
            .header("x-amzn-RequestId", request_id())
            .header("Content-Type", "application/json")
            .body(answer.to_string().into())
            .expect("its headers are plain text"),
        Err(refusal) => refused(&refusal, &request_id()),
    }
}

/// The parts of an authenticated request, and the functions.
async fn authenticated(
    gateway: &Gateway,
    request: Request<Body>,
) -> Result<(Parts, Vec<u8>, &Functions), Refusal> {
    let Some(functions) = &gateway.service.functions else {
        let message = "this server has no functions: start it with --functions everstep.yaml";
        return Err(Refusal::new(404, "ResourceNotFoundException", message));
    };
    let (head, body) = request.into_parts();
    let body = gateway.body(body, BYTES_MAX).await.map_err(|broken| broken_body(&broken))?;
    gateway.admit(&head, body.bytes(), "lambda").map_err(|error| refusal(&error))?;
    Ok((head, body.bytes().to_vec(), functions))
}

/// The bare name of a function and its qualifier. `called` is a name, a name with a qualifier, an ARN, or a
/// part of one.
fn named(called: &str) -> Result<(&str, Option<&str>), Refusal> {
    split(called).ok_or_else(|| {
        let message = format!("invalid function name '{called}': use a name or an ARN");
        Refusal::new(400, "ValidationException", message)
    })
}

fn split(called: &str) -> Option<(&str, Option<&str>)> {
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

fn of_query<'u>(uri: &'u Uri, wanted: &str) -> Option<&'u str> {
    let mut pairs =
        uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

fn request_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// As SDKs read errors of a service that speaks REST with JSON.
fn refused(refusal: &Refusal, request_id: &str) -> Response<Body> {
    let whose = if refusal.status < 500 { "User" } else { "Service" };
    let body = json!({ "Type": whose, "Message": refusal.message }).to_string();
    Response::builder()
        .status(refusal.status)
        .header("x-amzn-RequestId", request_id)
        .header("x-amzn-ErrorType", refusal.name)
        .header("Content-Type", "application/json")
        .body(body.into())
        .expect("its headers are plain text")
}

fn broken_body(broken: &Broken) -> Refusal {
    match broken {
        Broken::TooLong => {
            let message = format!(
                "Request must be smaller than {BYTES_MAX} bytes for the InvokeFunction operation"
            );
            Refusal::new(413, "RequestTooLargeException", message)
        }
        other => refusal(&other.error(BYTES_MAX)),
    }
}

/// An error of the protocol, in Lambda's form.
fn refusal(error: &Error) -> Refusal {
    Refusal { status: error.status(), name: error.name(), message: error.message().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_do_not_arrive() {
        let check = |broken, status, name| {
            let refusal = broken_body(&broken);
            assert_eq!((refusal.status, refusal.name), (status, name));
            refusal.message
        };
        assert_eq!(
            check(Broken::TooLong, 413, "RequestTooLargeException"),
            "Request must be smaller than 6291456 bytes for the InvokeFunction operation"
        );
        check(Broken::NoRoom, 400, "ThrottlingException");
        check(Broken::CutOff, 400, "SerializationException");
    }

    #[test]
    fn functions_are_called_in_many_ways() {
        let check = |called, expected| assert_eq!(split(called), expected, "{called}");
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
