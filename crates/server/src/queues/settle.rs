//! What becomes of messages that were received: `DeleteMessage`, `ChangeMessageVisibility` and their batches.

use everstep_queues::{Error as Engine, Receipt};
use everstep_sqs::{
    ChangeMessageVisibility, ChangeMessageVisibilityBatch, DeleteMessage, DeleteMessageBatch,
    Error, Failed, Name, check_batch, read, required, within,
};
use serde_json::{Value, json};

use super::{Answer, Queues, SECOND_MS, queue_of, refusal};

impl Queues {
    pub(super) async fn delete_message(&self, body: Value) -> Answer {
        let DeleteMessage { queue_url, receipt_handle } = read(body)?;
        let name = queue_of(queue_url)?;
        let handle = required("ReceiptHandle", receipt_handle)?;
        let receipts = vec![receipt(&handle)?];
        let removed = self.ask(|engine, reply| engine.remove(&name, receipts, reply)).await;
        single(removed, &handle)
    }

    pub(super) async fn delete_batch(&self, body: Value) -> Answer {
        let DeleteMessageBatch { queue_url, entries } = read(body)?;
        let name = queue_of(queue_url)?;
        let entries = entries.unwrap_or_default();
        let ids = entries.iter().map(|entry| entry.id.as_deref());
        check_batch("DeleteMessageBatchRequestEntry", ids)?;
        let mut batch = Batch::default();
        for entry in entries {
            let read = required("ReceiptHandle", entry.receipt_handle)
                .and_then(|handle| Ok((receipt(&handle)?, handle)));
            batch.add(entry.id, read);
        }
        let receipts = batch.given.clone();
        let removed = self.ask(|engine, reply| engine.remove(&name, receipts, reply)).await;
        batch.answer(removed)
    }

    pub(super) async fn change_visibility(&self, body: Value) -> Answer {
        let ChangeMessageVisibility { queue_url, receipt_handle, visibility_timeout } = read(body)?;
        let name = queue_of(queue_url)?;
        let handle = required("ReceiptHandle", receipt_handle)?;
        let receipts = vec![(receipt(&handle)?, visibility(visibility_timeout)?)];
        let hidden = self.ask(|engine, reply| engine.hide(&name, receipts, reply)).await;
        single(hidden, &handle)
    }

    pub(super) async fn change_visibility_batch(&self, body: Value) -> Answer {
        let ChangeMessageVisibilityBatch { queue_url, entries } = read(body)?;
        let name = queue_of(queue_url)?;
        let entries = entries.unwrap_or_default();
        let ids = entries.iter().map(|entry| entry.id.as_deref());
        check_batch("ChangeMessageVisibilityBatchRequestEntry", ids)?;
        let mut batch = Batch::default();
        for entry in entries {
            let timeout = entry.visibility_timeout;
            let read = required("ReceiptHandle", entry.receipt_handle)
                .and_then(|handle| Ok(((receipt(&handle)?, visibility(timeout)?), handle)));
            batch.add(entry.id, read);
        }
        let receipts = batch.given.clone();
        let hidden = self.ask(|engine, reply| engine.hide(&name, receipts, reply)).await;
        batch.answer(hidden)
    }
}

/// The entries of a batch that can be asked for, and those that cannot.
struct Batch<T> {
    ids: Vec<(String, String)>,
    given: Vec<T>,
    failed: Vec<Failed>,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self { ids: Vec::new(), given: Vec::new(), failed: Vec::new() }
    }
}

impl<T> Batch<T> {
    fn add(&mut self, id: Option<String>, read: Result<(T, String), Error>) {
        let id = id.unwrap_or_default();
        match read {
            Ok((given, handle)) => {
                self.ids.push((id, handle));
                self.given.push(given);
            }
            Err(error) => self.failed.push(Failed { id, error }),
        }
    }

    fn answer(mut self, done: everstep_queues::Result<Vec<everstep_queues::Result<()>>>) -> Answer {
        let mut successful = Vec::new();
        for ((id, handle), done) in self.ids.into_iter().zip(done.map_err(refusal)?) {
            match done {
                Ok(()) => successful.push(json!({ "Id": id })),
                Err(error) => self.failed.push(Failed { id, error: named(error, &handle) }),
            }
        }
        let failed: Vec<Value> = self.failed.iter().map(Failed::to_json).collect();
        Ok(json!({ "Successful": successful, "Failed": failed }))
    }
}

fn single(done: everstep_queues::Result<Vec<everstep_queues::Result<()>>>, handle: &str) -> Answer {
    let done = done.and_then(|mut done| done.pop().unwrap_or(Err(Engine::Stopped)));
    done.map_err(|error| named(error, handle))?;
    Ok(json!({}))
}

/// A refusal that names the receipt handle.
fn named(error: Engine, handle: &str) -> Error {
    let reason = match error {
        Engine::ReceiptExpired => "The receipt handle has expired.",
        Engine::NotInFlight => {
            "Message does not exist or is not available for visibility timeout change."
        }
        Engine::WrongQueue => return invalid_handle(handle),
        other => return refusal(other),
    };
    Error::invalid("ReceiptHandle", handle, reason)
}

fn receipt(handle: &str) -> Result<Receipt, Error> {
    handle.parse().map_err(|_| invalid_handle(handle))
}

fn invalid_handle(handle: &str) -> Error {
    let shown: String = handle.chars().take(200).collect();
    let message = format!("The input receipt handle \"{shown}\" is not a valid receipt handle.");
    Error::new(Name::ReceiptHandleIsInvalid, message)
}

fn visibility(seconds: Option<i64>) -> Result<i64, Error> {
    let seconds = required("VisibilityTimeout", seconds)?;
    within("VisibilityTimeout", Some(seconds), (0, 43_200))?;
    Ok(seconds * SECOND_MS)
}
