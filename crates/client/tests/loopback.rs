//! The client against a real server on loopback, which says what a test has told it to say.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use everstep_client::{
    Client, Credentials, Error, HeaderName, HeaderValue, Kind, Method, Options, Request, Signing,
};
use everstep_signature::{Keys, Policy, SKEW_MS, verify};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-one: 1\r\n\r\nhello";

/// Says the same to every request. A connection ends when its client has gone.
struct Server {
    address: SocketAddr,
    /// Number of the connection, and all of the request.
    heard: UnboundedReceiver<(usize, String)>,
}

impl Server {
    async fn saying(answer: &'static str) -> Self {
        Self::listening(answer, None).await
    }

    async fn listening(answer: &'static str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, heard) = unbounded_channel();
        tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (sender, tls) = (sender.clone(), tls.clone());
                let hear = move |request| {
                    let _ = sender.send((connection, request));
                };
                tokio::spawn(async move {
                    match tls {
                        None => converse(stream, answer, hear).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                converse(stream, answer, hear).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, heard }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// An answer that says nothing of its length ends with the connection, and so does one that breaks off.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &str,
    hear: impl Fn(String),
) {
    while let Some(request) = read(&mut stream).await {
        hear(request);
        if stream.write_all(answer.as_bytes()).await.is_err() || answer != HELLO {
            return;
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).map_or(0, |rest| {
                rest.split("\r\n").next().unwrap_or_default().parse().unwrap_or(0)
            });
            if body.len() >= length {
                return Some(text);
            }
        }
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
}

fn client() -> Client {
    Client::new(Options { response_bytes_max: 100, ..Options::default() }).unwrap()
}

fn get(url: impl Into<String>) -> Request {
    Request::new(Method::GET, url)
}

async fn failed(answer: &'static str) -> (Error, String) {
    let server = Server::saying(answer).await;
    let error = client().send(get(server.url("/f?secret=1"))).await.unwrap_err();
    let message = error.to_string().replace(&server.address.to_string(), "ADDRESS");
    (error, message)
}

/// How a call fails that is answered so.
async fn check(answer: &'static str, kind: Kind, expected: &str) {
    let (error, message) = failed(answer).await;
    assert_eq!((error.kind(), &*message), (kind, expected));
}

#[tokio::test]
async fn what_is_asked_and_answered() {
    let mut server = Server::saying(HELLO).await;
    let request = Request::new(Method::POST, server.url("/a%20b?c=d"))
        .header(HeaderName::from_static("x-two"), HeaderValue::from_static("2"))
        .body("the body");
    let answer = client().send(request).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-one"], "1");
    assert_eq!(answer.body, "hello");
    let (_, heard) = server.heard.recv().await.unwrap();
    assert_eq!(
        heard,
        format!(
            "POST /a%20b?c=d HTTP/1.1\r\nx-two: 2\r\nhost: {}\r\ncontent-length: 8\r\n\r\nthe body",
            server.address
        )
    );
}

#[tokio::test]
async fn a_status_is_no_error() {
    let server = Server::saying("HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n");
    let answer = client().send(get(server.await.url("/"))).await.unwrap();
    assert_eq!(answer.status, 302);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let mut server = Server::saying(HELLO).await;
    let client = client();
    for _ in 0..3 {
        client.send(get(server.url("/"))).await.unwrap();
        assert_eq!(server.heard.recv().await.unwrap().0, 0);
    }
}

#[tokio::test]
async fn nobody_is_there() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let error = client().send(get(format!("http://{address}/"))).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Connect);
    assert_eq!(
        error.to_string(),
        format!("http://{address} cannot be reached: connection refused")
    );
}

#[tokio::test]
async fn nobody_answers() {
    // Accepted by the system, and by nobody else.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let request = get(format!("http://{address}/")).timeout(Duration::from_millis(20));
    let error = client().send(request).await.unwrap_err();
    assert_eq!(error.kind(), Kind::TimedOut);
    assert_eq!(error.to_string(), format!("http://{address} did not answer within 20ms"));
}

#[tokio::test]
async fn answers_that_are_none() {
    check(
        "",
        Kind::Broken,
        "http://ADDRESS/f did not answer: connection closed before message completed",
    )
    .await;
    check(
        "SSH-2.0-OpenSSH_9.6\r\n",
        Kind::Broken,
        "http://ADDRESS/f did not answer: invalid HTTP version parsed",
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
        Kind::Broken,
        "the answer of http://ADDRESS/f broke off: end of file before message length reached",
    )
    .await;
}

#[tokio::test]
async fn answers_that_are_too_long() {
    let expected = "the answer of http://ADDRESS/f is longer than 100 bytes";
    let long = format!("HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n{}", "x".repeat(101));
    check(long.leak(), Kind::TooLong, expected).await;
    // Of unknown length.
    let endless = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(101));
    check(endless.leak(), Kind::TooLong, expected).await;
    let fits = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(100));
    let server = Server::saying(fits.leak()).await;
    assert_eq!(client().send(get(server.url("/"))).await.unwrap().body.len(), 100);
}

#[tokio::test]
async fn a_signed_request_is_let_in() {
    let mut server = Server::saying(HELLO).await;
    let credentials = Credentials {
        access_key_id: "AKID".to_owned(),
        secret_access_key: "secret".to_owned(),
        session_token: Some("token".to_owned()),
    };
    let (region, service) = ("eu-west-1".to_owned(), "lambda".to_owned());
    let request = Request::new(Method::POST, server.url("/2015/arn%3Aaws/x?b=2&a=1"))
        .header(HeaderName::from_static("x-amz-target"), HeaderValue::from_static("T"))
        .body("{}")
        .signed(Signing { credentials, region, service });
    client().send(request).await.unwrap();

    let (_, heard) = server.heard.recv().await.unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    let (first, headers) = head.split_once("\r\n").unwrap();
    let target = first.split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap();
    let headers: Vec<_> = headers
        .split("\r\n")
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name, value.as_bytes()))
        .collect();
    let request = everstep_signature::Request {
        method: "POST",
        path,
        query,
        headers: &headers,
        body: body.as_bytes(),
    };
    let keys = Keys::new([("AKID".to_owned(), "secret".to_owned())]).unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let policy = Policy {
        region: Some("eu-west-1"),
        service: "lambda",
        skew_ms: SKEW_MS,
        unsigned_payload: false,
    };
    let caller = verify(&request, &keys, now.as_millis().try_into().unwrap(), &policy).unwrap();
    assert_eq!(caller.access_key_id, "AKID");
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// For `localhost`, by the authority `ca.pem`.
fn tls() -> TlsAcceptor {
    let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn encrypted() {
    let server = Server::listening(HELLO, Some(tls())).await;
    let url = format!("https://localhost:{}/", server.address.port());
    let trusting =
        |name| Client::new(Options { ca_file: Some(file(name)), ..Options::default() }).unwrap();
    assert_eq!(trusting("ca.pem").send(get(&*url)).await.unwrap().body, "hello");
    let error = trusting("other-ca.pem").send(get(&*url)).await.unwrap_err();
    let expected = "cannot be reached: invalid peer certificate: UnknownIssuer";
    assert_eq!(error.to_string(), format!("{} {expected}", url.trim_end_matches('/')));
    assert_eq!(error.kind(), Kind::Connect);
}

#[test]
fn files_of_certificates_that_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    let refused = || {
        let error = Client::new(Options { ca_file: Some(file.clone()), ..Options::default() });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), Kind::Trust);
        error.to_string().replace(&file.display().to_string(), "FILE")
    };
    assert!(refused().starts_with("FILE cannot be trusted: "));
    std::fs::write(&file, "nothing").unwrap();
    assert_eq!(refused(), "FILE cannot be trusted: it holds no certificate in PEM");
}
