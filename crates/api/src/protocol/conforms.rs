//! Whether what an operation returns is what its clients expect: for tests and debug builds.

use serde_json::Value;

use super::model::Operation;
use super::serialization::convertible;
use super::shape::{Kind, Shape};

/// Compares an output with the model: no member the operation does not have, all that are required,
/// all of their types. The message names the place.
pub fn conforms(operation: Operation, output: &Value) -> Result<(), String> {
    value(operation.output(), output, "")
}

fn value(shape: &Shape, found: &Value, place: &str) -> Result<(), String> {
    match (&shape.kind, found) {
        (Kind::Structure(_), Value::Object(members)) => {
            let required = shape.members().iter().filter(|member| member.required);
            for member in required {
                if members.get(member.name).is_none_or(Value::is_null) {
                    return Err(format!("{place}.{} is required", member.name));
                }
            }
            members.iter().try_for_each(|(name, found)| {
                let place = format!("{place}.{name}");
                match shape.members().iter().find(|member| member.name == name) {
                    Some(member) => value(member.shape, found, &place),
                    None => Err(format!("{place} is not a member of {}", shape.name)),
                }
            })
        }
        (Kind::List { element, .. }, Value::Array(parts)) => {
            let mut numbered = parts.iter().enumerate();
            numbered
                .try_for_each(|(index, part)| value(element, part, &format!("{place}[{index}]")))
        }
        (Kind::Map { value: of }, Value::Object(parts)) => {
            parts.iter().try_for_each(|(key, part)| value(of, part, &format!("{place}.{key}")))
        }
        _ => convertible(shape, found).map_err(|message| format!("{place}: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(operation: Operation, output: Value, expected: Result<(), &str>) {
        assert_eq!(conforms(operation, &output), expected.map_err(str::to_owned));
    }

    #[test]
    fn outputs() {
        let start = Operation::StartExecution;
        check(start, json!({ "executionArn": "a", "startDate": 1.5 }), Ok(()));
        check(start, json!({ "executionArn": "a" }), Err(".startDate is required"));
        check(
            start,
            json!({ "executionArn": "a", "startDate": "now" }),
            Err(".startDate: STRING_VALUE can not be converted to milliseconds since epoch"),
        );
        check(
            start,
            json!({ "executionArn": "a", "startDate": 1, "name": "n" }),
            Err(".name is not a member of StartExecutionOutput"),
        );
        let event = json!({ "timestamp": 1, "type": "PassStateEntered", "id": 1, "details": {} });
        check(
            Operation::GetExecutionHistory,
            json!({ "events": [event] }),
            Err(".events[0].details is not a member of HistoryEvent"),
        );
        check(Operation::TagResource, json!({}), Ok(()));
        check(Operation::TagResource, json!([]), Err(": Start of list found where not expected"));
    }
}
