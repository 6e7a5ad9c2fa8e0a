//! Changes of a page that is open, as a stream of server-sent events.
//!
//! A stream looks at its page now and then and sends the fragments that have changed: whole ones, so that it does not
//! matter which were missed. What was sent and not read is at most one message; nothing waits for a slow reader. The pages
//! of executions are only made again when the journal is longer.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::answer::Failure;
use super::render;
use super::view::{Address, View};
use super::views::execution;
use crate::http::handler::Gateway;

/// Streams that are open at the same time; further pages ask now and then.
const STREAMS_MAX: usize = 64;
/// How often an execution is looked at, and how often any other page.
const EXECUTION_INTERVAL: Duration = Duration::from_millis(250);
const INTERVAL: Duration = Duration::from_secs(2);
/// How often something is sent, so that a connection that is gone is noticed.
const HEARTBEAT: Duration = Duration::from_secs(10);

pub(in crate::http) struct Streams {
    free: Arc<Semaphore>,
    /// Whether the server stops.
    stopping: watch::Receiver<bool>,
}

impl Streams {
    pub(in crate::http) fn new(stopping: watch::Receiver<bool>) -> Self {
        Self { free: Arc::new(Semaphore::new(STREAMS_MAX)), stopping }
    }
}

/// The stream of changes of the page that the query names.
pub(super) async fn open(
    gateway: &Arc<Gateway>,
    address: &Address,
    headers: &HeaderMap,
) -> Result<Response, Failure> {
    let page = Address::parse(address.query.text("page"));
    let page = page.filter(|page| page.view().is_some());
    let page = page.ok_or_else(|| Failure::not_found("There is no such page."))?;
    let Ok(slot) = gateway.streams.free.clone().try_acquire_owned() else {
        let message = format!("{STREAMS_MAX} pages are being kept up to date already.");
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "Too many streams", message));
    };
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let seen = seen.or(address.query.some("since")).map(str::to_owned);
    let (sender, receiver) = mpsc::channel(1);
    let stream = Stream { gateway: gateway.clone(), page, sender, sent: HashMap::new(), seen };
    tokio::spawn(stream.run());
    let mut response = Response::new(Body::new(Events { receiver, _slot: slot }));
    let answer = response.headers_mut();
    answer.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies must not wait for more.
    answer.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

struct Stream {
    gateway: Arc<Gateway>,
    page: Address,
    sender: mpsc::Sender<Bytes>,
    /// The digests of the fragments that the page has.
    sent: HashMap<&'static str, u64>,
    /// The version that the page had before its connection was lost.
    seen: Option<String>,
}

impl Stream {
    async fn run(mut self) {
        let mut stopping = self.gateway.streams.stopping.clone();
        tokio::select! {
            () = self.follow() => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }

    async fn follow(&mut self) {
        let is_execution = matches!(self.page.view(), Some(View::Execution { .. }));
        let interval = if is_execution { EXECUTION_INTERVAL } else { INTERVAL };
        let mut known = self.seen.take();
        let mut last_sent = tokio::time::Instant::now();
        // The browser reconnects after this time.
        if self.send("retry: 1000\n\n".to_owned()).await.is_err() {
            return;
        }
        loop {
            let version = self.version(is_execution).await;
            if version.is_none() || version != known {
                if let Some(message) = self.changes(version.as_deref()).await {
                    if self.send(message).await.is_err() {
                        return;
                    }
                    last_sent = tokio::time::Instant::now();
                }
                known = version;
            }
            if last_sent.elapsed() >= HEARTBEAT {
                if self.send(": still here\n\n".to_owned()).await.is_err() {
                    return;
                }
                last_sent = tokio::time::Instant::now();
            }
            tokio::time::sleep(interval).await;
        }
    }

    /// Changes when the page does. Nothing if that is not known without making the page.
    async fn version(&self, is_execution: bool) -> Option<String> {
        let Some(View::Execution { machine, name }) = self.page.view().filter(|_| is_execution)
        else {
            return None;
        };
        execution::version(&self.gateway, &machine, &name).await
    }

    /// The fragments that the page does not have, as one message.
    async fn changes(&mut self, version: Option<&str>) -> Option<String> {
        let page = render(&self.gateway, &self.page).await.ok()?;
        let mut changed = serde_json::Map::new();
        for (id, html) in everstep_console::fragments(page) {
            let mut hasher = DefaultHasher::new();
            html.hash(&mut hasher);
            let digest = hasher.finish();
            if self.sent.insert(id, digest) != Some(digest) {
                changed.insert(id.to_owned(), html.into());
            }
        }
        if changed.is_empty() {
            return None;
        }
        let message = json!({ "now": self.gateway.service.now_ms(), "fragments": changed });
        let id = version.map(|version| format!("id: {version}\n")).unwrap_or_default();
        // JSON has no line ends of its own.
        Some(format!("{id}event: fragments\ndata: {message}\n\n"))
    }

    async fn send(&self, message: String) -> Result<(), ()> {
        self.sender.send(message.into()).await.map_err(|_| ())
    }
}

/// The body of a stream. It holds its slot until the connection is closed.
struct Events {
    receiver: mpsc::Receiver<Bytes>,
    _slot: OwnedSemaphorePermit,
}

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
