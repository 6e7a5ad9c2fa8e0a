//! What a path consists of once it is compiled.

use std::fmt::{self, Write};

use serde_json::{Map, Value};

use super::filter::Filter;
use super::function::Function;

/// One step of a path.
#[derive(Debug, Clone)]
pub(super) enum Token {
    /// `.name`, `['name']`
    Field(Box<str>),
    /// `['say \"hi\"']`: a name with escapes, and as it is written
    Escaped(Box<Escaped>),
    /// `['a','b']`: an object of those fields at the end of a path, each in turn elsewhere
    Fields(Vec<Box<str>>),
    /// `[0]`, `[-1]`
    Index(i32),
    /// `[0,2]`
    Indexes(Vec<i32>),
    /// `[1:]`, `[:2]`, `[1:2]`
    Slice(Option<i32>, Option<i32>),
    /// `.*`, `[*]`
    Wildcard,
    /// `..`, which always has a step after it
    Scan,
    /// `[?(…)]`
    Filter(Box<Filter>),
    /// `.length()`, which never has a step after it
    Function(Box<Function>),
}

/// A name with escapes. Where no field has the name they stand for, it is taken as it is written: data whose names
/// have backslashes in them are addressed so, too.
#[derive(Debug, Clone)]
pub(super) struct Escaped {
    pub(super) name: Box<str>,
    pub(super) raw: Box<str>,
}

impl Escaped {
    pub(super) fn name_in(&self, fields: &Map<String, Value>) -> &str {
        let is_raw = !fields.contains_key(&*self.name) && fields.contains_key(&*self.raw);
        if is_raw { &self.raw } else { &self.name }
    }
}

impl Token {
    /// The field of this name, which was written like this.
    pub(super) fn quoted(name: String, raw: &str) -> Self {
        if name == raw {
            return Self::Field(name.into());
        }
        Self::Escaped(Box::new(Escaped { name: name.into(), raw: raw.into() }))
    }

    /// The name of the field that it leads to in an object with these fields, if it leads to one.
    pub(super) fn name_in(&self, fields: &Map<String, Value>) -> Option<String> {
        match self {
            Self::Field(name) => Some(name.to_string()),
            Self::Escaped(escaped) => Some(escaped.name_in(fields).to_owned()),
            _ => None,
        }
    }

    fn is_definite(&self, last: bool) -> bool {
        match self {
            Self::Field(_) | Self::Escaped(_) | Self::Index(_) | Self::Function(_) => true,
            Self::Fields(_) => last,
            _ => false,
        }
    }
}

/// As Jayway writes a step in its messages.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, "['{name}']"),
            Self::Escaped(escaped) => write!(f, "['{}']", escaped.name),
            Self::Fields(names) => {
                let names: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
                write!(f, "[{}]", names.join(","))
            }
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Indexes(indexes) => {
                let indexes: Vec<_> = indexes.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", indexes.join(","))
            }
            Self::Slice(from, to) => {
                let show = |bound: &Option<i32>| bound.map_or(String::new(), |n| n.to_string());
                write!(f, "[{}:{}]", show(from), show(to))
            }
            Self::Wildcard => f.write_str("[*]"),
            Self::Scan => f.write_str(".."),
            Self::Filter(_) => f.write_str("[?]"),
            Self::Function(function) => write!(f, ".{function}"),
        }
    }
}

/// The steps after the root.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    tokens: Box<[Token]>,
    definite: bool,
    /// Only fields and indexes: the common path, walked without any set-up.
    plain: bool,
}

impl Steps {
    pub(super) fn new(tokens: Vec<Token>) -> Self {
        let last = tokens.len().saturating_sub(1);
        let definite = (tokens.iter().enumerate()).all(|(at, token)| token.is_definite(at == last));
        let plain = (tokens.iter()).all(|token| matches!(token, Token::Field(_) | Token::Index(_)));
        Self { tokens: tokens.into(), definite, plain }
    }

    pub(super) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    pub(super) fn is_definite(&self) -> bool {
        self.definite
    }

    /// The node that fields and indexes lead to. `None` says only that this was not enough:
    /// the full evaluation then finds the value or the reason.
    pub(super) fn walk<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        if !self.plain {
            return None;
        }
        let mut node = document;
        for token in &self.tokens {
            node = match (token, node) {
                (Token::Field(name), Value::Object(fields)) => field(fields, name)?,
                (Token::Index(index), Value::Array(items)) => {
                    items.get(position(*index, items.len())?)?
                }
                _ => return None,
            };
        }
        Some(node)
    }

    /// The path up to a step, as Jayway writes it.
    pub(super) fn prefix(&self, root: &dyn fmt::Display, until: usize) -> String {
        let mut text = root.to_string();
        for token in &self.tokens[..until] {
            let _ = write!(text, "{token}");
        }
        text
    }
}

/// In a small object it is quicker to look at each name than to hash one.
const SMALL: usize = 8;

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if fields.len() > SMALL {
        return fields.get(name);
    }
    let found = fields.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value)
}

/// Where an index points to; from the end if it is negative.
pub(super) fn position(index: i32, len: usize) -> Option<usize> {
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    }
}
