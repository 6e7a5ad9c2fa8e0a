//! Functions on arrays.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::function::Values;
use super::math::integer;

/// The service makes no longer ranges.
const RANGE_MAX: usize = 1000;

fn items(value: &Value) -> Result<&Vec<Value>, String> {
    let refused = || format!("the first argument must be an array, but is {value}");
    value.as_array().ok_or_else(refused)
}

pub(super) fn partition(values: Values<'_>) -> Result<Value, String> {
    let size = integer(&values[1], "the size")?;
    let size = usize::try_from(size).ok().filter(|size| *size > 0);
    let size = size.ok_or("the size must be positive")?;
    let parts = items(&values[0])?.chunks(size);
    Ok(parts.map(|part| Value::Array(part.to_vec())).collect())
}

pub(super) fn contains(values: &Values<'_>) -> Result<Value, String> {
    Ok(items(&values[0])?.contains(&values[1]).into())
}

/// Both ends are included.
pub(super) fn range(values: &Values<'_>) -> Result<Value, String> {
    let first = integer(&values[0], "the first value")?;
    let last = integer(&values[1], "the last value")?;
    let step = integer(&values[2], "the step")?;
    if step == 0 {
        return Err("the step must not be 0".into());
    }
    let ahead = |value: i64| {
        if step > 0 { value <= last } else { value >= last }
    };
    let mut range = Vec::new();
    let mut next = Some(first);
    while let Some(value) = next.filter(|value| ahead(*value)) {
        if range.len() == RANGE_MAX {
            return Err(format!("the range has more than {RANGE_MAX} values"));
        }
        range.push(Value::from(value));
        next = value.checked_add(step);
    }
    Ok(Value::Array(range))
}

pub(super) fn item(mut values: Values<'_>) -> Result<Value, String> {
    let index = integer(&values[1], "the index")?;
    let len = items(&values[0])?.len();
    let missing = || format!("there is no item {index} in an array of {len}");
    let index = usize::try_from(index).ok().filter(|index| *index < len);
    let index = index.ok_or_else(missing)?;
    match values.swap_remove(0) {
        Cow::Owned(Value::Array(mut items)) => Ok(items.swap_remove(index)),
        array => Ok(array[index].clone()),
    }
}

pub(super) fn length(values: &Values<'_>) -> Result<Value, String> {
    Ok(items(&values[0])?.len().into())
}

/// The first of each, in order.
pub(super) fn unique(values: &Values<'_>) -> Result<Value, String> {
    let mut seen = HashSet::new();
    let items = items(&values[0])?.iter();
    Ok(items.filter(|item| seen.insert(*item)).cloned().collect())
}
