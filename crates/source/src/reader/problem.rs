//! What can be wrong with the shape of a value, whatever the document is about.

use super::Trail;
use crate::document::{Content, Node};
use crate::{Rule, Severity, nearest};

#[derive(Debug, Clone, Copy)]
pub enum Problem<'p> {
    /// `what` is not `expected`, both as a person would say it: `an object`.
    WrongType { what: &'p str, node: &'p Node, expected: &'p str },
    /// An object lacks these.
    Required { owner: &'p str, names: &'p [&'p str] },
    /// An object has a field that it does not know.
    Unknown { owner: &'p str, around: &'p Trail<'p>, name: &'p str, known: &'p [&'static str] },
    /// An object has a field that stands elsewhere.
    Misplaced { owner: &'p str, around: &'p Trail<'p>, name: &'p str },
    /// An object has two fields of which only one may be there.
    Exclusive { owner: &'p str, one: &'p str, other: &'p str },
    /// A field appears in an object once more.
    Repeated { name: &'p str, first_line: usize },
    /// A number is outside its bounds, of which `bound` is the nearer one.
    OutOfRange { name: &'p str, number: &'p str, limits: &'p str, low: bool, bound: &'p str },
    /// An array or string must not be empty.
    Empty { name: &'p str },
    /// A string is none of the allowed ones.
    UnknownWord { name: &'p str, word: &'p str, allowed: &'p [&'static str] },
}

/// Longer lists say nothing to anybody.
const LISTED_MAX: usize = 12;

impl Problem<'_> {
    pub(super) fn message(&self) -> String {
        match self {
            Self::WrongType { what, node, expected } => {
                let found = match &node.content {
                    Content::Number(number) if *expected == "an integer" => number.to_string(),
                    _ => node.type_name().to_owned(),
                };
                format!("{what} must be {expected}, but is {found}")
            }
            Self::Required { owner, names } => {
                let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let plural = if names.len() == 1 { "" } else { "s" };
                format!("{owner} needs the field{plural} {}", list.join(" and "))
            }
            Self::Unknown { owner, name, .. } => format!("unknown field `{name}` in {owner}"),
            Self::Misplaced { owner, name, .. } => {
                format!("{owner} cannot have the field `{name}`")
            }
            Self::Exclusive { owner, one, other } => {
                format!("{owner} has both `{one}` and `{other}`")
            }
            Self::Repeated { name, .. } => format!("the field `{name}` appears a second time"),
            Self::OutOfRange { name, number, limits, .. } => {
                format!("`{name}` must be {limits}, but is {number}")
            }
            Self::Empty { name } => format!("`{name}` must not be empty"),
            Self::UnknownWord { name, word, .. } => format!("`{name}` cannot be `{word}`"),
        }
    }

    pub(super) fn hint(&self) -> Option<String> {
        match self {
            Self::WrongType { node, expected, .. } => type_hint(node, expected),
            Self::Unknown { known, .. } if (1..=LISTED_MAX).contains(&known.len()) => {
                Some(format!("expected one of {}", known.join(", ")))
            }
            Self::Exclusive { one, other, .. } => {
                Some(format!("keep `{one}` or `{other}`, not both"))
            }
            Self::Repeated { first_line, .. } => {
                Some(format!("the first is on line {first_line}: keep one of them"))
            }
            Self::UnknownWord { allowed, .. } => {
                Some(format!("expected one of {}", allowed.join(", ")))
            }
            _ => None,
        }
    }

    /// What was probably meant.
    pub(super) fn suggestion(&self) -> Option<&'static str> {
        match self {
            Self::Unknown { name, known, .. } => nearest(name, known.iter().copied()),
            Self::UnknownWord { word, allowed, .. } => nearest(word, allowed.iter().copied()),
            _ => None,
        }
    }
}

impl Rule for &Problem<'_> {
    fn code(self) -> &'static str {
        match self {
            Problem::WrongType { .. } => "wrong-type",
            Problem::Required { .. } => "required-field",
            Problem::Unknown { .. } => "unknown-field",
            Problem::Misplaced { .. } => "misplaced-field",
            Problem::Exclusive { .. } => "exclusive-fields",
            Problem::Repeated { .. } => "duplicate-field",
            Problem::OutOfRange { .. } => "out-of-range",
            Problem::Empty { .. } => "empty-value",
            Problem::UnknownWord { .. } => "unknown-value",
        }
    }

    fn severity(self) -> Severity {
        Severity::Error
    }
}

/// How a value of the wrong type usually comes about.
fn type_hint(node: &Node, expected: &str) -> Option<String> {
    let hint = match &node.content {
        Content::Null => {
            "there is no value; in YAML, check the indentation of the following lines".to_owned()
        }
        Content::String(text) if expected.contains("a boolean") => match &*text.to_lowercase() {
            "true" | "false" => format!("write {text}, without quotes"),
            "yes" | "on" => "write true".to_owned(),
            "no" | "off" => "write false".to_owned(),
            _ => return None,
        },
        Content::String(text)
            if text.parse::<f64>().is_ok() && ["an integer", "a number"].contains(&expected) =>
        {
            format!("write {text}, without quotes")
        }
        Content::Number(_) | Content::Boolean(_) if expected.starts_with("a string") => {
            "put it in quotes".to_owned()
        }
        Content::Array(_) if expected == "an object" => {
            "an object has named fields: {\"name\": …}".to_owned()
        }
        Content::Object(_) if expected == "an array" => "put it in brackets: [{…}]".to_owned(),
        _ => return None,
    };
    Some(hint)
}
