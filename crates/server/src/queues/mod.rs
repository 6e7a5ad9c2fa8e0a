//! Queues, and the operations of Amazon SQS on them.
//!
//! - `manage`, `attributes`: queues themselves; `send`, `receive`, `settle`: messages; `move_tasks`: redrives;
//! - `refusal`: what the engine refuses, in the words of the service;
//! - `deliver`: what this process itself sends to queues;
//! - `task`: tasks of executions that call SQS.

mod attributes;
mod deliver;
mod manage;
mod move_tasks;
mod own;
mod receive;
mod refusal;
mod send;
mod settle;
mod task;

use std::sync::Arc;

use everstep_queues::{Queues as Engine, Reply, Settings};
use everstep_shards::{Clock, RetentionLimit};
use everstep_sqs::{Error, Name, Operation};
use everstep_store::Store;
use serde_json::Value;

use crate::admission::Admission;
use refusal::refusal;

pub(crate) use deliver::NotDelivered;
pub(crate) use task::{Call as TaskCall, call as task_call, run as run_task};

pub struct Queues {
    pub(crate) engine: Arc<Engine>,
    region: String,
    account: String,
    clock: Arc<dyn Clock>,
    admission: Arc<Admission>,
}

/// Who calls, and by which address.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// What the URLs of queues begin with: `http://localhost:8083`.
    pub(crate) origin: String,
    /// An access key, or what in this process calls.
    pub(crate) sender: String,
}

type Answer = Result<Value, Error>;

impl Queues {
    /// Queues that are yet to be started: messages are accepted and wait.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        (region, account): (&str, &str),
        admission: Arc<Admission>,
        retention_limit: RetentionLimit,
    ) -> Self {
        let shards = everstep_shards::Settings { retention_limit, ..Default::default() };
        let settings = Settings { shards, ..Settings::default() };
        let engine = Arc::new(Engine::new(store, clock.clone(), settings));
        let (region, account) = (region.to_owned(), account.to_owned());
        Self { engine, region, account, clock, admission }
    }

    /// Takes over the queues that are stored. Reads the store.
    pub(crate) fn start(
        &self,
        observer: Arc<dyn everstep_queues::Observer>,
    ) -> everstep_queues::Result<()> {
        self.engine.start(observer)
    }

    /// Why messages can no longer be stored, if so.
    pub(crate) fn failure(&self) -> Option<String> {
        self.engine.failure().map(|error| error.to_string())
    }

    /// Lets no receive wait any longer: the process is about to stop.
    pub(crate) fn stop_waiting(&self) {
        self.engine.stop_waiting();
    }

    /// Waits until all that was accepted is durable. Blocks.
    pub(crate) fn shut_down(&self) {
        self.engine.shut_down();
    }

    /// Does what a request asks for.
    pub(crate) async fn call(&self, operation: Operation, body: Value, caller: &Caller) -> Answer {
        if let Some(reason) = self.admission.refusal().filter(|_| operation.is_new_work()) {
            return Err(Error::new(Name::ServiceUnavailable, &*reason));
        }
        match operation {
            Operation::CreateQueue => self.create(body, caller).await,
            Operation::DeleteQueue => self.delete(body).await,
            Operation::GetQueueUrl => self.url(body, caller),
            Operation::ListQueues => self.list(body, caller).await,
            Operation::ListDeadLetterSourceQueues => self.list_sources(body, caller).await,
            Operation::GetQueueAttributes => self.get_attributes(body).await,
            Operation::SetQueueAttributes => self.set_attributes(body).await,
            Operation::PurgeQueue => self.purge(body).await,
            Operation::TagQueue => self.tag(body).await,
            Operation::UntagQueue => self.untag(body).await,
            Operation::ListQueueTags => self.list_tags(body).await,
            Operation::SendMessage => self.send(body, caller).await,
            Operation::SendMessageBatch => self.send_batch(body, caller).await,
            Operation::ReceiveMessage => self.receive(body).await,
            Operation::DeleteMessage => self.delete_message(body).await,
            Operation::DeleteMessageBatch => self.delete_batch(body).await,
            Operation::ChangeMessageVisibility => self.change_visibility(body).await,
            Operation::ChangeMessageVisibilityBatch => self.change_visibility_batch(body).await,
            Operation::StartMessageMoveTask => self.start_move(body).await,
            Operation::CancelMessageMoveTask => self.cancel_move(body).await,
            Operation::ListMessageMoveTasks => self.list_moves(body).await,
            Operation::AddPermission | Operation::RemovePermission => Err(Error::new(
                Name::UnsupportedOperation,
                format!(
                    "{} is not supported: there are no access policies here, every access key may use every queue",
                    operation.name()
                ),
            )),
        }
    }

    /// Asks the engine, and waits for its answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&Engine, Reply<T>),
    ) -> everstep_queues::Result<T> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        request(&self.engine, reply);
        receiver.await.unwrap_or(Err(everstep_queues::Error::Stopped))
    }

    fn arn(&self, name: &str) -> String {
        everstep_sqs::arn(&self.region, &self.account, name)
    }

    fn url_of(&self, name: &str, caller: &Caller) -> String {
        everstep_sqs::url(&caller.origin, &self.account, name)
    }
}

/// The name of the queue that a request is about.
fn queue_of(url: Option<String>) -> Result<String, Error> {
    let url = everstep_sqs::required("QueueUrl", url)?;
    let name = everstep_sqs::name_of_url(&url);
    if everstep_queues::is_name(name) { Ok(name.to_owned()) } else { Err(Error::no_such_queue()) }
}

const SECOND_MS: i64 = 1000;
