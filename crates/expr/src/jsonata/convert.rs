//! JSON to the engine's values and back. It knows nothing of expressions.

use jsonata_core::value::{JArray, JValue, with_stack};
use serde_json::{Map, Number, Value};

use super::limits;
use crate::EvalError;

/// JSON as the engine holds it; numbers become doubles.
pub(super) fn to_engine(value: &Value) -> Result<JValue, EvalError> {
    to_engine_at(value, limits::DATA_DEPTH_MAX)
}

fn to_engine_at(value: &Value, depth_left: usize) -> Result<JValue, EvalError> {
    Ok(match value {
        Value::Null => JValue::Null,
        Value::Bool(flag) => JValue::Bool(*flag),
        Value::Number(number) => JValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => JValue::string(text.as_str()),
        Value::Array(items) => {
            let depth_left = deeper(depth_left)?;
            let flat = !items.iter().any(Value::is_array);
            let items = with_stack(|| {
                items.iter().map(|item| to_engine_at(item, depth_left)).collect::<Result<_, _>>()
            })?;
            JValue::Array(JArray::new_flat(items, flat))
        }
        Value::Object(fields) => {
            let depth_left = deeper(depth_left)?;
            JValue::object(with_stack(|| {
                fields
                    .iter()
                    .map(|(name, field)| Ok((name.clone(), to_engine_at(field, depth_left)?)))
                    .collect::<Result<_, EvalError>>()
            })?)
        }
    })
}

fn deeper(depth_left: usize) -> Result<usize, EvalError> {
    depth_left.checked_sub(1).ok_or_else(limits::data_depth)
}

/// The engine's value as JSON; `None` is undefined.
pub(super) fn from_engine(value: &JValue) -> Result<Option<Value>, EvalError> {
    Output { values_left: limits::RESULT_VALUES_MAX, bytes_left: limits::ALLOCATED_BYTES_MAX }
        .convert(value, limits::DATA_DEPTH_MAX)
}

/// What may still be written. Parts that the engine shares are written out
/// each time they occur, so a small value can be a huge document.
struct Output {
    values_left: usize,
    bytes_left: usize,
}

impl Output {
    fn convert(&mut self, value: &JValue, depth_left: usize) -> Result<Option<Value>, EvalError> {
        self.values_left = spend(self.values_left, 1)?;
        Ok(Some(match value {
            JValue::Undefined => return Ok(None),
            JValue::Null => Value::Null,
            JValue::Bool(flag) => Value::Bool(*flag),
            JValue::Number(number) => Value::Number(number_from(*number)?),
            JValue::String(text) => Value::String(self.text(text)?),
            JValue::Array(items) => {
                let depth_left = deeper(depth_left)?;
                with_stack(|| self.array(items, depth_left))?
            }
            JValue::Object(fields) => {
                let depth_left = deeper(depth_left)?;
                with_stack(|| self.object(fields.iter(), depth_left))?
            }
            JValue::Lambda(_) | JValue::Builtin { .. } | JValue::Regex { .. } => {
                return Err(EvalError::NotJson);
            }
        }))
    }

    fn text(&mut self, text: &str) -> Result<String, EvalError> {
        self.bytes_left = spend(self.bytes_left, text.len())?;
        Ok(text.to_owned())
    }

    fn array(&mut self, items: &[JValue], depth_left: usize) -> Result<Value, EvalError> {
        let mut array = Vec::new();
        for item in items {
            array.push(self.convert(item, depth_left)?.unwrap_or(Value::Null));
        }
        Ok(Value::Array(array))
    }

    fn object<'a>(
        &mut self,
        fields: impl Iterator<Item = (&'a String, &'a JValue)>,
        depth_left: usize,
    ) -> Result<Value, EvalError> {
        let mut object = Map::new();
        for (name, field) in fields {
            if let Some(field) = self.convert(field, depth_left)? {
                object.insert(self.text(name)?, field);
            }
        }
        Ok(Value::Object(object))
    }
}

fn spend(left: usize, amount: usize) -> Result<usize, EvalError> {
    left.checked_sub(amount).ok_or_else(limits::memory)
}

/// Whole numbers are written as such: `1`, not `1.0`; `-0` is `0`.
pub(super) fn number_from(number: f64) -> Result<Number, EvalError> {
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    // Whole and within 53 bits.
    if number.fract() == 0.0 && number.abs() <= WHOLE_MAX {
        return Ok(Number::from(number as i64));
    }
    Number::from_f64(number).ok_or_else(|| EvalError::Jsonata {
        code: Some("D1001".to_owned()),
        message: format!("Number out of range: {}", javascript_name(number)),
    })
}

fn javascript_name(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, expected: &Value) {
        let engine = to_engine(value).expect("it converts");
        let back = from_engine(&engine).expect("it converts back");
        assert_eq!(back.as_ref(), Some(expected));
    }

    #[test]
    fn json_survives() {
        for value in [
            json!(null),
            json!(true),
            json!("é\u{10000}"),
            json!([[], {}, [1, 2.5]]),
            json!({"b": 1, "a": {"c": null}}),
        ] {
            check(&value, &value);
        }
    }

    #[test]
    fn numbers_print_as_javascript_would() {
        check(&json!(1.0), &json!(1));
        check(&json!(-0.0), &json!(0));
        check(&json!(1e300), &json!(1e300));
        check(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64));
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn depth_is_bounded() {
        check(&nested(limits::DATA_DEPTH_MAX), &nested(limits::DATA_DEPTH_MAX));
        let mut deep = nested(10_000);
        assert_eq!(to_engine(&deep).unwrap_err(), limits::data_depth());
        // A document that deep can only be dropped level by level.
        while let Value::Array(mut items) = deep {
            deep = items.pop().unwrap_or_default();
        }
    }
}
