//! Where records of invocations and failures of executions go that are not for functions: state machines,
//! URLs, files.
//!
//! Each is delivered until it has arrived, so it may arrive twice; its id is the same each time.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{Arc, Weak};
use std::time::Duration;

use everstep_api::Service;
use everstep_api::protocol::Operation;
use everstep_client::{Client, HeaderName, HeaderValue, Method, Request};
use everstep_interpreter::Limits;
use everstep_invocations::{Delivered, Delivery, Target};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::Surroundings;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Destinations {
    means: Arc<Means>,
    runtime: Handle,
}

struct Means {
    client: Arc<Client>,
    /// `arn:aws:states:us-east-1:123456789012`
    place: String,
    service: watch::Sender<Option<Weak<Service>>>,
}

impl Destinations {
    /// Must be called within a Tokio runtime.
    pub(super) fn new(client: Arc<Client>, around: &Surroundings<'_>) -> Self {
        let place = format!("arn:aws:states:{}:{}", around.region, around.account);
        let means = Arc::new(Means { client, place, service: watch::Sender::new(None) });
        Self { means, runtime: Handle::current() }
    }

    pub(super) fn attach(&self, service: &Arc<Service>) {
        self.means.service.send_replace(Some(Arc::downgrade(service)));
    }

    /// The service, when it is there; nothing if it is there no more.
    pub(super) async fn service(&self) -> Option<Arc<Service>> {
        self.means.service().await
    }

    /// Delivers a record. `id` is the same however often that is tried.
    pub(super) async fn send(
        &self,
        target: &Target,
        id: &str,
        record: &[u8],
    ) -> Result<(), String> {
        self.means.send(target, id, record).await
    }
}

impl everstep_invocations::Destinations for Destinations {
    fn deliver(&self, delivery: Delivery, done: Delivered) {
        let means = self.means.clone();
        self.runtime.spawn(async move {
            let Delivery { id, target, record, .. } = delivery;
            done(means.send(&target, &id.to_string(), &record).await);
        });
    }

    fn record_bytes_max(&self, target: &Target) -> Option<usize> {
        target.0.starts_with("stateMachine:").then(|| Limits::default().payload_bytes)
    }
}

impl Means {
    async fn send(&self, target: &Target, id: &str, record: &[u8]) -> Result<(), String> {
        let target = target.0.as_str();
        match target.split_once(':') {
            Some(("stateMachine", name)) => self.start(name, id, record).await,
            Some(("file", path)) => append(path.to_owned(), record.to_vec()).await,
            Some(("http" | "https", _)) => self.post(target, id, record).await,
            Some(("queue", name)) => Err(format!("queues such as '{name}' are not served yet")),
            _ => Err(format!("nobody here knows what '{target}' is")),
        }
    }

    async fn service(&self) -> Option<Arc<Service>> {
        let mut attached = self.service.subscribe();
        attached.wait_for(Option::is_some).await.ok()?.as_ref()?.upgrade()
    }

    /// The execution is named after the delivery: made twice, it starts one.
    async fn start(&self, name: &str, id: &str, record: &[u8]) -> Result<(), String> {
        let service = self.service().await.ok_or("the service of state machines stops")?;
        let body = json!({
            "stateMachineArn": format!("{}:stateMachine:{name}", self.place),
            "name": id,
            "input": String::from_utf8_lossy(record),
        });
        match service.call(Operation::StartExecution, &body).await {
            Ok(_) => Ok(()),
            Err(error) if error.name() == "ExecutionAlreadyExists" => Ok(()),
            Err(error) => Err(format!("{}: {}", error.name(), error.message())),
        }
    }

    async fn post(&self, url: &str, id: &str, record: &[u8]) -> Result<(), String> {
        let id = HeaderValue::from_str(id).map_err(|error| error.to_string())?;
        let json = HeaderValue::from_static("application/json");
        let request = Request::new(Method::POST, url)
            .header(HeaderName::from_static("content-type"), json)
            .header(HeaderName::from_static("idempotency-key"), id)
            .body(record.to_vec())
            .timeout(TIMEOUT);
        let response = self.client.send(request).await.map_err(|error| error.to_string())?;
        match response.status.is_success() {
            true => Ok(()),
            false => Err(format!("it answers {}", response.status)),
        }
    }
}

/// A line for each record, on the disk before it counts as delivered.
async fn append(path: String, mut record: Vec<u8>) -> Result<(), String> {
    record.push(b'\n');
    let write = move || -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.write_all(&record)?;
        file.sync_data()
    };
    let written = tokio::task::spawn_blocking(write).await;
    written.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
