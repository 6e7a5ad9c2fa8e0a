//! Answers as XML.

use std::fmt::Write as _;

use serde_json::Value;

use crate::error::Error;
use crate::operation::Operation;

const NAMESPACE: &str = "http://queue.amazonaws.com/doc/2012-11-05/";

pub(super) fn success(operation: Operation, output: &Value, request_id: &str) -> String {
    let name = operation.name();
    let mut text = format!("<?xml version=\"1.0\"?><{name}Response xmlns=\"{NAMESPACE}\">");
    if has_result(operation) {
        let _ = write!(text, "<{name}Result>");
        members(operation, output, &mut text);
        let _ = write!(text, "</{name}Result>");
    }
    let _ = write!(
        text,
        "<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{name}Response>"
    );
    text
}

pub(super) fn error(error: &Error, request_id: &str) -> String {
    refusal(&error.name().code(), error.message(), error.name().is_senders(), request_id)
}

pub(super) fn refusal(code: &str, what: &str, is_senders: bool, request_id: &str) -> String {
    let fault = if is_senders { "Sender" } else { "Receiver" };
    let mut message = String::new();
    escape(what, &mut message);
    format!(
        "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"{NAMESPACE}\"><Error><Type>{fault}</Type><Code>{code}</Code>\
         <Message>{message}</Message><Detail/></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    )
}

fn has_result(operation: Operation) -> bool {
    use Operation as O;
    !matches!(
        operation,
        O::AddPermission
            | O::ChangeMessageVisibility
            | O::DeleteMessage
            | O::DeleteQueue
            | O::PurgeQueue
            | O::RemovePermission
            | O::SetQueueAttributes
            | O::TagQueue
            | O::UntagQueue
    )
}

fn members(operation: Operation, value: &Value, text: &mut String) {
    for (name, value) in value.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("Attributes", Value::Object(_)) => map("Attribute", "Name", operation, value, text),
            ("MessageAttributes", Value::Object(_)) => {
                map("MessageAttribute", "Name", operation, value, text);
            }
            ("Tags", Value::Object(_)) => map("Tag", "Key", operation, value, text),
            (_, Value::Array(parts)) => {
                let element = element(operation, name);
                parts.iter().for_each(|part| within(&element, operation, part, text));
            }
            _ => within(name, operation, value, text),
        }
    }
}

/// What an element of a list is called.
fn element(operation: Operation, member: &str) -> String {
    match member {
        "QueueUrls" | "queueUrls" => "QueueUrl".to_owned(),
        "Messages" => "Message".to_owned(),
        "Failed" => "BatchResultErrorEntry".to_owned(),
        _ => format!("{}ResultEntry", operation.name()),
    }
}

fn map(name: &str, key: &str, operation: Operation, value: &Value, text: &mut String) {
    for (entry, value) in value.as_object().into_iter().flatten() {
        let _ = write!(text, "<{name}><{key}>");
        escape(entry, text);
        let _ = write!(text, "</{key}>");
        within("Value", operation, value, text);
        let _ = write!(text, "</{name}>");
    }
}

fn within(name: &str, operation: Operation, value: &Value, text: &mut String) {
    let _ = write!(text, "<{name}>");
    match value {
        Value::Object(_) => members(operation, value, text),
        Value::String(content) => escape(content, text),
        other => {
            let _ = write!(text, "{other}");
        }
    }
    let _ = write!(text, "</{name}>");
}

/// What XML cannot hold is replaced. No message of a client has such characters.
fn escape(content: &str, text: &mut String) {
    for letter in content.chars() {
        match letter {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            '"' => text.push_str("&quot;"),
            '\r' => text.push_str("&#xD;"),
            '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
                text.push(letter);
            }
            _ => text.push('\u{fffd}'),
        }
    }
}
