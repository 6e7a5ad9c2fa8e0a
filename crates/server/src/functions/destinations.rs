//! Delivers records of invocations and notifications of failed executions to targets that are not functions: state
//! machines, queues, URLs, files.
//!
//! Delivery is at least once; the id is the same each time.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use everstep_api::protocol::Operation;
use everstep_client::{Client, HeaderName, HeaderValue, Method, Request};
use everstep_interpreter::Limits;
use everstep_invocations::{Delivered, Delivery, Target};
use serde_json::json;
use tokio::runtime::Handle;

use super::targets::KnownTargets;
use crate::Service;
use crate::queues::NotDelivered;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Destinations {
    means: Arc<Means>,
    runtime: Handle,
}

struct Means {
    client: Arc<Client>,
    service: Arc<Service>,
    targets: Arc<KnownTargets>,
}

impl Destinations {
    /// Must be called within a Tokio runtime.
    pub(crate) fn new(
        client: Arc<Client>,
        service: Arc<Service>,
        targets: Arc<KnownTargets>,
    ) -> Self {
        let means = Arc::new(Means { client, service, targets });
        Self { means, runtime: Handle::current() }
    }

    /// Delivers a record. `id` is the same at every attempt; `source` is the function or machine that it is about.
    pub(super) async fn send(
        &self,
        target: &Target,
        id: &str,
        record: &[u8],
        source: &str,
    ) -> Result<(), String> {
        self.means.send(target, id, record, source).await.map_err(|refused| refused.why)
    }
}

/// Why a record was not delivered.
struct Refused {
    why: String,
    /// A retry would be refused too.
    is_permanent: bool,
}

impl<T: Into<String>> From<T> for Refused {
    fn from(why: T) -> Self {
        Self { why: why.into(), is_permanent: false }
    }
}

impl everstep_invocations::Destinations for Destinations {
    fn deliver(&self, delivery: Delivery, done: Delivered) {
        let means = self.means.clone();
        self.runtime.spawn(async move {
            let Delivery { id, target, record, bare, function, .. } = delivery;
            let id = id.to_string();
            let sent = match means.send(&target, &id, &record, &function).await {
                Err(Refused { is_permanent: true, .. }) => {
                    means.send(&target, &id, &bare, &function).await
                }
                sent => sent,
            };
            done(sent.map_err(|refused| refused.why));
        });
    }

    fn record_bytes_max(&self, target: &Target) -> Option<usize> {
        match target {
            Target::StateMachine(_) => Some(Limits::default().payload_bytes),
            Target::Queue(_) => Some(everstep_sqs::MESSAGE_BYTES_MAX),
            _ => None,
        }
    }
}

impl Means {
    async fn send(
        &self,
        target: &Target,
        id: &str,
        record: &[u8],
        source: &str,
    ) -> Result<(), Refused> {
        match self.targets.resolve(target)? {
            Target::StateMachine(name) => self.start(&name, id, record).await,
            Target::File(path) => Ok(append(path, record.to_vec()).await?),
            Target::Http(url) => {
                let sent = self.post(&url, id, record).await;
                Ok(sent.map_err(|why| without_urls(&why))?)
            }
            Target::Queue(name) => self.queue(&name, id, record, source).await,
            Target::Function(_) | Target::Unresolved(_) => {
                Err(format!("unknown target '{target}'").into())
            }
        }
    }

    /// The execution is named after the delivery, so a repeated delivery does not start another.
    async fn start(&self, name: &str, id: &str, record: &[u8]) -> Result<(), Refused> {
        let body = json!({
            "stateMachineArn": self.service.machine_arn(name),
            "name": id,
            "input": String::from_utf8_lossy(record),
        });
        match self.service.call(Operation::StartExecution, &body).await {
            Ok(_) => Ok(()),
            Err(error) if error.name() == "ExecutionAlreadyExists" => Ok(()),
            Err(error) => Err(Refused {
                why: format!("{}: {}", error.name(), error.message()),
                is_permanent: error.name() == "InvalidExecutionInput",
            }),
        }
    }

    async fn queue(
        &self,
        name: &str,
        id: &str,
        record: &[u8],
        source: &str,
    ) -> Result<(), Refused> {
        let Some(queues) = &self.service.queues else { return Err("there are no queues".into()) };
        match queues.deliver(name, id, record, source).await {
            Ok(()) => Ok(()),
            Err(NotDelivered::Yet(why)) => Err(why.into()),
            Err(NotDelivered::TooLarge(why)) => Err(Refused { why, is_permanent: true }),
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
            false => Err(format!("it answered {}", response.status)),
        }
    }
}

/// A URL may hold a secret, and the message names the target as it is written anyway.
fn without_urls(why: &str) -> String {
    let word = |word| if str::contains(word, "://") { "it" } else { word };
    why.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// One line for each record, on disk before it counts as delivered.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_no_url() {
        let check = |why, expected| assert_eq!(without_urls(why), expected);
        check("https://host/s3cret cannot be reached: refused", "it cannot be reached: refused");
        check("it answered 500", "it answered 500");
    }
}
