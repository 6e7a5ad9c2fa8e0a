//! The HTTP server: bytes in, bytes out.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::protocol::{self, Answer};
use crate::service::Service;

/// A request is a megabyte at most, as the service has it, and what JSON adds to a definition of that size.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The routes of the API.
pub fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/", post(call))
        .route("/health", get(health))
        .route("/ready", get(health))
        .layer(axum::extract::DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(service)
}

async fn health(State(service): State<Arc<Service>>) -> Response {
    match service.failure() {
        None => (StatusCode::OK, "{\"status\":\"ok\"}\n").into_response(),
        Some(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn call(State(service): State<Arc<Service>>, headers: HeaderMap, body: Bytes) -> Response {
    let request_id = uuid::Uuid::new_v4().to_string();
    let header =
        |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    let answer = match protocol::route(header("x-amz-target"), header("content-type")) {
        Err(error) => Answer::error(&error, &request_id),
        Ok(operation) => {
            let outcome = match protocol::read(&body) {
                Ok(body) => service.call(operation, &body).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(output) => Answer::success(operation, &output, &request_id),
                Err(error) => Answer::error(&error, &request_id),
            }
        }
    };
    written(answer)
}

fn written(answer: Answer) -> Response {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(answer.body.into()).expect("its headers are plain text")
}
