//! A Lambda Runtime API that hands out the events of a case and writes down what it is asked.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::Notify;

use crate::cases::{Case, Event};

const ROOT: &str = "/2018-06-01/runtime";
const XRAY: &str = "Lambda-Runtime-Function-Xray-Error-Cause";
/// The headers that matter, in the order in which they are shown.
pub(crate) const HEADERS: [&str; 3] = ["Content-Type", "Lambda-Runtime-Function-Error-Type", XRAY];
/// For machines that build and test at once.
const PATIENCE: Duration = Duration::from_secs(120);

/// All of a case, as it came.
pub(crate) struct Raw {
    pub(crate) requests: Vec<RawRequest>,
    pub(crate) ending: String,
    pub(crate) user_agents: BTreeSet<String>,
}

pub(crate) struct RawRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

struct Api {
    refusal: Option<StatusCode>,
    state: Mutex<State>,
    /// Asked for an event when there is none left.
    is_idle: Notify,
}

struct State {
    events: VecDeque<(usize, Event)>,
    requests: Vec<RawRequest>,
    user_agents: BTreeSet<String>,
}

/// Runs a client until it has nothing more to do, or ends.
pub(crate) async fn record(case: &Case, command: impl FnOnce(SocketAddr) -> Command) -> Raw {
    // It listens before the client starts: some give up at once.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut command = command(listener.local_addr().unwrap());
    let api = Arc::new(Api::new(case));
    let serving = tokio::spawn(serve(listener, api.clone()));
    let mut client = command.kill_on_drop(true).spawn().unwrap();
    let ending = tokio::select! {
        status = client.wait() => ending(status.unwrap()),
        () = api.is_idle.notified() => "waits for an event".to_owned(),
        () = tokio::time::sleep(PATIENCE) => "never".to_owned(),
    };
    drop(client);
    serving.abort();
    let mut state = api.state.lock().unwrap();
    let (requests, user_agents) = (&mut state.requests, BTreeSet::new());
    let requests = std::mem::take(requests);
    Raw { requests, ending, user_agents: std::mem::replace(&mut state.user_agents, user_agents) }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

async fn serve(listener: TcpListener, api: Arc<Api>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let api = api.clone();
        let answer = service_fn(move |request| {
            let api = api.clone();
            async move { Ok::<_, Infallible>(api.answer(request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), answer));
    }
}

impl Api {
    fn new(case: &Case) -> Self {
        let events = case.events.iter().cloned().enumerate().collect();
        let state = State { events, requests: Vec::new(), user_agents: BTreeSet::new() };
        let refusal = case.refusal.map(|status| StatusCode::from_u16(status).unwrap());
        Self { refusal, state: Mutex::new(state), is_idle: Notify::new() }
    }

    async fn answer(&self, request: hyper::Request<Incoming>) -> Response<Full<Bytes>> {
        let is_next = request.method() == Method::GET;
        self.write_down(request).await;
        if is_next {
            return self.next().await;
        }
        let mut answer = Response::new(Full::new(Bytes::from_static(br#"{"status":"OK"}"#)));
        *answer.status_mut() = self.refusal.unwrap_or(StatusCode::ACCEPTED);
        answer
    }

    async fn write_down(&self, request: hyper::Request<Incoming>) {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let value = |name: &str| {
            head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
        };
        let headers =
            HEADERS.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?.into_owned())));
        let (method, path) = (head.method.to_string(), head.uri.path());
        let path = path.strip_prefix(ROOT).unwrap_or(path).to_owned();
        let request = RawRequest { method, path, headers: headers.collect(), body };
        let mut state = self.state.lock().unwrap();
        state.user_agents.extend(value("User-Agent").map(|agent| agent.into_owned()));
        state.requests.push(request);
    }

    async fn next(&self) -> Response<Full<Bytes>> {
        let event = self.state.lock().unwrap().events.pop_front();
        let Some((index, event)) = event else {
            self.is_idle.notify_one();
            return std::future::pending().await;
        };
        let deadline =
            if event.is_late { Duration::from_secs(1) } else { now() + Duration::from_secs(60) };
        let mut answer = Response::builder()
            .header("Content-Type", "application/json")
            .header("Lambda-Runtime-Aws-Request-Id", format!("r-{}", index + 1))
            .header("Lambda-Runtime-Deadline-Ms", deadline.as_millis().to_string())
            .header(
                "Lambda-Runtime-Invoked-Function-Arn",
                "arn:aws:lambda:us-east-1:123456789012:function:f",
            );
        for (name, value) in event.headers {
            answer = answer.header(*name, *value);
        }
        answer.body(Full::new(event.body.into())).unwrap()
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}
