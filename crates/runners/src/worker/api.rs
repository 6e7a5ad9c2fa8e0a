//! The Lambda Runtime API for one process: a listener of its own, so that every request on it comes from this
//! process, or from one that it has started.

use std::convert::Infallible;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::answer::{Answer, refusal};
use crate::error::RESPONSE_BYTES_MAX;

const ROOT: &str = "/2018-06-01/runtime/";
/// The largest description of an error that is kept.
const ERROR_BYTES_MAX: usize = 1 << 20;
/// What is too large is read to its end, so that it can be answered, but not for ever.
const IGNORED_BYTES_MAX: usize = 256 << 20;

/// A request of the process, with the way to answer it.
pub(super) struct Received {
    pub(super) request: ApiRequest,
    pub(super) reply: oneshot::Sender<Answer>,
}

pub(super) enum ApiRequest {
    Next,
    Response { id: String, body: Sent },
    Error { id: String, body: Bytes, named: Option<String> },
    InitError { body: Bytes, named: Option<String> },
}

/// A response as far as it could be taken.
pub(super) enum Sent {
    Whole(Bytes),
    TooLarge,
    /// It broke off with an error in the trailers of a streamed response.
    Failed {
        named: String,
        body: Bytes,
    },
}

/// Accepts connections until it is dropped; open ones last until the process closes them.
pub(super) struct Api {
    pub(super) address: String,
    acceptor: AbortHandle,
}

impl Api {
    pub(super) async fn open() -> io::Result<(Self, mpsc::Receiver<Received>)> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?.to_string();
        // Few: a process does one thing at a time.
        let (sender, requests) = mpsc::channel(8);
        let acceptor = tokio::spawn(accept(listener, sender)).abort_handle();
        Ok((Self { address, acceptor }, requests))
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// No client of the Runtime API opens more connections.
const CONNECTIONS_MAX: usize = 32;

async fn accept(listener: TcpListener, requests: mpsc::Sender<Received>) {
    let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
    while let Ok(slot) = slots.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors: others may be given back.
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let requests = requests.clone();
        tokio::spawn(async move {
            serve(stream, requests).await;
            drop(slot);
        });
    }
}

async fn serve(stream: TcpStream, requests: mpsc::Sender<Received>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let requests = requests.clone();
        async move { Ok::<_, Infallible>(answer(request, &requests).await) }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, requests: &mpsc::Sender<Received>) -> Answer {
    let Some(request) = read(request).await else {
        return refusal(StatusCode::NOT_FOUND, "InvalidPath", "there is nothing here");
    };
    let (reply, answer) = oneshot::channel();
    let gone = || refusal(StatusCode::FORBIDDEN, "InvalidStateTransition", "the worker has ended");
    if requests.send(Received { request, reply }).await.is_err() {
        return gone();
    }
    answer.await.unwrap_or_else(|_| gone())
}

async fn read(request: Request<Incoming>) -> Option<ApiRequest> {
    let path = request.uri().path().strip_prefix(ROOT)?.to_owned();
    let (parts, body) = request.into_parts();
    let named = header(&parts.headers, "lambda-runtime-function-error-type");
    let parts_of_path: Vec<&str> = path.split('/').collect();
    match (&parts.method, parts_of_path.as_slice()) {
        (&Method::GET, ["invocation", "next"]) => Some(ApiRequest::Next),
        (&Method::POST, ["invocation", id, "response"]) => {
            let id = (*id).to_owned();
            Some(ApiRequest::Response { id, body: response(body).await? })
        }
        (&Method::POST, ["invocation", id, "error"]) => {
            let id = (*id).to_owned();
            Some(ApiRequest::Error { id, body: collect(body, ERROR_BYTES_MAX).await?.bytes, named })
        }
        (&Method::POST, ["init", "error"]) => {
            Some(ApiRequest::InitError { body: collect(body, ERROR_BYTES_MAX).await?.bytes, named })
        }
        _ => None,
    }
}

async fn response(body: Incoming) -> Option<Sent> {
    let collected = collect(body, RESPONSE_BYTES_MAX).await?;
    if let Some(named) = header(&collected.trailers, "lambda-runtime-function-error-type") {
        let body = header(&collected.trailers, "lambda-runtime-function-error-body");
        let body = body.and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
        return Some(Sent::Failed { named, body: body.into() });
    }
    Some(if collected.cut { Sent::TooLarge } else { Sent::Whole(collected.bytes) })
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

struct Collected {
    bytes: Bytes,
    trailers: HeaderMap,
    cut: bool,
}

/// Reads a body to its end and keeps so much of it; nothing if it breaks off.
async fn collect(mut body: Incoming, most: usize) -> Option<Collected> {
    let mut bytes = Vec::with_capacity(body.size_hint().lower().min(most as u64) as usize);
    let mut trailers = HeaderMap::new();
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        match frame.ok()?.into_data().map_err(Frame::into_trailers) {
            Ok(data) => {
                read += data.len();
                bytes.extend_from_slice(&data[..data.len().min(most - bytes.len())]);
            }
            Err(Ok(found)) => trailers = found,
            Err(Err(_)) => {}
        }
        if read > IGNORED_BYTES_MAX {
            break;
        }
    }
    Some(Collected { cut: read > bytes.len(), bytes: bytes.into(), trailers })
}
