//! Numbers that a state's settings refer to, and what is said when they are none.

use everstep_asl::model::Operand;
use serde_json::Value;

use crate::fault::{Fault, unexpected_type};
use crate::flow::{Evaluation, Place};

/// `TimeoutSeconds`, `HeartbeatSeconds`.
pub(crate) fn seconds(
    evaluation: &Evaluation<'_>,
    operand: Option<&Operand<u64>>,
    field: &'static str,
    input: &Value,
) -> Result<Option<u64>, Fault> {
    let Some(operand) = operand else { return Ok(None) };
    let value = evaluation.operand(operand, field, input, |value, place| {
        let found = integer(value, place)?;
        u64::try_from(found).ok().filter(|seconds| *seconds > 0).ok_or_else(|| {
            Fault::Runtime(format!("{field} must be a positive integer but was: {value}"))
        })
    })?;
    Ok(Some(value))
}

/// A count that cannot be negative: `MaxConcurrency`, `ToleratedFailureCount`, batch sizes.
pub(crate) fn count(
    evaluation: &Evaluation<'_>,
    operand: Option<&Operand<u64>>,
    field: &'static str,
    input: &Value,
) -> Result<Option<u64>, Fault> {
    let Some(operand) = operand else { return Ok(None) };
    let value = evaluation.operand(operand, field, input, |value, place| {
        let found = integer(value, place)?;
        u64::try_from(found).map_err(|_| Fault::Runtime(format!("{field} cannot be negative.")))
    })?;
    Ok(Some(value))
}

pub(crate) fn percentage(
    evaluation: &Evaluation<'_>,
    operand: Option<&Operand<f64>>,
    input: &Value,
) -> Result<Option<f64>, Fault> {
    let field = "ToleratedFailurePercentage";
    let Some(operand) = operand else { return Ok(None) };
    let value = evaluation.operand(operand, field, input, |value, place| {
        let found = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let found = found.ok_or_else(|| not_a_number(place, "float", "number", value))?;
        if (0.0..=100.0).contains(&found) {
            return Ok(found);
        }
        Err(Fault::Runtime(format!("{field} must be between 0 and 100.")))
    })?;
    Ok(Some(value))
}

/// Texts that hold an integer are taken too, as the service does.
fn integer(value: &Value, place: Place<'_>) -> Result<i64, Fault> {
    let found = match value {
        // Only whole numbers in range pass.
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    found.ok_or_else(|| not_a_number(place, "integer", "number", value))
}

fn not_a_number(place: Place<'_>, kind: &str, json_type: &str, value: &Value) -> Fault {
    match place {
        Place::Path { field, path } => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Fault::Runtime(format!(
                "The {field}Path field refers to value \"{text}\" which is not a valid {kind}: {path}"
            ))
        }
        Place::Jsonata { field, expression } => {
            unexpected_type(field, expression, json_type, value)
        }
    }
}
