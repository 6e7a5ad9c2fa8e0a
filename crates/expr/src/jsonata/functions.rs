//! The functions Step Functions adds to JSONata, and those that would otherwise read a
//! clock or draw randomness.

use std::rc::Rc;

use jsonata_core::evaluator::{Evaluator, EvaluatorError, HostFnResult};
use jsonata_core::value::JValue;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::convert;
use super::guard::{Ledger, engine_call};
use super::limits::SEQUENCE_LENGTH_MAX;
use crate::Entropy;

/// All functions an expression can call, in order.
pub(super) const NAMES: [&str; 69] = [
    "abs",
    "append",
    "assert",
    "average",
    "base64decode",
    "base64encode",
    "boolean",
    "ceil",
    "contains",
    "count",
    "decodeUrl",
    "decodeUrlComponent",
    "distinct",
    "each",
    "encodeUrl",
    "encodeUrlComponent",
    "error",
    "eval",
    "exists",
    "filter",
    "floor",
    "formatBase",
    "formatInteger",
    "formatNumber",
    "fromMillis",
    "hash",
    "join",
    "keys",
    "length",
    "lookup",
    "lowercase",
    "map",
    "match",
    "max",
    "merge",
    "millis",
    "min",
    "not",
    "now",
    "number",
    "pad",
    "parse",
    "parseInteger",
    "partition",
    "power",
    "random",
    "range",
    "reduce",
    "replace",
    "reverse",
    "round",
    "shuffle",
    "sift",
    "single",
    "sort",
    "split",
    "spread",
    "sqrt",
    "string",
    "substring",
    "substringAfter",
    "substringBefore",
    "sum",
    "toMillis",
    "trim",
    "type",
    "uppercase",
    "uuid",
    "zip",
];

pub(super) fn is_function(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
}

/// Registers those of the functions of this module that are among `names`.
pub(super) fn register(
    evaluator: &mut Evaluator,
    names: &[String],
    entropy: &Entropy,
    ledger: &Rc<Ledger>,
) -> Result<(), EvaluatorError> {
    let now_ms = entropy.now_ms();
    for name in names {
        // The engine keeps its functions for as long as it likes, so each draws from a
        // stream of its own, started by a draw from the one that is lent.
        let own = || Entropy::new(now_ms, entropy.next_u64());
        let ledger = Rc::clone(ledger);
        match name.as_str() {
            "eval" => evaluator.register_fn_override("eval", |_: &[JValue]| eval()),
            "now" => evaluator.register_fn_override("now", move |args: &[JValue]| {
                ledger.check_picture(args.first())?;
                now(now_ms, args)
            }),
            "toMillis" => evaluator.register_fn_override("toMillis", move |args: &[JValue]| {
                ledger.check_picture(args.get(1))?;
                to_millis(now_ms, args)
            }),
            "millis" => {
                evaluator.register_fn_override("millis", move |_: &[JValue]| millis(now_ms))
            }
            "random" => {
                let own = own();
                evaluator.register_fn_override("random", move |args: &[JValue]| random(&own, args))
            }
            "shuffle" => {
                let own = own();
                evaluator
                    .register_fn_override("shuffle", move |args: &[JValue]| shuffle(&own, args))
            }
            "uuid" => {
                let own = own();
                evaluator
                    .register_fn("uuid", move |_: &[JValue]| Ok(JValue::string(own.next_uuid())))
            }
            "partition" => {
                evaluator.register_fn("partition", move |args: &[JValue]| partition(&ledger, args))
            }
            "range" => evaluator.register_fn("range", move |args: &[JValue]| range(&ledger, args)),
            "hash" => evaluator.register_fn("hash", |args: &[JValue]| hash(args)),
            "parse" => evaluator.register_fn("parse", move |args: &[JValue]| parse(&ledger, args)),
            _ => Ok(()),
        }?;
    }
    Ok(())
}

pub(super) fn thrown(message: impl Into<String>) -> EvaluatorError {
    EvaluatorError::EvaluationError(message.into())
}

/// JSONata's own complaint about an argument of the wrong type.
fn mismatch(function: &str, index: usize) -> EvaluatorError {
    thrown(format!(
        "T0410: Argument {index} of function \"{function}\" does not match function signature"
    ))
}

fn argument(args: &[JValue], index: usize) -> &JValue {
    args.get(index).unwrap_or(&JValue::Undefined)
}

fn eval() -> HostFnResult {
    Err(thrown("the function $eval is not supported; use $parse to read JSON text"))
}

// JSONata's numbers are doubles.
fn millis(now_ms: i64) -> HostFnResult {
    Ok(JValue::Number(now_ms as f64))
}

/// `$now(picture, timezone)` is `$fromMillis` of the moment of the evaluation.
fn now(now_ms: i64, args: &[JValue]) -> HostFnResult {
    let moment = millis(now_ms)?;
    let args = std::iter::once(&moment).chain(args.iter().take(2));
    engine_call("fromMillis", args.cloned(), &JValue::Undefined)
}

/// `$toMillis(text, picture)`, where a picture without a year means a day of today's year,
/// and one without a day means today: the engine would ask the clock.
fn to_millis(now_ms: i64, args: &[JValue]) -> HostFnResult {
    let args = &args[..args.len().min(2)];
    let [JValue::String(text), JValue::String(picture)] = args else {
        return engine_call("toMillis", args.iter().cloned(), &JValue::Undefined);
    };
    let missing = match components(picture) {
        given if given.is_empty() || given.contains(['Y', 'X', 'x', 'W', 'w']) => "",
        given if given.contains(['M', 'd']) => "[Y0001]|",
        given if given.contains('D') => "[Y0001]-[M01]|",
        _ => "[Y0001]-[M01]-[D01]|",
    };
    if missing.is_empty() {
        return engine_call("toMillis", args.iter().cloned(), &JValue::Undefined);
    }
    let today = now(now_ms, &[JValue::string(missing)])?;
    let today = today.as_str().unwrap_or_default();
    let dated = [format!("{today}{text}"), format!("{missing}{picture}")];
    engine_call("toMillis", dated.map(JValue::string), &JValue::Undefined)
}

/// The letters of the components of a date picture: `HmP` for `[H]:[m] [P]`.
fn components(picture: &str) -> String {
    let literal = picture.replace("[[", "");
    let parts = literal.split('[').skip(1);
    parts.filter_map(|part| part.trim_start().chars().next()).collect()
}

fn random(entropy: &Entropy, args: &[JValue]) -> HostFnResult {
    let unit = match argument(args, 0) {
        JValue::Undefined => entropy.next_unit(),
        JValue::Number(seed) => Entropy::new(0, seed.to_bits()).next_unit(),
        _ => return Err(mismatch("random", 1)),
    };
    Ok(JValue::Number(unit))
}

/// The items of an array; anything else is an array of itself.
fn items_of(value: &JValue) -> Vec<JValue> {
    match value {
        JValue::Array(items) => items.to_vec(),
        other => vec![other.clone()],
    }
}

fn shuffle(entropy: &Entropy, args: &[JValue]) -> HostFnResult {
    let value = argument(args, 0);
    if value.is_undefined() {
        return Ok(JValue::Undefined);
    }
    let mut items = items_of(value);
    for last in (1..items.len()).rev() {
        let draw = u128::from(entropy.next_u64()) * (last as u128 + 1);
        items.swap(last, usize::try_from(draw >> 64).unwrap_or(last));
    }
    Ok(JValue::array(items))
}

fn partition(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let (value, size) = (argument(args, 0), argument(args, 1));
    if value.is_undefined() {
        return Ok(JValue::Undefined);
    }
    let size = match size {
        JValue::Number(size) if *size >= 1.0 && size.fract() == 0.0 => *size,
        JValue::Number(_) => {
            return Err(thrown("the chunk size of $partition must be a positive integer"));
        }
        _ => return Err(mismatch("partition", 2)),
    };
    let items = items_of(value);
    ledger.charge_items(items.len().saturating_mul(3))?;
    // Positive, and saturates.
    let chunks = items.chunks(size as usize);
    Ok(JValue::array(chunks.map(|chunk| JValue::array(chunk.to_vec())).collect()))
}

fn range(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let mut bounds = [0.0; 3];
    for (index, bound) in bounds.iter_mut().enumerate() {
        *bound = match argument(args, index) {
            JValue::Undefined => return Ok(JValue::Undefined),
            JValue::Number(number) => *number,
            _ => return Err(mismatch("range", index + 1)),
        };
    }
    let [start, end, step] = bounds;
    if step == 0.0 {
        return Err(thrown("the step of $range must not be zero"));
    }
    sequence(ledger, start, ((end - start) / step).floor() + 1.0, step)
}

/// `length` numbers from `start`, if there may be that many.
pub(super) fn sequence(ledger: &Ledger, start: f64, length: f64, step: f64) -> HostFnResult {
    if length.is_nan() || length <= 0.0 {
        return Ok(JValue::sequence(Vec::new()));
    }
    // Positive, and saturates.
    let length = length as usize;
    if length > SEQUENCE_LENGTH_MAX {
        return Err(ledger.exhausted());
    }
    ledger.charge_items(length)?;
    // A million at the most.
    let numbers = (0..length).map(|index| JValue::Number((index as f64).mul_add(step, start)));
    Ok(JValue::sequence_flat(numbers.collect(), true))
}

fn hash(args: &[JValue]) -> HostFnResult {
    let data = match argument(args, 0) {
        JValue::Undefined => return Ok(JValue::Undefined),
        JValue::String(data) => data.as_bytes(),
        _ => return Err(mismatch("hash", 1)),
    };
    let algorithm = argument(args, 1).as_str().ok_or_else(|| mismatch("hash", 2))?;
    let digest = match algorithm {
        "MD5" => hex(&Md5::digest(data)),
        "SHA-1" => hex(&Sha1::digest(data)),
        "SHA-256" => hex(&Sha256::digest(data)),
        "SHA-384" => hex(&Sha384::digest(data)),
        "SHA-512" => hex(&Sha512::digest(data)),
        other => {
            return Err(thrown(format!(
                "unknown algorithm '{other}' for $hash; use MD5, SHA-1, SHA-256, SHA-384 or SHA-512"
            )));
        }
    };
    Ok(JValue::string(digest))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let text = match argument(args, 0) {
        JValue::Undefined => return Ok(JValue::Undefined),
        JValue::String(text) => text,
        _ => return Err(mismatch("parse", 1)),
    };
    // A comma or a bracket per two bytes is the densest JSON.
    ledger.charge_items(text.len() / 2)?;
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| thrown(format!("$parse was given text that is not JSON: {error}")))?;
    convert::to_engine(&value).map_err(|error| thrown(error.to_string()))
}
