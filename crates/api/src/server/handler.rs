//! One request: who sends it, what it asks for, and the answer.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use everstep_signature::{Keys, Policy, SKEW_MS};

use super::{Bounds, Listening};
use crate::protocol::{self, Answer, Common, Error};
use crate::service::Service;

struct Desk {
    service: Arc<Service>,
    keys: Keys,
    bounds: Bounds,
    encrypted: bool,
}

pub(super) fn router(service: Arc<Service>, listening: &Listening) -> Router {
    let Listening { keys, tls, bounds } = listening.clone();
    let desk = Arc::new(Desk { service, keys, bounds, encrypted: tls.is_some() });
    Router::new()
        .route("/", post(call))
        .route("/health", get(health))
        .route("/ready", get(health))
        .with_state(desk)
}

/// Alive and able to write. Until the engine has read what it must, nobody listens.
async fn health(State(desk): State<Arc<Desk>>) -> Response {
    match desk.service.failure() {
        None => (StatusCode::OK, "{\"status\":\"ok\"}\n").into_response(),
        Some(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn call(State(desk): State<Arc<Desk>>, request: Request<Body>) -> Response {
    let request_id = uuid::Uuid::new_v4().to_string();
    written(
        desk.answer(request, &request_id)
            .await
            .unwrap_or_else(|error| Answer::error(&error, &request_id)),
    )
}

impl Desk {
    async fn answer(&self, request: Request<Body>, request_id: &str) -> Result<Answer, Error> {
        let (head, body) = request.into_parts();
        let operation = protocol::route(
            text(&head.headers, "x-amz-target"),
            text(&head.headers, "content-type"),
        )?;
        let body = self.body(body).await?;
        self.admit(&head, &body)?;
        let output = self.service.call(operation, &protocol::read(&body)?).await?;
        Ok(Answer::success(operation, &output, request_id))
    }

    async fn body(&self, body: Body) -> Result<Bytes, Error> {
        let wrong = |message: &str| Error::common(Common::Serialization, message);
        let read = to_bytes(body, self.bounds.body_bytes);
        match tokio::time::timeout(self.bounds.patience, read).await {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(_)) => Err(wrong("the body of the request is too long or ends too early")),
            Err(_) => Err(wrong("the body of the request came too slowly")),
        }
    }

    /// Lets through what is signed by a known key, or everything if there are no keys.
    fn admit(&self, head: &Parts, body: &[u8]) -> Result<(), Error> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let headers: Vec<(&str, &[u8])> =
            head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let (path, query) = split(&head.uri);
        let request = everstep_signature::Request {
            method: head.method.as_str(),
            path,
            query,
            headers: &headers,
            body,
        };
        let policy = Policy {
            region: None,
            service: "states",
            skew_ms: SKEW_MS,
            unsigned_payload: self.encrypted,
        };
        everstep_signature::verify(&request, &self.keys, self.service.now_ms(), &policy)?;
        Ok(())
    }
}

fn split(uri: &Uri) -> (&str, &str) {
    (uri.path(), uri.query().unwrap_or_default())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn written(answer: Answer) -> Response {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(answer.body.into()).expect("its headers are plain text")
}
