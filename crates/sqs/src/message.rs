//! What a message may consist of.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::error::{Error, Name};
use crate::input::AttributeInput;

/// Attributes of a message.
const ATTRIBUTES_MAX: usize = 10;
const NAME_MAX: usize = 256;
/// Characters of group and deduplication ids.
const ID_MAX: usize = 128;
const TAGS_MAX: usize = 50;

/// A user's attribute of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    pub name: String,
    pub data_type: String,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Binary(Vec<u8>),
}

impl MessageAttribute {
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(text) => json!({ "StringValue": text, "DataType": self.data_type }),
            Value::Binary(bytes) => {
                json!({ "BinaryValue": STANDARD.encode(bytes), "DataType": self.data_type })
            }
        }
    }
}

/// Whether a text can be the body of a message: it is not empty, and XML could hold it.
pub fn check_body(body: &str) -> Result<(), Error> {
    if body.is_empty() {
        return Err(Error::missing("MessageBody"));
    }
    check_characters(body, "message body")
}

fn check_characters(text: &str, place: &str) -> Result<(), Error> {
    let odd = text.chars().find(|letter| {
        !matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    });
    let Some(odd) = odd else { return Ok(()) };
    let message = format!(
        "Invalid binary character '#x{:X}' was found in the {place}, the set of allowed characters is #x9 | #xA | #xD \
         | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
        u32::from(odd)
    );
    Err(Error::new(Name::InvalidMessageContents, message))
}

/// The attributes of a message, sorted by name.
pub fn read_message_attributes(
    given: BTreeMap<String, AttributeInput>,
) -> Result<Vec<MessageAttribute>, Error> {
    if given.len() > ATTRIBUTES_MAX {
        let count = given.len();
        let message = format!(
            "Number of message attributes [{count}] exceeds the allowed maximum [{ATTRIBUTES_MAX}]."
        );
        return Err(Error::new(Name::InvalidParameterValue, message));
    }
    given.into_iter().map(|(name, given)| read_attribute(name, given)).collect()
}

fn read_attribute(name: String, given: AttributeInput) -> Result<MessageAttribute, Error> {
    let invalid = |message: String| Err(Error::new(Name::InvalidParameterValue, message));
    if !is_attribute_name(&name) {
        return invalid(format!(
            "The message attribute name '{name}' is invalid. Attribute name can contain A-Z, a-z, 0-9, underscore (_), \
             hyphen (-), and period (.) characters, at most {NAME_MAX} of them, and no reserved prefix."
        ));
    }
    let AttributeInput { data_type, string_value, binary_value, string_list, binary_list } = given;
    if string_list.is_some_and(|list| !list.is_empty())
        || binary_list.is_some_and(|list| !list.is_empty())
    {
        let message =
            format!("Message (user) attribute '{name}': lists of values are not supported.");
        return Err(Error::new(Name::UnsupportedOperation, message));
    }
    let data_type = data_type.unwrap_or_default();
    let kind = data_type.split('.').next().unwrap_or_default();
    let value = match kind {
        "String" | "Number" => string_value.filter(|text| !text.is_empty()).map(Value::Text),
        "Binary" => match binary_value.map(|text| STANDARD.decode(text)) {
            Some(Err(_)) => return invalid(format!("The value of '{name}' is not base64.")),
            bytes => {
                bytes.and_then(Result::ok).filter(|bytes| !bytes.is_empty()).map(Value::Binary)
            }
        },
        _ => {
            return invalid(format!(
                "The type of message (user) attribute '{name}' is invalid. You must use only the following supported \
                 type prefixes: Binary, Number, String."
            ));
        }
    };
    let Some(value) = value else {
        return invalid(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'."
        ));
    };
    if let Value::Text(text) = &value {
        check_characters(text, &format!("message attribute '{name}'"))?;
        if kind == "Number" && text.parse::<f64>().is_err() {
            return invalid(format!(
                "Can't cast the value of message (user) attribute '{name}' to a number."
            ));
        }
    }
    Ok(MessageAttribute { name, data_type, value })
}

fn is_attribute_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let lower = name.to_ascii_lowercase();
    (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
}

/// The only system attribute that senders set.
pub fn read_trace_header(
    given: BTreeMap<String, AttributeInput>,
) -> Result<Option<MessageAttribute>, Error> {
    const TRACE: &str = "AWSTraceHeader";
    if let Some(name) = given.keys().find(|name| *name != TRACE) {
        let message =
            format!("Message system attribute name '{name}' is invalid. Must be one of: {TRACE}");
        return Err(Error::new(Name::InvalidParameterValue, message));
    }
    let header = given.into_iter().next();
    let header = header.map(|(_, given)| read_attribute("trace".to_owned(), given)).transpose()?;
    Ok(header.map(|header| MessageAttribute { name: TRACE.to_owned(), ..header }))
}

/// Whether a text can be the id of a message group.
pub fn check_group(group: &str) -> Result<(), Error> {
    check_id("MessageGroupId", group)
}

/// Whether a text can be a group, a deduplication id or the id of an attempt.
pub fn check_id(parameter: &str, id: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_graphic();
    if (1..=ID_MAX).contains(&id.len()) && id.bytes().all(allowed) {
        return Ok(());
    }
    let shown: String = id.chars().take(ID_MAX).collect();
    let reason = format!(
        "{parameter} can only include alphanumeric and punctuation characters. 1 to {ID_MAX} in length."
    );
    Err(Error::invalid(parameter, shown, &reason))
}

/// Whether a queue may have these tags, all together.
pub fn check_tags<'t>(
    tags: impl IntoIterator<Item = (&'t String, &'t String)>,
) -> Result<(), Error> {
    let mut count = 0;
    for (key, value) in tags {
        count += 1;
        if key.is_empty() || key.chars().count() > 128 || value.chars().count() > 256 {
            return Err(Error::new(
                Name::InvalidParameterValue,
                "Tag keys must be between 1 and 128 characters in length, and values at most 256.",
            ));
        }
    }
    if count > TAGS_MAX {
        let message = format!("Too many tags added for queue: {count}. The maximum is {TAGS_MAX}.");
        return Err(Error::new(Name::InvalidParameterValue, message));
    }
    Ok(())
}

/// Whether an attribute is among those that a receiver asks for: `All`, `.*`, a name, or a prefix with `.*`.
#[must_use]
pub fn wanted(asked: &[String], name: &str) -> bool {
    asked.iter().any(|asked| match asked.strip_suffix(".*") {
        Some(prefix) => name.starts_with(prefix),
        None => asked == "All" || asked == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(data_type: &str, text: Option<&str>) -> AttributeInput {
        let string_value = text.map(str::to_owned);
        AttributeInput {
            data_type: Some(data_type.to_owned()),
            string_value,
            ..AttributeInput::default()
        }
    }

    fn check(name: &str, given: AttributeInput, expected: Result<(), &str>) {
        let found = read_message_attributes(BTreeMap::from([(name.to_owned(), given)]));
        match (found, expected) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(text)) => {
                assert!(error.message().contains(text), "{error}");
            }
            (found, expected) => panic!("{name}: {found:?} {expected:?}"),
        }
    }

    #[test]
    fn attributes() {
        check("a.b-c_9", attribute("String", Some("x")), Ok(()));
        check("a", attribute("String.label", Some("x")), Ok(()));
        check("a", attribute("Number.int", Some("-1.5e3")), Ok(()));
        check(
            "a",
            attribute("String", Some("")),
            Err("'a' must contain a non-empty value of type 'String'"),
        );
        check("a", attribute("String", None), Err("non-empty"));
        check("a", attribute("Number", Some("x")), Err("to a number"));
        check("a", attribute("List", Some("x")), Err("supported type prefixes"));
        check("a", attribute("String", Some("\u{1}")), Err("#x1"));
        for name in ["", ".a", "a.", "a..b", "ü", "AWS.x", "amazon.x"] {
            check(name, attribute("String", Some("x")), Err("is invalid"));
        }
        let binary = |text: &str| AttributeInput {
            data_type: Some("Binary".to_owned()),
            binary_value: Some(text.to_owned()),
            ..AttributeInput::default()
        };
        check("a", binary("AAE="), Ok(()));
        check("a", binary("?"), Err("base64"));
        check("a", binary(""), Err("non-empty"));
        let many = (0..11).map(|n| (n.to_string(), attribute("String", Some("x")))).collect();
        let error = read_message_attributes(many).expect_err("too many");
        assert_eq!(
            error.message(),
            "Number of message attributes [11] exceeds the allowed maximum [10]."
        );
    }

    #[test]
    fn bodies() {
        assert_eq!(check_body("a\t\n\r\u{d7ff}\u{10ffff}"), Ok(()));
        assert_eq!(check_body("").map_err(|error| error.name()), Err(Name::MissingParameter));
        for odd in ["\u{0}", "a\u{b}", "\u{ffff}"] {
            let error = check_body(odd).expect_err("refused");
            assert_eq!(error.name(), Name::InvalidMessageContents);
        }
    }

    #[test]
    fn what_is_asked_for() {
        let check = |asked: &[&str], name: &str, expected| {
            let asked: Vec<String> = asked.iter().map(|&asked| asked.to_owned()).collect();
            assert_eq!(wanted(&asked, name), expected, "{asked:?} {name}");
        };
        check(&[], "a", false);
        check(&["All"], "a", true);
        check(&[".*"], "a", true);
        check(&["b", "a"], "a", true);
        check(&["Hel.*"], "Hello", true);
        check(&["Hel"], "Hello", false);
    }

    #[test]
    fn ids() {
        assert_eq!(check_group("a!~"), Ok(()));
        for id in ["", "a b", "ü", &"x".repeat(129)] {
            assert!(check_group(id).is_err(), "{id}");
        }
    }
}
