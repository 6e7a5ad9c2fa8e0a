//! `SendMessage` and `SendMessageBatch`.

use std::collections::BTreeMap;

use everstep_queues::{
    Attribute, AttributeValue, Content, Error as Engine, Sending, Sent, is_fifo,
};
use everstep_sqs::{
    AttributeInput, Error, Failed, MESSAGE_BYTES_MAX, MessageAttribute, Name, SendMessage,
    SendMessageBatch, SendMessageBatchEntry, check_batch, check_body, check_group, check_id, md5,
    md5_of_attributes, read, read_message_attributes, read_trace_header, required,
};
use serde_json::{Map, Value, json};

use super::{Answer, Caller, Queues, SECOND_MS, queue_of, refusal};

/// A message as it was given, and the digests that its sender compares.
struct Prepared {
    content: Content,
    delay_ms: Option<i64>,
    digests: Map<String, Value>,
}

/// The parts of a message, whichever operation they came with.
struct Given {
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    attributes: Option<BTreeMap<String, AttributeInput>>,
    system_attributes: Option<BTreeMap<String, AttributeInput>>,
    deduplication_id: Option<String>,
    group: Option<String>,
}

impl Queues {
    pub(super) async fn send(&self, body: Value, caller: &Caller) -> Answer {
        self.send_as(body, caller, None).await
    }

    /// Of all messages with one key, within a few minutes, the first counts.
    pub(super) async fn send_as(
        &self,
        body: Value,
        caller: &Caller,
        key: Option<String>,
    ) -> Answer {
        let given: SendMessage = read(body)?;
        let name = queue_of(given.queue_url.clone())?;
        let Prepared { content, delay_ms, digests } = prepare(given.into(), caller)?;
        let sending = Sending { delay_ms, key, ..self.engine.sending(content) };
        let sent = self.ask(|engine, reply| engine.send(&name, vec![sending], reply)).await;
        let sent = sent.and_then(|mut sent| sent.pop().unwrap_or(Err(Engine::Stopped)));
        let refused = |error| kind_refusal(error, &name, delay_ms, Name::MissingParameter);
        Ok(answered(sent.map_err(refused)?, digests).into())
    }

    pub(super) async fn send_batch(&self, body: Value, caller: &Caller) -> Answer {
        let SendMessageBatch { queue_url, entries } = read(body)?;
        let name = queue_of(queue_url)?;
        let entries = entries.unwrap_or_default();
        let ids = entries.iter().map(|entry| entry.id.as_deref());
        check_batch("SendMessageBatchRequestEntry", ids)?;
        let mut batch = Batch::default();
        for entry in entries {
            batch.add(entry, caller);
        }
        batch.check_size()?;
        let Batch { ids, prepared, mut failed, .. } = batch;
        let (mut sendings, mut digests) = (Vec::new(), Vec::new());
        for one in prepared {
            let sending = self.engine.sending(one.content);
            sendings.push(Sending { delay_ms: one.delay_ms, ..sending });
            digests.push(one.digests);
        }
        let delay_ms = sendings.iter().find_map(|sending| sending.delay_ms);
        let sent = self.ask(|engine, reply| engine.send(&name, sendings, reply)).await;
        let refused = |error| kind_refusal(error, &name, delay_ms, Name::InvalidParameterValue);
        let mut successful = Vec::new();
        for ((id, digests), sent) in ids.into_iter().zip(digests).zip(sent.map_err(refused)?) {
            match sent {
                Ok(sent) => {
                    let mut answer = answered(sent, digests);
                    answer.insert("Id".to_owned(), id.into());
                    successful.push(answer);
                }
                Err(error) => failed.push(Failed { id, error: refusal(error) }),
            }
        }
        let failed: Vec<Value> = failed.iter().map(Failed::to_json).collect();
        Ok(json!({ "Successful": successful, "Failed": failed }))
    }
}

/// The entries of a batch that can be sent, and those that cannot.
#[derive(Default)]
struct Batch {
    ids: Vec<String>,
    prepared: Vec<Prepared>,
    failed: Vec<Failed>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, entry: SendMessageBatchEntry, caller: &Caller) {
        let id = entry.id.clone().unwrap_or_default();
        match prepare(entry.into(), caller) {
            Ok(prepared) => {
                self.bytes += prepared.content.size();
                self.ids.push(id);
                self.prepared.push(prepared);
            }
            Err(error) => self.failed.push(Failed { id, error }),
        }
    }

    fn check_size(&self) -> Result<(), Error> {
        if self.bytes <= MESSAGE_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "Batch requests cannot be longer than {MESSAGE_BYTES_MAX} bytes. You have sent {} bytes.",
            self.bytes
        );
        Err(Error::new(Name::BatchRequestTooLong, message))
    }
}

fn prepare(given: Given, caller: &Caller) -> Result<Prepared, Error> {
    let body = required("MessageBody", given.message_body)?;
    check_body(&body)?;
    let delay_ms = delay_ms(given.delay_seconds)?;
    let attributes = read_message_attributes(given.attributes.unwrap_or_default())?;
    let trace = read_trace_header(given.system_attributes.unwrap_or_default())?;
    if let Some(id) = &given.deduplication_id {
        check_id("MessageDeduplicationId", id)?;
    }
    if let Some(group) = &given.group {
        check_group(group)?;
    }
    let digests = digests(&body, &attributes, trace.as_ref());
    let content = Content {
        body,
        attributes: attributes.into_iter().map(attribute).collect(),
        group: given.group,
        deduplication_id: given.deduplication_id,
        trace_header: trace.and_then(text),
        sender: caller.sender.clone(),
    };
    Ok(Prepared { content, delay_ms, digests })
}

fn delay_ms(seconds: Option<i64>) -> Result<Option<i64>, Error> {
    match seconds {
        Some(seconds) if !(0..=900).contains(&seconds) => {
            let reason = "DelaySeconds must be >= 0 and <= 900.";
            Err(Error::invalid("DelaySeconds", seconds, reason))
        }
        seconds => Ok(seconds.map(|seconds| seconds * SECOND_MS)),
    }
}

fn digests(
    body: &str,
    attributes: &[MessageAttribute],
    trace: Option<&MessageAttribute>,
) -> Map<String, Value> {
    let mut digests = Map::new();
    digests.insert("MD5OfMessageBody".to_owned(), md5(body.as_bytes()).into());
    if let Some(digest) = md5_of_attributes(attributes) {
        digests.insert("MD5OfMessageAttributes".to_owned(), digest.into());
    }
    if let Some(digest) = trace.and_then(|trace| md5_of_attributes(std::slice::from_ref(trace))) {
        digests.insert("MD5OfMessageSystemAttributes".to_owned(), digest.into());
    }
    digests
}

fn answered(sent: Sent, mut answer: Map<String, Value>) -> Map<String, Value> {
    answer.insert("MessageId".to_owned(), sent.id.to_string().into());
    if let Some(sequence) = sent.sequence {
        answer.insert("SequenceNumber".to_owned(), sequence_number(sequence).into());
    }
    answer
}

/// Twenty digits, so that they can be compared as texts.
pub(super) fn sequence_number(sequence: u64) -> String {
    format!("{sequence:020}")
}

/// A message that is of the wrong kind for its queue. The service names the same refusal differently for a single
/// message and for a batch.
fn kind_refusal(error: Engine, name: &str, delay_ms: Option<i64>, missing: Name) -> Error {
    match error {
        Engine::NoGroup => Error::new(missing, refusal(Engine::NoGroup).message()),
        Engine::DelayInFifo => {
            let reason = "The request include parameter that is not valid for this queue type.";
            Error::invalid("DelaySeconds", delay_ms.unwrap_or_default() / SECOND_MS, reason)
        }
        Engine::NotFifo => {
            debug_assert!(!is_fifo(name), "only other queues refuse it");
            let reason = "The request include parameter that is not valid for this queue type.";
            Error::new(
                Name::InvalidParameterValue,
                format!("The parameter MessageDeduplicationId is invalid. Reason: {reason}"),
            )
        }
        other => refusal(other),
    }
}

fn attribute(given: MessageAttribute) -> Attribute {
    let MessageAttribute { name, data_type, value } = given;
    let value = match value {
        everstep_sqs::AttributeValue::Text(text) => AttributeValue::Text(text),
        everstep_sqs::AttributeValue::Binary(bytes) => AttributeValue::Binary(bytes),
    };
    Attribute { name, data_type, value }
}

fn text(attribute: MessageAttribute) -> Option<String> {
    match attribute.value {
        everstep_sqs::AttributeValue::Text(text) => Some(text),
        everstep_sqs::AttributeValue::Binary(_) => None,
    }
}

impl From<SendMessage> for Given {
    fn from(given: SendMessage) -> Self {
        Self {
            message_body: given.message_body,
            delay_seconds: given.delay_seconds,
            attributes: given.message_attributes,
            system_attributes: given.message_system_attributes,
            deduplication_id: given.message_deduplication_id,
            group: given.message_group_id,
        }
    }
}

impl From<SendMessageBatchEntry> for Given {
    fn from(given: SendMessageBatchEntry) -> Self {
        Self {
            message_body: given.message_body,
            delay_seconds: given.delay_seconds,
            attributes: given.message_attributes,
            system_attributes: given.message_system_attributes,
            deduplication_id: given.message_deduplication_id,
            group: given.message_group_id,
        }
    }
}
