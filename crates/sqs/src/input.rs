//! What operations are given. Members that an operation does not have are ignored, as the service does.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Name};

/// Reads the body of a request.
pub fn read<T: DeserializeOwned>(body: serde_json::Value) -> Result<T, Error> {
    if !body.is_object() {
        return Err(Error::new(
            Name::Serialization,
            "the body of the request must be a JSON object",
        ));
    }
    serde_json::from_value(body)
        .map_err(|error| Error::new(Name::Serialization, format!("invalid request: {error}")))
}

/// A parameter that must be there.
pub fn required<T>(parameter: &str, given: Option<T>) -> Result<T, Error> {
    given.ok_or_else(|| Error::missing(parameter))
}

/// A number within bounds.
pub fn within(
    parameter: &str,
    given: Option<i64>,
    (least, most): (i64, i64),
) -> Result<Option<i64>, Error> {
    match given {
        Some(number) if !(least..=most).contains(&number) => {
            let reason = format!("Must be between {least} and {most}, if provided.");
            Err(Error::invalid(parameter, number, &reason))
        }
        given => Ok(given),
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AttributeInput {
    pub data_type: Option<String>,
    pub string_value: Option<String>,
    /// Base64.
    pub binary_value: Option<String>,
    #[serde(rename = "StringListValues")]
    pub string_list: Option<Vec<String>>,
    #[serde(rename = "BinaryListValues")]
    pub binary_list: Option<Vec<String>>,
}

macro_rules! inputs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $kind:ty),* $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "PascalCase", default)]
        pub struct $name { $($(#[$meta])* pub $field: Option<$kind>),* }
    )+};
}

inputs! {
    CreateQueue {
        queue_name: String,
        attributes: BTreeMap<String, String>,
        #[serde(rename = "tags")]
        tags: BTreeMap<String, String>,
    }
    /// Of operations that take a queue and nothing else.
    OfQueue { queue_url: String }
    GetQueueUrl { queue_name: String }
    ListQueues { queue_name_prefix: String, next_token: String, max_results: i64 }
    ListDeadLetterSourceQueues { queue_url: String, next_token: String, max_results: i64 }
    GetQueueAttributes { queue_url: String, attribute_names: Vec<String> }
    SetQueueAttributes { queue_url: String, attributes: BTreeMap<String, String> }
    TagQueue { queue_url: String, tags: BTreeMap<String, String> }
    UntagQueue { queue_url: String, tag_keys: Vec<String> }
    SendMessage {
        queue_url: String,
        message_body: String,
        delay_seconds: i64,
        message_attributes: BTreeMap<String, AttributeInput>,
        message_system_attributes: BTreeMap<String, AttributeInput>,
        message_deduplication_id: String,
        message_group_id: String,
    }
    SendMessageBatch { queue_url: String, entries: Vec<SendMessageBatchEntry> }
    SendMessageBatchEntry {
        id: String,
        message_body: String,
        delay_seconds: i64,
        message_attributes: BTreeMap<String, AttributeInput>,
        message_system_attributes: BTreeMap<String, AttributeInput>,
        message_deduplication_id: String,
        message_group_id: String,
    }
    ReceiveMessage {
        queue_url: String,
        attribute_names: Vec<String>,
        message_system_attribute_names: Vec<String>,
        message_attribute_names: Vec<String>,
        max_number_of_messages: i64,
        visibility_timeout: i64,
        wait_time_seconds: i64,
        receive_request_attempt_id: String,
    }
    DeleteMessage { queue_url: String, receipt_handle: String }
    DeleteMessageBatch { queue_url: String, entries: Vec<DeleteMessageBatchEntry> }
    DeleteMessageBatchEntry { id: String, receipt_handle: String }
    ChangeMessageVisibility { queue_url: String, receipt_handle: String, visibility_timeout: i64 }
    ChangeMessageVisibilityBatch {
        queue_url: String,
        entries: Vec<ChangeMessageVisibilityBatchEntry>,
    }
    ChangeMessageVisibilityBatchEntry {
        id: String,
        receipt_handle: String,
        visibility_timeout: i64,
    }
    StartMessageMoveTask {
        source_arn: String,
        destination_arn: String,
        max_number_of_messages_per_second: i64,
    }
    CancelMessageMoveTask { task_handle: String }
    ListMessageMoveTasks { source_arn: String, max_results: i64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_read() {
        let read: SendMessage = read(json!({
            "QueueUrl": "u", "MessageBody": "b", "DelaySeconds": 3, "Unknown": {},
            "MessageAttributes": { "a": { "DataType": "String", "StringValue": "x" } },
        }))
        .expect("read");
        assert_eq!((read.queue_url.as_deref(), read.delay_seconds), (Some("u"), Some(3)));
        let attributes = read.message_attributes.expect("there");
        assert_eq!(attributes["a"].string_value.as_deref(), Some("x"));
        let error =
            super::read::<SendMessage>(json!({ "DelaySeconds": "x" })).expect_err("refused");
        assert_eq!(error.name(), Name::Serialization);
        let error = super::read::<CreateQueue>(json!([])).expect_err("refused");
        assert_eq!(error.name(), Name::Serialization);
    }
}
