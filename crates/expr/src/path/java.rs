//! Values as Java prints them: `{a=1, b=[x, null]}`. The service shows maps and lists so,
//! in messages and in `States.Format`.

use std::fmt::{self, Write};

use serde_json::Value;

/// Deeper values are cut short: no caller could read them.
const DEPTH_MAX: usize = 512;

pub(crate) fn write_java(value: &Value, into: &mut dyn Write) -> fmt::Result {
    write_nested(value, into, 0)
}

pub(super) fn to_java(value: &Value) -> String {
    let mut text = String::new();
    let _ = write_java(value, &mut text);
    text
}

fn write_nested(value: &Value, into: &mut dyn Write, depth: usize) -> fmt::Result {
    if depth > DEPTH_MAX {
        return into.write_str("...");
    }
    match value {
        Value::Null => into.write_str("null"),
        Value::Bool(value) => write!(into, "{value}"),
        Value::Number(number) => write!(into, "{number}"),
        Value::String(text) => into.write_str(text),
        Value::Array(items) => {
            into.write_char('[')?;
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    into.write_str(", ")?;
                }
                write_nested(item, into, depth + 1)?;
            }
            into.write_char(']')
        }
        Value::Object(fields) => {
            into.write_char('{')?;
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    into.write_str(", ")?;
                }
                write!(into, "{name}=")?;
                write_nested(value, into, depth + 1)?;
            }
            into.write_char('}')
        }
    }
}

/// The class that a value has in Java.
pub(super) fn class(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "java.lang.Boolean",
        Value::String(_) => "java.lang.String",
        Value::Array(_) => "java.util.ArrayList",
        Value::Object(_) => "java.util.LinkedHashMap",
        Value::Number(number) => match number.as_i64() {
            Some(number) if i32::try_from(number).is_ok() => "java.lang.Integer",
            Some(_) => "java.lang.Long",
            None if number.is_u64() => "java.math.BigInteger",
            None => "java.lang.Double",
        },
    }
}
