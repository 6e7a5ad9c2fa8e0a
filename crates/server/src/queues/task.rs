//! Tasks of executions that call SQS: `sqs:sendMessage`, and every operation as `aws-sdk:sqs:…`.
//!
//! The queue is one of this server, whatever host, region and account its URL or ARN names.

use std::sync::Arc;
use std::time::Duration;

use everstep_asl::model::{Pattern, Resource};
use everstep_executions::{Job, Task};
use everstep_interpreter::{Failure, Payload};
use everstep_sqs::{Error, Name, Operation};
use serde_json::{Map, Value, json};

use super::{Caller, Queues};
use crate::service::Service;

/// How long a task waits when the engine has too much to do.
const PAUSE: Duration = Duration::from_millis(200);

/// What a task asks of SQS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    operation: Operation,
    sdk: bool,
}

/// What a resource asks of SQS, if it does.
pub(crate) fn call(resource: &Resource) -> Option<Call> {
    let Resource::Service { service, action, sdk, pattern, .. } = resource else { return None };
    let waits = matches!(pattern, Pattern::Sync | Pattern::Sync2);
    if service != "sqs" || waits || !(*sdk || action == "sendMessage") {
        return None;
    }
    let mut letters = action.chars();
    let first = letters.next().filter(char::is_ascii_lowercase)?.to_ascii_uppercase();
    let operation = Operation::find(&format!("{first}{}", letters.as_str()))?;
    Some(Call { operation, sdk: *sdk })
}

/// Does what a task asks for.
pub(crate) async fn run(service: Arc<Service>, queues: Arc<Queues>, task: Task, call: Call) {
    let Job::Call { parameters, .. } = &task.job else { return };
    let request_id = task.request_id();
    let origin = format!("https://sqs.{}.amazonaws.com", service.environment.region);
    let caller = Caller { origin, sender: service.environment.account.clone() };
    let body = request(call, parameters);
    let answer = loop {
        let key = Some(request_id.clone());
        let answer = match call.operation {
            // A task that is dispatched again after a crash sends its message once.
            Operation::SendMessage => queues.send_as(body.clone(), &caller, key).await,
            operation => queues.call(operation, body.clone(), &caller).await,
        };
        match answer.as_ref().map_err(Error::name) {
            Err(Name::RequestThrottled) => tokio::time::sleep(PAUSE).await,
            // The server stops: the task will be dispatched again.
            Err(Name::ServiceUnavailable) => return,
            _ => break answer,
        }
    };
    match answer {
        Ok(answer) => task.succeed(Payload::new(response(call, answer, &request_id))),
        Err(error) => task.fail(failure(call, &error, &request_id)),
    }
}

/// Texts may be given as JSON: a message body is often an object.
fn request(call: Call, parameters: &Value) -> Value {
    let Value::Object(given) = parameters else { return json!({}) };
    let mut request = Map::new();
    for (name, value) in given {
        let (name, value) = match (name.as_str(), value) {
            (
                "MessageBody",
                Value::Object(_) | Value::Array(_) | Value::Number(_) | Value::Bool(_),
            ) => (name.clone(), value.to_string().into()),
            ("Tags", value) if call.operation == Operation::CreateQueue => {
                ("tags".to_owned(), value.clone())
            }
            _ => (name.clone(), value.clone()),
        };
        request.insert(name, value);
    }
    request.into()
}

/// What the task's result is. The SDK names members with one capital, and sorted.
fn response(call: Call, answer: Value, request_id: &str) -> Value {
    let Value::Object(members) = answer else { return answer };
    if call.sdk {
        return renamed(members.into());
    }
    let length = Value::Object(members.clone()).to_string().len().to_string();
    let headers = [
        ("x-amzn-RequestId", request_id),
        ("Content-Length", &length),
        ("Content-Type", "application/x-amz-json-1.0"),
    ];
    let one = headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
    let all = headers.iter().map(|(name, value)| ((*name).to_owned(), json!([value])));
    let mut result: Map<String, Value> = members;
    result.sort_keys();
    let http = json!({
        "AllHttpHeaders": all.collect::<Map<_, _>>(),
        "HttpHeaders": one.collect::<Map<_, _>>(),
        "HttpStatusCode": 200,
    });
    result.insert("SdkHttpMetadata".to_owned(), http);
    result.insert("SdkResponseMetadata".to_owned(), json!({ "RequestId": request_id }));
    result.into()
}

fn renamed(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut renamed: Map<String, Value> =
                members.into_iter().map(|(name, value)| (sdk_name(&name), value)).collect();
            renamed.sort_keys();
            renamed.values_mut().for_each(|value| *value = self::renamed(value.take()));
            renamed.into()
        }
        Value::Array(parts) => parts.into_iter().map(renamed).collect(),
        other => other,
    }
}

/// `MD5OfBody` is `Md5OfBody` in the SDK for Java, `queueUrls` is `QueueUrls` in a state machine.
fn sdk_name(name: &str) -> String {
    let name = name.replacen("MD5", "Md5", 1);
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A refusal as the failure of a task, named as recordings and the SDK for Java name it: errors that the service does
/// not declare have the name of the service.
fn failure(call: Call, error: &Error, request_id: &str) -> Failure {
    let (message, status) = (error.message(), error.status());
    let declared = match error.name() {
        Name::InvalidParameterValue
        | Name::MissingParameter
        | Name::Serialization
        | Name::InternalFailure
        | Name::ServiceUnavailable => None,
        _ => Some(error.json_name()),
    };
    let suffixed = declared.map(|name| match name.ends_with("Exception") {
        true => name.to_owned(),
        false => format!("{name}Exception"),
    });
    match call.sdk {
        false => Failure::new(
            format!("SQS.{}", suffixed.as_deref().unwrap_or("AmazonSQSException")),
            format!(
                "{message} (Service: AmazonSQS; Status Code: {status}; Error Code: {}; Request ID: {request_id}; Proxy: \
                 null)",
                error.name().code()
            ),
        ),
        true => Failure::new(
            format!("Sqs.{}", suffixed.as_deref().unwrap_or("SqsException")),
            format!(
                "{message} (Service: Sqs, Status Code: {status}, Request ID: {request_id}) (SDK Attempt Count: 1)"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resource: &str, expected: Option<(Operation, bool)>) {
        let found = call(&Resource::classify(resource)).map(|call| (call.operation, call.sdk));
        assert_eq!(found, expected, "{resource}");
    }

    #[test]
    fn resources() {
        let prefix = "arn:aws:states:::";
        let check = |resource: &str, expected| check(&format!("{prefix}{resource}"), expected);
        check("sqs:sendMessage", Some((Operation::SendMessage, false)));
        check("sqs:sendMessage.waitForTaskToken", Some((Operation::SendMessage, false)));
        check("aws-sdk:sqs:receiveMessage", Some((Operation::ReceiveMessage, true)));
        for other in [
            "sqs:receiveMessage",
            "aws-sdk:sqs:SendMessage",
            "aws-sdk:sns:publish",
            "sqs:sendMessage.sync",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn bodies_may_be_json() {
        let call = Call { operation: Operation::SendMessage, sdk: false };
        let given = json!({ "MessageBody": { "a": [1] }, "QueueUrl": "u" });
        let expected = json!({ "MessageBody": "{\"a\":[1]}", "QueueUrl": "u" });
        assert_eq!(request(call, &given), expected);
        assert_eq!(request(call, &json!({ "MessageBody": null })), json!({ "MessageBody": null }));
    }

    #[test]
    fn failures_are_named_as_recorded() {
        let of = |error: &Error, sdk| {
            let failure = failure(Call { operation: Operation::SendMessage, sdk }, error, "id");
            (failure.name().to_owned(), failure.cause.unwrap_or_default().to_string())
        };
        let recorded = "The request must contain the parameter MessageBody. (Service: AmazonSQS; Status Code: 400; Error \
                        Code: MissingParameter; Request ID: id; Proxy: null)";
        let missing = Error::missing("MessageBody");
        assert_eq!(of(&missing, false), ("SQS.AmazonSQSException".to_owned(), recorded.to_owned()));
        assert_eq!(of(&missing, true).0, "Sqs.SqsException");
        assert_eq!(of(&Error::no_such_queue(), false).0, "SQS.QueueDoesNotExistException");
        assert_eq!(of(&Error::no_such_queue(), true).0, "Sqs.QueueDoesNotExistException");
    }

    #[test]
    fn results() {
        let answer = json!({ "MessageId": "m", "MD5OfMessageBody": "d" });
        let plain =
            response(Call { operation: Operation::SendMessage, sdk: false }, answer.clone(), "id");
        assert_eq!(plain["SdkHttpMetadata"]["HttpStatusCode"], 200);
        assert_eq!((&plain["MD5OfMessageBody"], &plain["MessageId"]), (&json!("d"), &json!("m")));
        let sdk = response(Call { operation: Operation::SendMessage, sdk: true }, answer, "id");
        assert_eq!(sdk.to_string(), r#"{"Md5OfMessageBody":"d","MessageId":"m"}"#);
    }
}
