//! Forms: `Attribute.1.Name=DelaySeconds&Attribute.1.Value=5`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Error, Name};
use crate::operation::Operation;

/// Parameters that are numbers.
const NUMBERS: [&str; 6] = [
    "DelaySeconds",
    "MaxNumberOfMessages",
    "MaxNumberOfMessagesPerSecond",
    "MaxResults",
    "VisibilityTimeout",
    "WaitTimeSeconds",
];

/// Numbered parameters that are lists of texts, and the members that they are.
const LISTS: [(&str, &str); 4] = [
    ("AttributeName", "AttributeNames"),
    ("MessageAttributeName", "MessageAttributeNames"),
    ("MessageSystemAttributeName", "MessageSystemAttributeNames"),
    ("TagKey", "TagKeys"),
];

/// Numbered parameters that are maps, and the members that they are.
const MAPS: [(&str, &str); 4] = [
    ("Attribute", "Attributes"),
    ("MessageAttribute", "MessageAttributes"),
    ("MessageSystemAttribute", "MessageSystemAttributes"),
    ("Tag", "Tags"),
];

/// Numbered parameters that are the entries of a batch.
const ENTRIES: [&str; 3] = [
    "SendMessageBatchRequestEntry",
    "DeleteMessageBatchRequestEntry",
    "ChangeMessageVisibilityBatchRequestEntry",
];

type Field = (String, String);

/// The fields of a form, decoded.
pub(super) fn fields(body: &[u8]) -> Result<Vec<Field>, Error> {
    let parts = body.split(|byte| *byte == b'&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let mut halves = part.splitn(2, |byte| *byte == b'=');
            let name = decoded(halves.next().unwrap_or_default())?;
            Ok((name, decoded(halves.next().unwrap_or_default())?))
        })
        .collect()
}

fn decoded(text: &[u8]) -> Result<String, Error> {
    let malformed = || Error::new(Name::MalformedQueryString, "the form is not URL-encoded");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (digits, after) = rest.split_at_checked(2).ok_or_else(malformed)?;
                let digits = std::str::from_utf8(digits).map_err(|_| malformed())?;
                bytes.push(u8::from_str_radix(digits, 16).map_err(|_| malformed())?);
                rest = after;
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).map_err(|_| malformed())
}

/// What the JSON protocol would have carried.
pub(super) fn body(operation: Operation, fields: Vec<Field>) -> Result<Map<String, Value>, Error> {
    let mut entries: BTreeMap<u32, Vec<Field>> = BTreeMap::new();
    let mut own = Vec::new();
    for (name, value) in fields {
        match numbered(&name).filter(|(head, ..)| ENTRIES.contains(head)) {
            Some((_, number, Some(rest))) => {
                entries.entry(number).or_default().push((rest.to_owned(), value));
            }
            _ => own.push((name, value)),
        }
    }
    let mut body = structure(own)?;
    if !entries.is_empty() {
        let read = entries.into_values().map(|fields| Ok(structure(fields)?.into()));
        body.insert("Entries".to_owned(), read.collect::<Result<Vec<Value>, Error>>()?.into());
    }
    // The one member that the service writes in small letters.
    if operation == Operation::CreateQueue
        && let Some(tags) = body.remove("Tags")
    {
        body.insert("tags".to_owned(), tags);
    }
    Ok(body)
}

fn structure(fields: Vec<Field>) -> Result<Map<String, Value>, Error> {
    let mut members = Map::new();
    let mut lists: BTreeMap<&str, BTreeMap<u32, Value>> = BTreeMap::new();
    let mut maps: BTreeMap<&str, BTreeMap<u32, Vec<Field>>> = BTreeMap::new();
    for (name, value) in fields {
        let found = |table: &[(&str, &'static str)], head: &str| {
            table.iter().find(|(known, _)| *known == head).map(|(_, member)| *member)
        };
        match numbered(&name) {
            Some((head, number, None)) if let Some(member) = found(&LISTS, head) => {
                lists.entry(member).or_default().insert(number, value.into());
            }
            Some((head, number, Some(rest))) if let Some(member) = found(&MAPS, head) => {
                let entry = maps.entry(member).or_default().entry(number).or_default();
                entry.push((rest.to_owned(), value));
            }
            _ if ["Action", "Version"].contains(&name.as_str()) => {}
            _ => {
                let value = scalar(&name, value)?;
                members.insert(name, value);
            }
        }
    }
    for (member, list) in lists {
        members.insert(member.to_owned(), list.into_values().collect());
    }
    for (member, entries) in maps {
        members.insert(member.to_owned(), map(entries).into());
    }
    Ok(members)
}

/// `Attribute`, 1 and `Name` of `Attribute.1.Name`.
fn numbered(name: &str) -> Option<(&str, u32, Option<&str>)> {
    let (head, rest) = name.split_once('.')?;
    match rest.split_once('.') {
        Some((number, rest)) => Some((head, number.parse().ok()?, Some(rest))),
        None => Some((head, rest.parse().ok()?, None)),
    }
}

fn scalar(name: &str, value: String) -> Result<Value, Error> {
    if !NUMBERS.contains(&name) {
        return Ok(value.into());
    }
    let number: Result<i64, _> = value.parse();
    number.map(Value::from).map_err(|_| Error::invalid(name, &value, "Must be an integer."))
}

/// Entries with a name and a value, which may be a structure.
fn map(entries: BTreeMap<u32, Vec<Field>>) -> Map<String, Value> {
    let mut map = Map::new();
    for fields in entries.into_values() {
        let (mut key, mut plain, mut parts) = (String::new(), None, Map::new());
        for (name, value) in fields {
            match name.strip_prefix("Value.") {
                Some(part) => _ = parts.insert(part.to_owned(), value.into()),
                None if name == "Value" => plain = Some(value),
                None if name == "Name" || name == "Key" => key = value,
                None => {}
            }
        }
        let value = plain.map_or_else(|| parts.into(), Value::from);
        map.insert(key, value);
    }
    map
}
