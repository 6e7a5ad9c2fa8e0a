//! Operations as tasks call them: `arn:aws:states:::aws-sdk:sfn:describeExecution`.
//!
//! The members of requests and responses have the names of the model with a capital, times are text,
//! and what should be text but is not is written as JSON.

use everstep_api::protocol::{Error, Kind, Operation, Shape};
use everstep_expr::timestamp;
use everstep_interpreter::Failure;
use serde_json::{Map, Value};

/// By which integration a task calls the service: errors are named after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integration {
    /// `arn:aws:states:::states:...`
    Optimised,
    /// `arn:aws:states:::aws-sdk:sfn:...`
    Sdk,
}

/// The operation of an action: `startExecution`.
pub(crate) fn operation(action: &str) -> Option<Operation> {
    action.chars().next().filter(char::is_ascii_lowercase)?;
    Operation::find(&capital(action))
}

/// What a task gives as a request of an operation; a member that the operation does not have fails it.
pub(crate) fn request(operation: Operation, parameters: &Value) -> Result<Value, Failure> {
    read(operation.input(), parameters).map_err(|member| {
        let cause = format!("the field '{member}' is not supported by {}", operation.name());
        Failure::new("States.Runtime", cause)
    })
}

fn read(shape: &Shape, value: &Value) -> Result<Value, String> {
    Ok(match (&shape.kind, value) {
        (Kind::Structure(members), Value::Object(found)) => {
            let mut request = Map::new();
            for (name, value) in found {
                let member = members.iter().find(|member| capital(member.name) == *name);
                let member = member.ok_or_else(|| name.clone())?;
                request.insert(member.name.to_owned(), read(member.shape, value)?);
            }
            Value::Object(request)
        }
        (Kind::List { element, .. }, Value::Array(found)) => {
            found.iter().map(|part| read(element, part)).collect::<Result<_, _>>()?
        }
        (Kind::Text { .. }, Value::String(_) | Value::Null) => value.clone(),
        (Kind::Text { .. }, other) => other.to_string().into(),
        _ => value.clone(),
    })
}

/// What an operation returns as the result of a task.
pub(crate) fn response(operation: Operation, output: &Value) -> Value {
    written(operation.output(), output)
}

fn written(shape: &Shape, value: &Value) -> Value {
    match (&shape.kind, value) {
        (Kind::Structure(members), Value::Object(found)) => {
            let shape_of =
                |name: &str| members.iter().find(|member| member.name == name).map(|m| m.shape);
            let mut members: Vec<(String, Value)> = found
                .iter()
                .filter_map(|(name, value)| Some((capital(name), written(shape_of(name)?, value))))
                .collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.into_iter().collect()
        }
        (Kind::List { element, .. }, Value::Array(found)) => {
            found.iter().map(|part| written(element, part)).collect()
        }
        (Kind::Timestamp, Value::Number(seconds)) => {
            let ms = (seconds.as_f64().unwrap_or_default() * 1000.0).round() as i64;
            timestamp::format_millis(ms).into()
        }
        _ => value.clone(),
    }
}

/// A refusal of an operation as the failure of a task. That the optimised integration writes its causes
/// as others of its age do is a guess; those of the SDK are recorded.
pub(crate) fn failure(integration: Integration, error: &Error) -> Failure {
    let (name, message, status) = (error.name(), error.message(), error.status());
    let suffix = if name.ends_with("Exception") { "" } else { "Exception" };
    let request_id = uuid::Uuid::new_v4();
    match integration {
        Integration::Optimised => Failure::new(
            format!("StepFunctions.{name}{suffix}"),
            format!(
                "{message} (Service: AWSStepFunctions; Status Code: {status}; Error Code: {name}; \
                 Request ID: {request_id}; Proxy: null)"
            ),
        ),
        Integration::Sdk => Failure::new(
            format!("Sfn.{name}{suffix}"),
            format!(
                "{message} (Service: Sfn, Status Code: {status}, Request ID: {request_id}) (SDK \
                 Attempt Count: 1)"
            ),
        ),
    }
}

fn capital(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use everstep_api::protocol::Name;
    use serde_json::json;

    use super::*;

    fn check(parameters: Value, expected: Result<Value, &str>) {
        let found = request(Operation::StartExecution, &parameters);
        let found = found.map_err(|failure| failure.cause.unwrap_or_default().to_string());
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn requests() {
        check(
            json!({ "StateMachineArn": "m", "Input": { "a": [1] } }),
            Ok(json!({ "stateMachineArn": "m", "input": "{\"a\":[1]}" })),
        );
        check(
            json!({ "Input": "\"text\"", "Name": null }),
            Ok(json!({ "input": "\"text\"", "name": null })),
        );
        check(json!({ "input": 1 }), Err("the field 'input' is not supported by StartExecution"));
    }

    #[test]
    fn responses() {
        let output = json!({ "startDate": 1_700_000_000.123, "executionArn": "e" });
        let expected = json!({ "ExecutionArn": "e", "StartDate": "2023-11-14T22:13:20.123Z" });
        let found = response(Operation::StartExecution, &output);
        assert_eq!(found.to_string(), expected.to_string());
    }

    #[test]
    fn failures() {
        let of = |integration, name| {
            let error = Error::new(Operation::StartExecution, name, "no");
            let failure = failure(integration, &error);
            (failure.name().to_owned(), failure.cause.unwrap_or_default().to_string())
        };
        let (name, cause) = of(Integration::Optimised, Name::ExecutionAlreadyExists);
        assert_eq!(name, "StepFunctions.ExecutionAlreadyExistsException");
        assert!(cause.starts_with("no (Service: AWSStepFunctions; Status Code: 400;"), "{cause}");
        let (name, cause) = of(Integration::Sdk, Name::ValidationException);
        assert_eq!(name, "Sfn.ValidationException");
        assert!(cause.starts_with("no (Service: Sfn, Status Code: 400, Request ID: "), "{cause}");
        assert!(cause.ends_with(") (SDK Attempt Count: 1)"), "{cause}");
    }

    #[test]
    fn actions() {
        assert_eq!(operation("sendTaskSuccess"), Some(Operation::SendTaskSuccess));
        assert_eq!(operation("StartExecution"), None);
        assert_eq!(operation("fly"), None);
    }
}
