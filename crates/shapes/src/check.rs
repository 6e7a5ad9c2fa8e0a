//! Whether a value is what an action returns.

use std::fmt;

use serde_json::{Map, Value};

use crate::table::{Bounds, Output, Service, Shape};

/// Whether fields that a response always has must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Required {
    Checked,
    Ignored,
}

/// The first field that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The field's own name; none for the response as a whole.
    pub field: Option<String>,
    pub problem: Problem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    Missing,
    NotAString,
    NotANumber,
    NotABoolean,
    NotAnArray,
    NotAnObject,
    UnexpectedValue,
    TooShort,
    TooLong,
    TooSmall,
    TooLarge,
}

/// In the service's words.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.as_deref().unwrap_or("result");
        let says = match self.problem {
            Problem::Missing => return write!(f, "Required field '{field}' is missing"),
            Problem::NotAString => "must be a string",
            Problem::NotANumber => "must be a number",
            Problem::NotABoolean => "must be a boolean",
            Problem::NotAnArray => "must be an array",
            Problem::NotAnObject => "must be an object",
            Problem::UnexpectedValue => "is not an expected value",
            Problem::TooShort => "is smaller than the minimum length",
            Problem::TooLong => "exceeds the maximum length",
            Problem::TooSmall => "is less than the minimum value",
            Problem::TooLarge => "exceeds the maximum value",
        };
        write!(f, "Field '{field}' {says}")
    }
}

impl Output {
    /// Compares a value with the response. Fields that the response does not have are let pass: the
    /// service may have learnt them since.
    pub fn check(&self, value: &Value, required: Required) -> Result<(), Mismatch> {
        let Some(shape) = self.shape else { return Ok(()) };
        Check { service: self.service, required }.value(shape, None, value)
    }
}

struct Check {
    service: &'static Service,
    required: Required,
}

impl Check {
    fn value(&self, shape: usize, field: Option<&str>, value: &Value) -> Result<(), Mismatch> {
        let fails = |problem| Err(Mismatch { field: field.map(str::to_owned), problem });
        let Some(shape) = self.service.shapes.get(shape) else { return Ok(()) };
        match (shape, value) {
            // A field without a value is a field that is not there.
            (Shape::Anything, _) | (_, Value::Null) => Ok(()),
            (Shape::Structure { fields, required }, Value::Object(found)) => {
                self.structure(fields, required, found)
            }
            (Shape::Map { value }, Value::Object(found)) => {
                found.iter().try_for_each(|(key, part)| self.value(*value, Some(key), part))
            }
            (Shape::Structure { .. } | Shape::Map { .. }, _) => fails(Problem::NotAnObject),
            (Shape::List { element, length }, Value::Array(found)) => {
                within(*length, count(found.len()), Problem::TooShort, Problem::TooLong)
                    .or_else(fails)?;
                found.iter().try_for_each(|part| self.value(*element, field, part))
            }
            (Shape::List { .. }, _) => fails(Problem::NotAnArray),
            (Shape::Text { values, length }, Value::String(found)) => {
                text(values, *length, found).or_else(fails)
            }
            (Shape::Bytes { length }, Value::String(found)) => bytes(*length, found).or_else(fails),
            (Shape::Text { .. } | Shape::Bytes { .. }, _) => fails(Problem::NotAString),
            (Shape::Number { bounds }, Value::Number(found)) => match found.as_f64() {
                Some(found) => {
                    within(*bounds, found, Problem::TooSmall, Problem::TooLarge).or_else(fails)
                }
                None => Ok(()),
            },
            (Shape::Number { .. }, _) => fails(Problem::NotANumber),
            (Shape::Boolean, Value::Bool(_)) => Ok(()),
            (Shape::Boolean, _) => fails(Problem::NotABoolean),
        }
    }

    fn structure(
        &self,
        fields: &[(String, usize)],
        required: &[String],
        found: &Map<String, Value>,
    ) -> Result<(), Mismatch> {
        let missing = |name: &&String| found.get(*name).is_none_or(Value::is_null);
        if self.required == Required::Checked
            && let Some(name) = required.iter().find(missing)
        {
            return Err(Mismatch { field: Some(name.clone()), problem: Problem::Missing });
        }
        found.iter().try_for_each(|(name, part)| {
            match fields.iter().find(|(known, _)| known == name) {
                Some((_, shape)) => self.value(*shape, Some(name), part),
                None => Ok(()),
            }
        })
    }
}

fn text(values: &[String], length: Bounds, found: &str) -> Result<(), Problem> {
    if !values.is_empty() && !values.iter().any(|value| value == found) {
        return Err(Problem::UnexpectedValue);
    }
    within(length, count(found.chars().count()), Problem::TooShort, Problem::TooLong)
}

/// Bounds are of the bytes, and four characters of Base64 stand for three of them.
fn bytes(length: Bounds, found: &str) -> Result<(), Problem> {
    let characters = found.trim_end_matches('=').len();
    within(length, count(characters * 3 / 4), Problem::TooShort, Problem::TooLong)
}

fn within(bounds: Bounds, found: f64, below: Problem, above: Problem) -> Result<(), Problem> {
    if bounds.min.is_some_and(|min| found < min) {
        return Err(below);
    }
    if bounds.max.is_some_and(|max| found > max) {
        return Err(above);
    }
    Ok(())
}

// Lengths are far below 2^53.
fn count(length: usize) -> f64 {
    length as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output;

    /// `action` is `service:action`.
    fn check(action: &str, value: Value, expected: Option<&str>) {
        let (service, action) = action.split_once(':').expect("service:action");
        let output = output(service, action).expect("an action of the table");
        let found = output.check(&value, Required::Checked).err().map(|found| found.to_string());
        assert_eq!(found.as_deref(), expected, "{action} {value}");
    }

    #[test]
    fn types_are_told_apart() {
        check("eventbridge:putEvents", json!({ "Entries": [{ "EventId": "e" }] }), None);
        check(
            "eventbridge:putEvents",
            json!({ "Entries": [{ "EventId": "e" }, { "EventId": 1 }] }),
            Some("Field 'EventId' must be a string"),
        );
        check(
            "eventbridge:putEvents",
            json!({ "Entries": {} }),
            Some("Field 'Entries' must be an array"),
        );
        check(
            "lambda:invoke",
            json!({ "StatusCode": "200" }),
            Some("Field 'StatusCode' must be a number"),
        );
        check(
            "dynamodb:putItem",
            json!({ "ConsumedCapacity": 1 }),
            Some("Field 'ConsumedCapacity' must be an object"),
        );
        check(
            "s3:getObject",
            json!({ "DeleteMarker": "no" }),
            Some("Field 'DeleteMarker' must be a boolean"),
        );
        check("eventbridge:putEvents", json!([]), Some("Field 'result' must be an object"));
    }

    #[test]
    fn values_are_bounded() {
        let memory = |size: i64| json!({ "Configuration": { "MemorySize": size } });
        check("lambda:getFunction", memory(128), None);
        check(
            "lambda:getFunction",
            memory(127),
            Some("Field 'MemorySize' is less than the minimum value"),
        );
        check(
            "lambda:getFunction",
            memory(1 << 40),
            Some("Field 'MemorySize' exceeds the maximum value"),
        );
        check(
            "kms:encrypt",
            json!({ "CiphertextBlob": "" }),
            Some("Field 'CiphertextBlob' is smaller than the minimum length"),
        );
        check(
            "kms:encrypt",
            json!({ "KeyId": "k".repeat(4000) }),
            Some("Field 'KeyId' exceeds the maximum length"),
        );
        check(
            "s3:getObject",
            json!({ "StorageClass": "Papyrus" }),
            Some("Field 'StorageClass' is not an expected value"),
        );
    }

    #[test]
    fn what_a_response_always_has_must_be_there() {
        check("sfn:startExecution", json!({}), Some("Required field 'ExecutionArn' is missing"));
        let output = output("sfn", "startExecution").expect("an action of the table");
        assert_eq!(output.check(&json!({}), Required::Ignored), Ok(()));
        assert!(output.check(&json!({ "StartDate": true }), Required::Ignored).is_err());
    }

    #[test]
    fn unknown_fields_and_recursive_shapes_pass() {
        check("sqs:sendMessage", json!({ "Novelty": [1] }), None);
        let item = json!({ "Attributes": { "a": { "L": [{ "M": { "b": { "S": "x" } } }] } } });
        check("dynamodb:putItem", item, None);
        let item = json!({ "Attributes": { "a": { "L": [{ "M": { "b": { "S": 1 } } }] } } });
        check("dynamodb:putItem", item, Some("Field 'S' must be a string"));
        check("sqs:deleteMessage", json!({ "Anything": 1 }), None);
    }
}
