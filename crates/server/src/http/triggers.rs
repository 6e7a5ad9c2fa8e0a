//! `POST /triggers/NAME`: a request becomes an event.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, Response};
use axum::routing::post;
use serde_json::{Value, json};

use super::body::Broken;
use super::handler::Gateway;
use crate::functions::Refusal;
use crate::triggers::{Answer, Arrived, Live, check, read};

pub(super) fn routes() -> Router<Arc<Gateway>> {
    Router::new().route("/triggers/{name}", post(trigger).options(handshake))
}

async fn trigger(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    match answer(&gateway, &name, request).await {
        Ok(Answer { status, body }) => written(status, &body, false),
        Err(refusal) => refused(&refusal),
    }
}

async fn answer(gateway: &Gateway, name: &str, request: Request<Body>) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    let live = find(gateway, name)?;
    let Some(http) = live.http() else { return Err(not_found(name)) };
    let bytes_max = http.body_bytes_max as usize;
    let body =
        gateway.body(body, bytes_max).await.map_err(|broken| broken_body(&broken, bytes_max))?;
    let query = head.uri.query().unwrap_or_default();
    let arrived = Arrived { headers: &head.headers, query, body: body.bytes() };
    check(http, &arrived)?;
    if http.secret.is_none() && http.signature.is_none() {
        // Nothing of its own keeps strangers out: what keeps them out of the API does.
        gateway
            .admit(&head, body.bytes(), "states")
            .map_err(|error| Refusal::new(403, "AccessDeniedException", error.message()))?;
    }
    let given = read(http, &arrived)?;
    drop(body);
    live.request(given).await
}

/// How Event Grid asks before it sends events of the CloudEvents schema.
async fn handshake(
    State(gateway): State<Arc<Gateway>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let live = match find(&gateway, &name) {
        Ok(live) => live,
        Err(refusal) => return refused(&refusal),
    };
    let origin = request.headers().get("webhook-request-origin");
    match origin.filter(|_| live.http().is_some()) {
        Some(origin) => Response::builder()
            .status(200)
            .header("WebHook-Allowed-Origin", origin)
            .header("WebHook-Allowed-Rate", "*")
            .body(Body::empty())
            .expect("its headers came in a request"),
        None => refused(&not_found(&name)),
    }
}

fn find(gateway: &Gateway, name: &str) -> Result<Live, Refusal> {
    let functions = gateway.service.functions.as_ref();
    functions.and_then(|functions| functions.triggers.find(name)).ok_or_else(|| not_found(name))
}

fn not_found(name: &str) -> Refusal {
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(100).collect();
    let message = format!("there is no trigger '{name}' of kind http");
    Refusal::new(404, "ResourceNotFoundException", message)
}

fn broken_body(broken: &Broken, bytes_max: usize) -> Refusal {
    let message = broken.error(bytes_max).message().to_owned();
    match broken {
        Broken::TooLong => Refusal::new(413, "RequestTooLargeException", message),
        Broken::NoRoom => Refusal::new(429, "TooManyRequestsException", message),
        Broken::CutOff | Broken::TooSlow => {
            Refusal::new(400, "InvalidRequestContentException", message)
        }
    }
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let body = json!({ "error": refusal.name, "message": refusal.message });
    written(refusal.status, &body, matches!(refusal.status, 429 | 503))
}

fn written(status: u16, body: &Value, is_for_later: bool) -> Response<Body> {
    let mut response =
        Response::builder().status(status).header("Content-Type", "application/json");
    if is_for_later {
        response = response.header("Retry-After", "1");
    }
    response.body((body.to_string() + "\n").into()).expect("its headers are plain text")
}
