//! An HTTP/1.1 client: connections are reused, every request has a time limit and every answer a maximum size,
//! and requests can be signed.
//!
//! A status is not an error here: the caller knows what it means. Redirects are not followed, because a signature is
//! valid for one host only. Proxies are not used. A request is not retried once any of it may have been read.

mod address;
mod error;
mod reach;
mod request;
mod tls;

pub use error::{Error, Kind};
pub use everstep_signature::{Credentials, Signing};
pub use hyper::body::Bytes;
pub use hyper::header::{HeaderMap, HeaderName, HeaderValue};
pub use hyper::{Method, StatusCode};
pub use request::{Request, Response};

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::Semaphore;

use address::Address;
use reach::Resolver;
use tls::Trust;

/// Whether requests can be made to a URL.
pub fn check_url(url: &str) -> Result<(), Error> {
    Address::read(url).map(|_| ())
}

/// How requests are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Until a connection is established, without TLS.
    pub connect_timeout: Duration,
    /// From the first byte sent to the last one received; a request can have its own.
    pub timeout: Duration,
    /// A longer body of an answer is an error.
    pub response_bytes_max: usize,
    /// Requests under way at the same time; further ones wait, and that counts as part of their time.
    pub requests_max: usize,
    /// Whether link-local addresses may be called, and those of metadata services.
    pub link_local: bool,
    /// Certificates of authorities to trust besides those of the system, PEM.
    pub ca_file: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(60),
            response_bytes_max: 16 << 20,
            requests_max: Semaphore::MAX_PERMITS,
            link_local: true,
            ca_file: None,
        }
    }
}

type Connector = HttpConnector<Resolver>;
type Pool<C> = legacy::Client<C, Full<Bytes>>;

/// Sends requests. Share it: it holds the connections.
#[derive(Debug)]
pub struct Client {
    options: Options,
    trust: Trust,
    turns: Semaphore,
    plain: Pool<Connector>,
    /// Created on first use: reading the system's certificates takes a while.
    encrypted: OnceLock<Result<Pool<HttpsConnector<Connector>>, String>>,
}

impl Client {
    /// Fails only if the file of certificates cannot be used.
    pub fn new(options: Options) -> Result<Self, Error> {
        let trust = Trust::read(options.ca_file.as_deref())?;
        let plain = pool(connector(&options));
        let turns = Semaphore::new(options.requests_max.min(Semaphore::MAX_PERMITS));
        Ok(Self { options, trust, turns, plain, encrypted: OnceLock::new() })
    }

    /// Must be called within a Tokio runtime.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        let address = Address::read(&request.url)?;
        // An address is not resolved.
        if !self.options.link_local && address.ip().is_some_and(reach::is_local_to_link) {
            return Err(Error::refused(&address));
        }
        let timeout = request.timeout.unwrap_or(self.options.timeout);
        let made = request.made(&address, now_ms())?;
        match tokio::time::timeout(timeout, self.exchange(&address, made)).await {
            Ok(answered) => answered,
            Err(_) => Err(Error::timed_out(&address, timeout)),
        }
    }

    async fn exchange(
        &self,
        address: &Address,
        request: hyper::Request<Full<Bytes>>,
    ) -> Result<Response, Error> {
        // It is never closed.
        let _turn = self.turns.acquire().await;
        let answer = if address.encrypted {
            self.encrypted(address)?.request(request).await
        } else {
            self.plain.request(request).await
        };
        let (head, body) = answer.map_err(|error| Error::exchange(address, &error))?.into_parts();
        let body = self.collect(address, body).await?;
        Ok(Response { status: head.status, headers: head.headers, body })
    }

    async fn collect(&self, address: &Address, body: Incoming) -> Result<Bytes, Error> {
        let max = self.options.response_bytes_max;
        let body = Limited::new(body, max).collect().await;
        body.map(http_body_util::Collected::to_bytes)
            .map_err(|error| Error::body(address, error.as_ref(), max))
    }

    fn encrypted(&self, address: &Address) -> Result<&Pool<HttpsConnector<Connector>>, Error> {
        let made = self.encrypted.get_or_init(|| {
            let mut plain = connector(&self.options);
            plain.enforce_http(false);
            Ok(pool(HttpsConnector::from((plain, self.trust.config()?))))
        });
        made.as_ref().map_err(|why| Error::trust(&address.shown, why))
    }
}

fn connector(options: &Options) -> Connector {
    let mut connector = HttpConnector::new_with_resolver(Resolver::new(options.link_local));
    connector.set_connect_timeout(Some(options.connect_timeout));
    connector.set_nodelay(true);
    connector
}

fn pool<C: Clone + legacy::connect::Connect>(connector: C) -> Pool<C> {
    legacy::Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
