//! The HTTP server: bytes in, bytes out, and limits on both.
//!
//! A connection holds a slot until it closes, a request the memory of its body until it is answered, and an answer its
//! own until it is written. Clients that send or read too slowly are disconnected. What a request means is not known
//! here.

mod answer;
mod body;
mod console;
mod handler;
mod lambda;
mod origin;
mod sqs;
mod tls;
mod triggers;
mod write_timeout;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use everstep_signature::Keys;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::service::Service;

use write_timeout::WriteTimeout;

pub use tls::{Tls, TlsError};

/// How the HTTP server listens.
#[derive(Clone, Default)]
pub struct Options {
    /// Access keys. Without any, requests need no signature.
    pub keys: Keys,
    pub tls: Option<Tls>,
    pub bounds: Bounds,
    /// The console; none if it is switched off.
    pub console: Option<Console>,
    /// Names in the header `Host` to answer besides those of this machine. Only on loopback are names checked.
    pub allowed_hosts: Vec<String>,
}

/// What the console needs to know.
#[derive(Clone)]
pub struct Console {
    /// Where this server is reached.
    pub url: String,
    /// Takes a line for each change, and each login.
    pub log: Log,
}

pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Debug, Clone)]
pub struct Bounds {
    /// Concurrent connections; further ones wait to be accepted.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of all bodies that are being received at the same time.
    pub bodies_bytes: usize,
    /// Time limit of a TLS handshake, of the head of a request, and of its body.
    pub read_timeout: Duration,
    /// Bytes of all answers that are being written at the same time.
    pub answers_bytes: usize,
    /// A peer that does not take what is written within this time is disconnected.
    pub write_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        // A definition may have a megabyte, and as a JSON string it can be twice as long.
        Self {
            connections: 10_000,
            body_bytes: 4 << 20,
            bodies_bytes: 128 << 20,
            read_timeout: Duration::from_secs(20),
            answers_bytes: 128 << 20,
            write_timeout: Duration::from_secs(20),
        }
    }
}

/// How long open requests may take when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until `stop`; then accepts no new connections and finishes open requests.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    options: Options,
    stop: impl Future<Output = ()>,
) {
    let on_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let (stop_streams, streams) = watch::channel(false);
    let router = handler::router(service, &options, on_loopback, streams);
    let slots = Arc::new(Semaphore::new(options.bounds.connections));
    let (stopping, stopped) = watch::channel(());
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            slot = slots.clone().acquire_owned() => match slot {
                Ok(slot) => tokio::select! {
                    () = &mut stop => break,
                    accepted = listener.accept() => accepted.map(|(stream, from)| (stream, from, slot)),
                },
                Err(_) => break,
            },
        };
        let Ok((stream, from, slot)) = accepted else {
            // Out of file descriptors, or the client has gone: later connections may succeed.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (router, options, stopped) = (router.clone(), options.clone(), stopped.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            match &options.tls {
                None => serve_connection(stream, from, router, &options.bounds, stopped).await,
                Some(tls) => {
                    let handshake = tls.accept(stream);
                    if let Ok(Ok(stream)) =
                        tokio::time::timeout(options.bounds.read_timeout, handshake).await
                    {
                        serve_connection(stream, from, router, &options.bounds, stopped).await;
                    }
                }
            }
            drop(slot);
        });
    }
    drop(stopped);
    drop(listener);
    // A page that is open would keep its connection for ever.
    stop_streams.send_replace(true);
    let _ = stopping.send(());
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, stopping.closed()).await;
}

/// Answers the requests of one connection.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    _from: SocketAddr,
    router: axum::Router,
    bounds: &Bounds,
    mut stopped: watch::Receiver<()>,
) {
    let stream = WriteTimeout::new(stream, bounds.write_timeout);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.read_timeout)
        .max_headers(100)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
