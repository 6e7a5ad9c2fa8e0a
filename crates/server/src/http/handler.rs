//! One request: authentication, dispatch to its operation, and the answer.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use everstep_api::protocol::{self, Answer, Common, Error};
use everstep_signature::{Keys, Policy, SKEW_MS};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::answer::{self, NoRoom};
use super::body::{Broken, Received, Room, receive};
use super::{Bounds, Log, Options, console, lambda, origin, sqs, triggers};
use crate::quarantine;
use crate::service::Service;

pub(super) struct Gateway {
    pub(super) service: Arc<Service>,
    pub(super) keys: Keys,
    bounds: Bounds,
    room: Room,
    answers: answer::Room,
    pub(super) encrypted: bool,
    pub(super) hosts: origin::Hosts,
    pub(super) sessions: console::Sessions,
    pub(super) streams: console::Streams,
    /// Where this server is reached.
    pub(super) url: String,
    log: Option<Log>,
}

pub(super) fn router(
    service: Arc<Service>,
    options: &Options,
    on_loopback: bool,
    stopping: watch::Receiver<bool>,
) -> Router {
    let Options { keys, tls, bounds, allowed_hosts, console } = options.clone();
    let room = Room::new(bounds.bodies_bytes);
    let answers = answer::Room::new(bounds.answers_bytes);
    let encrypted = tls.is_some();
    let hosts = origin::Hosts { on_loopback, signed: !keys.is_empty(), allowed: allowed_hosts };
    let has_console = console.is_some();
    let (url, log) = console.map(|console| (console.url, console.log)).unzip();
    let gateway = Arc::new(Gateway {
        service,
        keys,
        bounds,
        room,
        answers,
        encrypted,
        hosts,
        sessions: console::Sessions::default(),
        streams: console::Streams::new(stopping),
        url: url.unwrap_or_default(),
        log,
    });
    let (entrance, console) = match has_console {
        true => (post(call).get(enter), console::routes()),
        false => (post(call), Router::new()),
    };
    Router::new()
        .route("/", entrance)
        // The URL of a queue, which some clients send its requests to.
        .route("/{account}/{queue}", post(call_queue))
        .merge(console)
        .route("/health", get(health))
        .route("/ready", get(ready))
        .merge(lambda::routes())
        .merge(triggers::routes())
        .fallback(async |method, uri| not_found(StatusCode::NOT_FOUND, &method, &uri))
        .method_not_allowed_fallback(async |method, uri| {
            not_found(StatusCode::METHOD_NOT_ALLOWED, &method, &uri)
        })
        .layer(from_fn_with_state(gateway.clone(), with_room))
        .layer(from_fn_with_state(gateway.clone(), origin::guard))
        .with_state(gateway)
}

/// Browsers are led to the console.
async fn enter(headers: HeaderMap, method: Method, uri: Uri) -> Response {
    match console::is_browser(&headers) {
        true => console::entrance(),
        false => not_found(StatusCode::METHOD_NOT_ALLOWED, &method, &uri),
    }
}

/// The refusal of a request that a web page may have sent, in the form that SDKs read.
pub(super) fn forbidden(message: &str) -> Response {
    let error = Error::common(Common::AccessDenied, message);
    let answer = Answer::error(&error, &uuid::Uuid::new_v4().to_string());
    written(Answer { status: StatusCode::FORBIDDEN.as_u16(), ..answer })
}

/// Answers only when there is room for the answer.
async fn with_room(
    State(gateway): State<Arc<Gateway>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let is_lambda = lambda::is_path(request.uri());
    match gateway.answers.hold(next.run(request).await).await {
        Ok(response) => response,
        Err(NoRoom) if is_lambda => lambda::throttled(),
        Err(NoRoom) => {
            let error = Error::common(Common::Throttling, "Rate exceeded");
            written(Answer::error(&error, &uuid::Uuid::new_v4().to_string()))
        }
    }
}

/// Alive and able to write. The server listens only once the engines have started.
async fn health(State(gateway): State<Arc<Gateway>>) -> Response {
    match gateway.service.failure() {
        None => (StatusCode::OK, "{\"status\":\"ok\"}\n").into_response(),
        Some(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

/// Able to serve now, and what it does not continue. With access keys, only signed requests get names.
async fn ready(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> Response {
    if gateway.service.failure().is_some() {
        return health(State(gateway)).await;
    }
    // A database may be away for a while.
    if let Some(why) = gateway.service.trouble() {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response();
    }
    let (head, _) = request.into_parts();
    let is_named = gateway.authenticate(&head, &[], "states").is_ok();
    let quarantined = quarantine::summary(&gateway.service, is_named).await;
    let body = json!({ "status": "ready", "quarantined": quarantined });
    (StatusCode::OK, format!("{body}\n")).into_response()
}

/// The answer to requests that no route has, in the form that SDKs read.
fn not_found(status: StatusCode, method: &Method, uri: &Uri) -> Response {
    if let Some(refused) = lambda::unsupported(method, uri) {
        return refused;
    }
    let path: String = uri.path().chars().take(100).collect();
    let message = format!("nothing at '{path}': requests are POSTs to '/'");
    let error = Error::common(Common::UnknownOperation, message);
    let answer = Answer::error(&error, &uuid::Uuid::new_v4().to_string());
    written(Answer { status: status.as_u16(), ..answer })
}

async fn call(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> Response {
    let request_id = uuid::Uuid::new_v4().to_string();
    written(
        gateway
            .answer(request, &request_id)
            .await
            .unwrap_or_else(|error| Answer::error(&error, &request_id)),
    )
}

/// A request to the URL of a queue, which begins with an account.
async fn call_queue(gateway: State<Arc<Gateway>>, request: Request<Body>) -> Response {
    let account = request.uri().path().split('/').nth(1).unwrap_or_default();
    if account.is_empty() || !account.bytes().all(|byte| byte.is_ascii_digit()) {
        return not_found(StatusCode::NOT_FOUND, request.method(), request.uri());
    }
    call(gateway, request).await
}

/// The prefix of the targets of our own operations.
const OWN: &str = "Everstep.";

impl Gateway {
    /// An operation of our own.
    async fn operate(
        &self,
        operation: &str,
        body: Value,
        request_id: &str,
    ) -> Result<Answer, Error> {
        if operation == "DescribeStory" {
            let output = self.service.describe_story(&body).await?;
            return Ok(Answer::own(200, &output, request_id));
        }
        Ok(match self.service.operate(operation, body).await {
            Ok(output) => Answer::own(200, &output, request_id),
            Err(refusal) => {
                let body = json!({ "__type": refusal.name, "message": refusal.message });
                Answer::own(refusal.status, &body, request_id)
            }
        })
    }

    async fn answer(&self, request: Request<Body>, request_id: &str) -> Result<Answer, Error> {
        let (head, body) = request.into_parts();
        let bytes_max = self.bounds.body_bytes;
        let body = self.body(body, bytes_max).await.map_err(|broken| broken.error(bytes_max))?;
        let target = text(&head.headers, "x-amz-target");
        if let Some(operation) = target.and_then(|target| target.strip_prefix(OWN)) {
            self.admit(&head, body.bytes(), "states")?;
            let asked = protocol::read(body.bytes())?;
            drop(body);
            return self.operate(operation, asked, request_id).await;
        }
        if let Some(operation) = sqs::operation(&head) {
            return self.answer_sqs(operation, &head, body, request_id).await;
        }
        if sqs::is_query(&head, body.bytes()) {
            return Ok(self.answer_sqs_query(&head, body, request_id).await);
        }
        let operation = protocol::route(target, text(&head.headers, "content-type"))?;
        self.admit(&head, body.bytes(), "states")?;
        let asked = protocol::read(body.bytes())?;
        drop(body);
        let output = self.service.call(operation, &asked).await?;
        Ok(Answer::success(operation, &output, request_id))
    }

    /// Why nobody can log in here, if so: a secret does not travel in the clear.
    pub(super) fn login_obstacle(&self) -> Option<&'static str> {
        let is_safe = self.encrypted || self.hosts.on_loopback;
        (!is_safe).then_some(
            "This server is reached without encryption. Start it with --tls-cert and --tls-key, or let it listen on \
             loopback behind a proxy that encrypts, with --allow-host NAME.",
        )
    }

    pub(super) fn log(&self, line: &str) {
        if let Some(log) = &self.log {
            log(line);
        }
    }

    pub(super) async fn body(&self, body: Body, bytes_max: usize) -> Result<Received<'_>, Broken> {
        let received = receive(body, bytes_max, &self.room);
        tokio::time::timeout(self.bounds.read_timeout, received)
            .await
            .unwrap_or(Err(Broken::TooSlow))
    }

    /// Lets a request in whose sender may ask, unless it would only wait for a store that is away.
    pub(super) fn admit(
        &self,
        head: &Parts,
        body: &[u8],
        service: &'static str,
    ) -> Result<(), Error> {
        self.authenticate(head, body, service)?;
        match self.service.trouble() {
            None => Ok(()),
            Some(why) => {
                let message = format!("the database is away: {why}; retry");
                Err(Error::common(Common::ServiceUnavailable, message))
            }
        }
    }

    /// Checks the signature of a request, if there are access keys.
    fn authenticate(&self, head: &Parts, body: &[u8], service: &'static str) -> Result<(), Error> {
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
        let policy =
            Policy { region: None, service, skew_ms: SKEW_MS, unsigned_payload: self.encrypted };
        everstep_signature::verify(&request, &self.keys, self.service.now_ms(), &policy)?;
        Ok(())
    }
}

fn split(uri: &Uri) -> (&str, &str) {
    (uri.path(), uri.query().unwrap_or_default())
}

pub(super) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn written(answer: Answer) -> Response {
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    response.body(answer.body.into()).expect("its headers are plain text")
}
