//! The HTTP server: bytes in, bytes out, and bounds on both.
//!
//! A connection costs a slot until it closes, a request its body until it is answered. Whoever is too slow
//! to send either is cut off. What a request means is not known here.

mod body;
mod handler;
mod lambda;
mod origin;
mod tls;

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

pub use tls::{Tls, TlsError};

/// How a server listens.
#[derive(Clone, Default)]
pub struct Listening {
    /// Who may call; nobody is asked if there are none.
    pub keys: Keys,
    pub tls: Option<Tls>,
    pub bounds: Bounds,
}

#[derive(Debug, Clone)]
pub struct Bounds {
    /// Connections at a time; more have to wait to be accepted.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of all bodies that are being received.
    pub bodies_bytes: usize,
    /// Time for a TLS handshake, for the head of a request, and for its body.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        // A definition may have a megabyte, and as a JSON string it can be twice as long.
        Self {
            connections: 10_000,
            body_bytes: 4 << 20,
            bodies_bytes: 128 << 20,
            patience: Duration::from_secs(20),
        }
    }
}

/// How long requests that are being answered may take when the server stops.
const FAREWELL: Duration = Duration::from_secs(10);

/// Serves until `stop`; then takes nothing new and finishes what it has begun.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    listening: Listening,
    stop: impl Future<Output = ()>,
) {
    let on_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let router = handler::router(service, &listening, on_loopback);
    let slots = Arc::new(Semaphore::new(listening.bounds.connections));
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
            // Out of file descriptors, or the caller has gone already: others may yet come.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (router, listening, stopped) = (router.clone(), listening.clone(), stopped.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            match &listening.tls {
                None => converse(stream, from, router, &listening.bounds, stopped).await,
                Some(tls) => {
                    let shaken = tls.accept(stream);
                    if let Ok(Ok(stream)) =
                        tokio::time::timeout(listening.bounds.patience, shaken).await
                    {
                        converse(stream, from, router, &listening.bounds, stopped).await;
                    }
                }
            }
            drop(slot);
        });
    }
    drop(stopped);
    drop(listener);
    let _ = stopping.send(());
    let _ = tokio::time::timeout(FAREWELL, stopping.closed()).await;
}

/// Answers the requests of one connection.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    _from: SocketAddr,
    router: axum::Router,
    bounds: &Bounds,
    mut stopped: watch::Receiver<()>,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.patience)
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
