//! `ReceiveMessage`.

use everstep_queues::{AttributeValue, Cancelled, Content, Receive, Received};
use everstep_sqs::{
    Error, MessageAttribute, Name, ReceiveMessage, check_id, md5, md5_of_attributes, read, wanted,
    within,
};
use serde_json::{Map, Value, json};

use super::send::sequence_number;
use super::{Answer, Queues, SECOND_MS, queue_of, refusal};

/// Attributes that the service itself gives a message.
const SYSTEM: [&str; 9] = [
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    "ApproximateFirstReceiveTimestamp",
    "SequenceNumber",
    "MessageDeduplicationId",
    "MessageGroupId",
    "AWSTraceHeader",
    "DeadLetterQueueSourceArn",
];

/// What of a message is shown.
struct Shown {
    system: Vec<String>,
    attributes: Vec<String>,
}

/// A caller that waits. When it goes, no message is handed to it.
struct Waiting(Cancelled);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl Queues {
    pub(super) async fn receive(&self, body: Value) -> Answer {
        let given: ReceiveMessage = read(body)?;
        let name = queue_of(given.queue_url.clone())?;
        let cancelled = Cancelled::default();
        let receive = receive(&given, cancelled.clone())?;
        let shown = shown(given)?;
        let _waiting = Waiting(cancelled);
        let received = self.ask(|engine, reply| engine.receive(&name, receive, reply)).await;
        let received = received.map_err(refusal)?;
        if received.is_empty() {
            return Ok(json!({}));
        }
        let fifo = everstep_queues::is_fifo(&name);
        let show = |one: &Received| self.show(one, &shown, fifo);
        Ok(json!({ "Messages": received.iter().map(show).collect::<Vec<_>>() }))
    }

    fn show(&self, received: &Received, shown: &Shown, fifo: bool) -> Value {
        let content = &received.message.content;
        let mut message = json!({
            "MessageId": received.message.id.to_string(),
            "ReceiptHandle": received.receipt.to_string(),
            "MD5OfBody": md5(content.body.as_bytes()),
            "Body": content.body,
        });
        let system = self.system_attributes(received, shown, fifo);
        if !system.is_empty() {
            message["Attributes"] = system.into();
        }
        let attributes = attributes(content, &shown.attributes);
        if let Some(digest) = md5_of_attributes(&attributes) {
            message["MD5OfMessageAttributes"] = digest.into();
            let all = attributes.iter().map(|one| (one.name.clone(), one.to_json()));
            message["MessageAttributes"] = all.collect::<Map<_, _>>().into();
        }
        message
    }

    fn system_attributes(
        &self,
        received: &Received,
        shown: &Shown,
        fifo: bool,
    ) -> Map<String, Value> {
        let content = &received.message.content;
        let value = |name: &str| match name {
            "SenderId" => Some(content.sender.clone()),
            "SentTimestamp" => Some(received.message.sent_ms.to_string()),
            "ApproximateReceiveCount" => Some(received.receives.to_string()),
            "ApproximateFirstReceiveTimestamp" => Some(received.first_received_ms.to_string()),
            "SequenceNumber" => fifo.then(|| sequence_number(received.sequence)),
            "MessageDeduplicationId" => content.deduplication_id.clone(),
            "MessageGroupId" => content.group.clone(),
            "AWSTraceHeader" => content.trace_header.clone(),
            "DeadLetterQueueSourceArn" => {
                received.message.dead_letter_of.as_deref().map(|name| self.arn(name))
            }
            _ => None,
        };
        let asked = |name: &&str| shown.system.iter().any(|asked| asked == name || asked == "All");
        let present = |name: &str| Some((name.to_owned(), value(name)?.into()));
        SYSTEM.iter().filter(|name| asked(name)).filter_map(|name| present(name)).collect()
    }
}

fn receive(given: &ReceiveMessage, cancelled: Cancelled) -> Result<Receive, Error> {
    let max = within("MaxNumberOfMessages", given.max_number_of_messages, (1, 10))?;
    let visibility = within("VisibilityTimeout", given.visibility_timeout, (0, 43_200))?;
    let wait = given.wait_time_seconds;
    if let Some(wait) = wait.filter(|wait| !(0..=20).contains(wait)) {
        let reason = "Must be >= 0 and <= 20, if provided.";
        return Err(Error::invalid("WaitTimeSeconds", wait, reason));
    }
    if let Some(attempt) = &given.receive_request_attempt_id {
        check_id("ReceiveRequestAttemptId", attempt)?;
    }
    Ok(Receive {
        max: max.map_or(1, |max| usize::try_from(max).unwrap_or(1)),
        visibility_ms: visibility.map(|seconds| seconds * SECOND_MS),
        wait_ms: wait.map(|seconds| seconds * SECOND_MS),
        attempt: given.receive_request_attempt_id.clone(),
        cancelled,
    })
}

fn shown(given: ReceiveMessage) -> Result<Shown, Error> {
    let mut system = given.attribute_names.unwrap_or_default();
    system.extend(given.message_system_attribute_names.unwrap_or_default());
    if let Some(odd) = system.iter().find(|asked| *asked != "All" && !SYSTEM.contains(&&***asked)) {
        let shown: String = odd.chars().take(100).collect();
        return Err(Error::new(Name::InvalidAttributeName, format!("Unknown Attribute {shown}.")));
    }
    Ok(Shown { system, attributes: given.message_attribute_names.unwrap_or_default() })
}

/// Those of a message's own attributes that are asked for.
fn attributes(content: &Content, asked: &[String]) -> Vec<MessageAttribute> {
    let all = content.attributes.iter().filter(|attribute| wanted(asked, &attribute.name));
    let written = all.map(|attribute| MessageAttribute {
        name: attribute.name.clone(),
        data_type: attribute.data_type.clone(),
        value: match &attribute.value {
            AttributeValue::Text(text) => everstep_sqs::AttributeValue::Text(text.clone()),
            AttributeValue::Binary(bytes) => everstep_sqs::AttributeValue::Binary(bytes.clone()),
        },
    });
    written.collect()
}
