//! Functions in linear time for which the engine compares each item with each other.

use std::collections::HashSet;
use std::rc::Rc;

use jsonata_core::value::{JArray, JValue, with_stack};

/// The items of an array, less those that are equal to an earlier one.
pub(super) fn distinct(items: &JArray) -> JValue {
    if items.len() <= 1 {
        return JValue::Array(items.clone());
    }
    let mut seen = HashSet::new();
    let is_new = |item: &&JValue| {
        let mut key = String::new();
        write_key(item, &mut key);
        seen.insert(key)
    };
    let left = items.iter().filter(is_new).cloned().collect();
    if items.sequence { JValue::sequence(left) } else { JValue::array(left) }
}

/// The names of the fields of all objects in an array, each once.
pub(super) fn keys(items: &JArray) -> JValue {
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    collect_keys(items, &mut |name| {
        if seen.insert(name.to_owned()) {
            names.push(JValue::string(name));
        }
    });
    JValue::sequence(names)
}

fn collect_keys(items: &[JValue], into: &mut dyn FnMut(&str)) {
    for item in items {
        match item {
            JValue::Object(fields) => fields.keys().for_each(|name| into(name)),
            JValue::Array(items) => with_stack(|| collect_keys(items, into)),
            _ => {}
        }
    }
}

/// Equal values, and no others, have equal keys.
fn write_key(value: &JValue, key: &mut String) {
    match value {
        JValue::Null => key.push('n'),
        JValue::Undefined => key.push('u'),
        JValue::Bool(flag) => key.push(if *flag { 't' } else { 'f' }),
        // Adding zero makes `-0` and `0` one.
        JValue::Number(number) => key.push_str(&format!("{:x};", (number + 0.0).to_bits())),
        JValue::String(text) => write_text(text, key),
        JValue::Array(items) => with_stack(|| {
            key.push('[');
            items.iter().for_each(|item| write_key(item, key));
            key.push(']');
        }),
        JValue::Object(fields) => with_stack(|| {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            key.push('{');
            for (name, field) in fields {
                write_text(name, key);
                write_key(field, key);
            }
            key.push('}');
        }),
        JValue::Lambda(function) => key.push_str(&format!("λ{:p};", Rc::as_ptr(function))),
        JValue::Builtin { name } => write_text(&format!("$ {name}"), key),
        JValue::Regex { pattern, flags } => write_text(&format!("/ {pattern}/{flags}"), key),
    }
}

fn write_text(text: &str, key: &mut String) {
    key.push_str(&format!("{}:{text}", text.len()));
}
