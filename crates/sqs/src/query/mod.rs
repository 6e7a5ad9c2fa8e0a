//! The query protocol: requests are forms, answers are XML. Clients spoke it before 2023, and some still do, such as the
//! AWS command line of Debian 12.
//!
//! A form is read into the JSON that the operation takes, and its answer written as XML; no operation knows which
//! protocol was spoken.

mod form;
mod xml;

use serde_json::Value;

use crate::answer::Answer;
use crate::error::{Error, Name};
use crate::operation::Operation;

/// A request in this protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryRequest {
    pub operation: Operation,
    pub body: Value,
}

/// Whether a request is in this protocol: a form with an `Action`.
#[must_use]
pub fn is_query(content_type: Option<&str>, body: &[u8]) -> bool {
    let form = "application/x-www-form-urlencoded";
    let is_form = content_type.is_some_and(|given| given.trim_start().starts_with(form));
    is_form && body.split(|byte| *byte == b'&').any(|field| field.starts_with(b"Action="))
}

/// Reads a request. `path` may be that of a queue, instead of a parameter.
pub fn read_query(body: &[u8], path: &str) -> Result<QueryRequest, Error> {
    let fields = form::fields(body)?;
    let action = fields.iter().find(|(name, _)| name == "Action").map(|(_, value)| value.as_str());
    let action: String = action.unwrap_or_default().chars().take(100).collect();
    let operation = Operation::find(&action).ok_or_else(|| {
        let message = format!("The action {action} is not valid for this endpoint.");
        Error::new(Name::InvalidAction, message)
    })?;
    let mut body = form::body(operation, fields)?;
    if body.get("QueueUrl").is_none() && path.len() > 1 {
        body.insert("QueueUrl".to_owned(), path.into());
    }
    Ok(QueryRequest { operation, body: body.into() })
}

/// What the operation returns.
#[must_use]
pub fn query_success(operation: Operation, output: &Value, request_id: &str) -> Answer {
    written(200, xml::success(operation, output, request_id), request_id)
}

#[must_use]
pub fn query_error(error: &Error, request_id: &str) -> Answer {
    written(error.status(), xml::error(error, request_id), request_id)
}

/// A refusal that is not the service's own: of a caller, or because there is no room.
#[must_use]
pub fn query_refusal(code: &str, message: &str, status: u16, request_id: &str) -> Answer {
    written(status, xml::refusal(code, message, status < 500, request_id), request_id)
}

fn written(status: u16, body: String, request_id: &str) -> Answer {
    let headers =
        vec![("x-amzn-RequestId", request_id.to_owned()), ("Content-Type", "text/xml".to_owned())];
    Answer { status, headers, body }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_forms_with_an_action() {
        let form = Some("application/x-www-form-urlencoded; charset=utf-8");
        assert!(is_query(form, b"Version=2012-11-05&Action=SendMessage"));
        assert!(!is_query(form, b"a=b"));
        assert!(!is_query(Some("application/json"), b"Action=x"));
        assert!(!is_query(None, b""));
    }

    fn check(form: &str, operation: Operation, expected: Value) {
        let read = read_query(form.as_bytes(), "/").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((read.operation, &read.body), (operation, &expected), "{form}");
    }

    #[test]
    fn forms_are_read() {
        check(
            "Action=SendMessage&Version=2012-11-05&QueueUrl=http%3A%2F%2Fh%2F1%2Fq&MessageBody=a+b%C3%BC&DelaySeconds=3\
             &MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AAE%3D",
            Operation::SendMessage,
            json!({
                "QueueUrl": "http://h/1/q", "MessageBody": "a bü", "DelaySeconds": 3,
                "MessageAttributes": { "n": { "DataType": "Binary", "BinaryValue": "AAE=" } },
            }),
        );
        check(
            "Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry.2.Id=two&SendMessageBatchRequestEntry.1.Id=one\
             &SendMessageBatchRequestEntry.1.MessageBody=x&SendMessageBatchRequestEntry.1.MessageAttribute.1.Name=a\
             &SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringValue=v",
            Operation::SendMessageBatch,
            json!({ "QueueUrl": "q", "Entries": [
                { "Id": "one", "MessageBody": "x", "MessageAttributes": { "a": { "StringValue": "v" } } },
                { "Id": "two" },
            ] }),
        );
        check(
            "Action=CreateQueue&QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=k&Tag.1.Value=v",
            Operation::CreateQueue,
            json!({ "QueueName": "q", "Attributes": { "DelaySeconds": "5" }, "tags": { "k": "v" } }),
        );
        check(
            "Action=TagQueue&QueueUrl=q&Tag.1.Key=k&Tag.1.Value=",
            Operation::TagQueue,
            json!({ "QueueUrl": "q", "Tags": { "k": "" } }),
        );
        check(
            "Action=ReceiveMessage&QueueUrl=q&AttributeName.1=All&MessageAttributeName.1=a&MaxNumberOfMessages=10",
            Operation::ReceiveMessage,
            json!({
                "QueueUrl": "q", "AttributeNames": ["All"], "MessageAttributeNames": ["a"],
                "MaxNumberOfMessages": 10,
            }),
        );
    }

    #[test]
    fn the_path_may_name_the_queue() {
        let read = read_query(b"Action=PurgeQueue", "/123456789012/q").expect("read");
        assert_eq!(read.body, json!({ "QueueUrl": "/123456789012/q" }));
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |form: &[u8]| read_query(form, "/").expect_err("refused").name();
        assert_eq!(refused(b"Action=Fly"), Name::InvalidAction);
        let number = b"Action=ReceiveMessage&MaxNumberOfMessages=x";
        assert_eq!(refused(number), Name::InvalidParameterValue);
        for broken in [
            &b"Action=PurgeQueue&QueueUrl=%zz"[..],
            b"Action=PurgeQueue&QueueUrl=%ff",
            b"Action=PurgeQueue&x=%",
        ] {
            assert_eq!(refused(broken), Name::MalformedQueryString);
        }
    }

    #[test]
    fn answers_are_xml() {
        let output = json!({ "Messages": [{
            "MessageId": "m", "Body": "<a> & \u{d}", "Attributes": { "SenderId": "s" },
            "MessageAttributes": { "n": { "StringValue": "v", "DataType": "String" } },
        }] });
        let answer = query_success(Operation::ReceiveMessage, &output, "id");
        assert_eq!(
            answer.body,
            "<?xml version=\"1.0\"?><ReceiveMessageResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">\
             <ReceiveMessageResult><Message><MessageId>m</MessageId><Body>&lt;a&gt; &amp; &#xD;</Body><Attribute>\
             <Name>SenderId</Name><Value>s</Value></Attribute><MessageAttribute><Name>n</Name><Value>\
             <StringValue>v</StringValue><DataType>String</DataType></Value></MessageAttribute></Message>\
             </ReceiveMessageResult><ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></ReceiveMessageResponse>"
        );
        let batch = json!({ "Successful": [{ "Id": "a" }], "Failed": [{ "Id": "b", "SenderFault": true }] });
        let body = query_success(Operation::DeleteMessageBatch, &batch, "id").body;
        assert!(
            body.contains(
                "<DeleteMessageBatchResultEntry><Id>a</Id></DeleteMessageBatchResultEntry>"
            )
        );
        assert!(body.contains("<BatchResultErrorEntry><Id>b</Id><SenderFault>true</SenderFault></BatchResultErrorEntry>"));
        let body = query_success(Operation::DeleteQueue, &json!({}), "id").body;
        assert!(!body.contains("Result>"), "{body}");
        let error = query_error(&Error::no_such_queue(), "id");
        assert_eq!(error.status, 400);
        assert!(error.body.contains("<Code>AWS.SimpleQueueService.NonExistentQueue</Code>"));
    }
}
