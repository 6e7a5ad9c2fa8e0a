//! Functions on strings and on JSON as such.

use std::borrow::Cow;
use std::fmt::Write;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use md5::{Digest, Md5};
use serde_json::Value;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use super::function::Values;

/// Characters that are encoded, decoded or hashed, as the service allows.
const CHARACTERS_MAX: usize = 10_000;

/// Reads with or without padding, writes with it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn string<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    let refused = || format!("{what} must be a string, but is {value}");
    value.as_str().ok_or_else(refused)
}

fn short<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    let text = string(value, what)?;
    if text.len() > CHARACTERS_MAX && text.chars().count() > CHARACTERS_MAX {
        return Err(format!("{what} has more than {CHARACTERS_MAX} characters"));
    }
    Ok(text)
}

/// Nothing but blanks is null, as Jackson has it.
pub(super) fn to_json(values: &Values<'_>) -> Result<Value, String> {
    let text = string(&values[0], "the argument")?;
    if text.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    let mut value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    if text.contains("-0") {
        drop_signs_of_zero(&mut value);
    }
    Ok(value)
}

/// `-0` is the integer 0, where serde_json has the float -0.0.
fn drop_signs_of_zero(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) => *value = 0.into(),
        Value::Array(items) => items.iter_mut().for_each(drop_signs_of_zero),
        Value::Object(fields) => fields.values_mut().for_each(drop_signs_of_zero),
        _ => {}
    }
}

pub(super) fn encode(values: &Values<'_>) -> Result<Value, String> {
    Ok(BASE64.encode(short(&values[0], "the argument")?).into())
}

pub(super) fn decode(values: &Values<'_>) -> Result<Value, String> {
    let bytes = BASE64
        .decode(short(&values[0], "the argument")?)
        .map_err(|error| format!("not Base64: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "what is encoded is not UTF-8 text")?;
    Ok(text.into())
}

pub(super) fn hash(values: &Values<'_>) -> Result<Value, String> {
    let data = short(&values[0], "the data")?.as_bytes();
    let algorithm = string(&values[1], "the algorithm")?;
    let digest = match algorithm {
        "MD5" => hexadecimal(&Md5::digest(data)),
        "SHA-1" => hexadecimal(&Sha1::digest(data)),
        "SHA-256" => hexadecimal(&Sha256::digest(data)),
        "SHA-384" => hexadecimal(&Sha384::digest(data)),
        "SHA-512" => hexadecimal(&Sha512::digest(data)),
        _ => {
            return Err(format!(
                "the algorithm must be MD5, SHA-1, SHA-256, SHA-384 or SHA-512, but is {algorithm}"
            ));
        }
    };
    Ok(digest.into())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Shallow: the second object's fields win.
pub(super) fn merge(values: Values<'_>) -> Result<Value, String> {
    match *values[2] {
        Value::Bool(false) => {}
        Value::Bool(true) => return Err("deep merging is not supported: pass false".into()),
        _ => return Err("the third argument must be false".into()),
    }
    let mut objects = values.into_iter().take(2).map(Cow::into_owned);
    match (objects.next(), objects.next()) {
        (Some(Value::Object(mut first)), Some(Value::Object(second))) => {
            first.extend(second);
            Ok(Value::Object(first))
        }
        _ => Err("the first two arguments must be objects".into()),
    }
}

/// Each character of the delimiter delimits, and empty parts are dropped.
pub(super) fn split(values: &Values<'_>) -> Result<Value, String> {
    let text = string(&values[0], "the text")?;
    let delimiters = string(&values[1], "the delimiter")?;
    let parts = text.split(|character| delimiters.contains(character));
    Ok(parts.filter(|part| !part.is_empty()).collect())
}
