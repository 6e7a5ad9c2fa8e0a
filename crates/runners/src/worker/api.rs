//! The Lambda Runtime API for one process: a listener of its own, which refuses everybody else's connections. So
//! every request on it comes from this process, or from one that it has started.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

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
use super::peer::{self, Stranger};
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

/// A Runtime API before its process is there. Connections wait until it is known whose it is.
pub(super) struct Listener {
    pub(super) address: SocketAddrV4,
    listener: TcpListener,
}

impl Listener {
    pub(super) async fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port), listener })
    }

    /// Serves one process. `refused` is called for the first connection that is not its own.
    pub(super) fn serve(
        self,
        worker: u32,
        refused: impl FnOnce(Stranger) + Send + 'static,
    ) -> (Api, mpsc::Receiver<Received>) {
        // Few: a process does one thing at a time.
        let (sender, requests) = mpsc::channel(8);
        let acceptor = tokio::spawn(self.accept(worker, refused, sender)).abort_handle();
        (Api { acceptor }, requests)
    }
}

/// Accepts connections until it is dropped; open ones last until the process closes them.
pub(super) struct Api {
    acceptor: AbortHandle,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// No client of the Runtime API opens more connections.
const CONNECTIONS_MAX: usize = 32;

impl Listener {
    async fn accept(
        self,
        worker: u32,
        refused: impl FnOnce(Stranger),
        requests: mpsc::Sender<Received>,
    ) {
        let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
        let mut refused = Some(refused);
        while let Ok(slot) = slots.clone().acquire_owned().await {
            let Ok((stream, end)) = self.listener.accept().await else {
                // Out of file descriptors: others may be given back.
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                continue;
            };
            // One after the other: whoever connects a thousand times keeps one thread busy, at most.
            if let Err(stranger) = admit(worker, end, self.address).await {
                // Said once: the log is not for them to fill.
                if let Some(refused) = refused.take() {
                    refused(stranger);
                }
                continue;
            }
            let requests = requests.clone();
            tokio::spawn(async move {
                serve(stream, requests).await;
                drop(slot);
            });
        }
    }
}

async fn admit(worker: u32, end: SocketAddr, api: SocketAddrV4) -> Result<(), Stranger> {
    let SocketAddr::V4(end) = end else { return Err(Stranger::Gone) };
    let checked = tokio::task::spawn_blocking(move || peer::check(worker, end, api)).await;
    checked.unwrap_or_else(|error| Err(Stranger::Unknown(error.to_string())))
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
