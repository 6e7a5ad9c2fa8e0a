//! Whether a JSON value can be read as a shape at all: the first that cannot ends the request.
//!
//! The words are those of the framework the service is built on. Other services built on it have been
//! seen to say `STRING_VALUE can not be converted to an Integer` (SQS, CodeDeploy, DynamoDB),
//! `NUMBER_VALUE can not be converted to a String` (Amazon Ads, Cognito), `TRUE_VALUE ...` (Cognito),
//! `DECIMAL_VALUE ...`, `Unexpected field type` (DynamoDB), `Start of structure or map found where not
//! expected.` (SQS, Kinesis), `Start of list found where not expected` (Kinesis; DynamoDB and SQS also
//! say `Unrecognized collection type class java.lang.String`). That Step Functions says the same is a guess.
//!
//! Two things are stricter here, since a value that is quietly changed helps nobody: AWS cuts the fraction
//! off a number where an integer is wanted, and reads `"true"` as a boolean.

use serde_json::Value;

use super::shape::{Kind, Shape};

const LIST: &str = "Start of list found where not expected";
const MAP: &str = "Start of structure or map found where not expected.";
const FIELD: &str = "Unexpected field type";

/// Compares types only; `null` is no value, of any shape. Members that the shape does not have are let
/// pass, as the service lets them.
pub(super) fn convertible(shape: &Shape, value: &Value) -> Result<(), String> {
    match (&shape.kind, value) {
        (_, Value::Null) => Ok(()),
        (Kind::Structure(members), Value::Object(found)) => {
            // In the order of the text, as a reader of streams meets them.
            found.iter().try_for_each(|(name, value)| {
                match members.iter().find(|member| member.name == name) {
                    Some(member) => convertible(member.shape, value),
                    None => Ok(()),
                }
            })
        }
        (Kind::Map { value: shape }, Value::Object(found)) => {
            found.values().try_for_each(|value| convertible(shape, value))
        }
        (Kind::List { element, .. }, Value::Array(found)) => {
            found.iter().try_for_each(|value| convertible(element, value))
        }
        (_, Value::Array(_)) => Err(LIST.to_owned()),
        (_, Value::Object(_)) => Err(MAP.to_owned()),
        (Kind::Structure(_) | Kind::Map { .. } | Kind::List { .. }, _) => Err(FIELD.to_owned()),
        (kind, scalar) if fits(kind, scalar) => Ok(()),
        (kind, scalar) => Err(format!("{} can not be converted to {}", token(scalar), noun(kind))),
    }
}

fn fits(kind: &Kind, scalar: &Value) -> bool {
    match kind {
        Kind::Text { .. } => scalar.is_string(),
        Kind::Integer(_) => scalar.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        Kind::Long(_) => scalar.is_i64(),
        Kind::Float(_) | Kind::Timestamp => scalar.is_number(),
        Kind::Boolean => scalar.is_boolean(),
        Kind::Structure(_) | Kind::Map { .. } | Kind::List { .. } => false,
    }
}

fn token(scalar: &Value) -> &'static str {
    match scalar {
        Value::String(_) => "STRING_VALUE",
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        _ => "NUMBER_VALUE",
    }
}

fn noun(kind: &Kind) -> &'static str {
    match kind {
        Kind::Integer(_) => "an Integer",
        Kind::Long(_) => "a Long",
        Kind::Float(_) => "a Float",
        Kind::Boolean => "a Boolean",
        Kind::Timestamp => "milliseconds since epoch",
        _ => "a String",
    }
}
