//! Functions on numbers.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

use super::function::Values;
use crate::Entropy;

/// An integer; a fraction is rounded to the nearest one, a half upwards: 1.5 to 2, -1.5 to -1.
// The range is checked before.
pub(super) fn integer(value: &Value, what: &str) -> Result<i64, String> {
    if let Some(number) = value.as_i64() {
        return Ok(number);
    }
    let Value::Number(number) = value else {
        return Err(format!("{what} must be a number, but is {value}"));
    };
    // The difference is exact, where adding a half would not be.
    let number = number.as_f64().unwrap_or(f64::NAN);
    let rounded = number.floor() + f64::from(u8::from(number - number.floor() >= 0.5));
    let bound = 2_f64.powi(63);
    if !(-bound..bound).contains(&rounded) {
        return Err(format!("{what} is out of range: {value}"));
    }
    Ok(rounded as i64)
}

pub(super) fn add(values: &Values<'_>) -> Result<Value, String> {
    let left = integer(&values[0], "the first argument")?;
    let right = integer(&values[1], "the second argument")?;
    let sum = left.checked_add(right);
    sum.map(Value::from).ok_or_else(|| "the sum is out of range".into())
}

/// From the first, included, to the second, not included.
pub(super) fn random(values: &Values<'_>, entropy: &Entropy) -> Result<Value, String> {
    let start = integer(&values[0], "the start")?;
    let end = integer(&values[1], "the end")?;
    if start >= end {
        return Err(format!(
            "the start must be less than the end, but {start} is not less than {end}"
        ));
    }
    let bits = match values.get(2) {
        Some(seed) => seeded(integer(seed, "the seed")?),
        None => entropy.next_u64(),
    };
    // Multiplied into the range: a remainder would prefer small numbers.
    let width = u128::from(end.abs_diff(start));
    let offset = (u128::from(bits) * width) >> 64;
    let number = i128::from(start) + i128::try_from(offset).unwrap_or_default();
    Ok(i64::try_from(number).unwrap_or(start).into())
}

/// The same seed gives the same number, whatever else is drawn.
fn seeded(seed: i64) -> u64 {
    Pcg64Mcg::seed_from_u64(u64::from_ne_bytes(seed.to_ne_bytes())).next_u64()
}
