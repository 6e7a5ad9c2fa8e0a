//! A JSON value that knows where each part of it stood, from JSON or YAML text.
//!
//! Nothing here knows of states: a document is any value.

mod json;
mod yaml;

use serde_json::{Map, Number, Value};

use crate::{Format, Span};

/// Deeper documents are refused: the service's own limit on a definition leaves no use for them,
/// and every walk over a document can then recurse without fear for the stack.
pub const DEPTH_MAX: usize = 200;

/// A value and where it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Span,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Null,
    Boolean(bool),
    Number(Number),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A field of an object. Repeated names are kept, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: String,
    pub name_span: Span,
    pub value: Node,
}

/// Why a text is not a document.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentError {
    pub span: Span,
    pub message: String,
    pub hint: Option<String>,
    pub trouble: Trouble,
}

/// What is wrong, where what to do about it depends on what the document is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    TooDeep,
    /// In JSON.
    Comment,
    Other,
}

/// Reads JSON as Azure has it: with comments.
pub fn read_with_comments(text: &str) -> Result<Node, DocumentError> {
    json::read_with_comments(text)
}

/// Reads `text` as a document.
pub fn read(text: &str, format: Format) -> Result<Node, DocumentError> {
    match format {
        Format::Json => json::read(text),
        Format::Yaml => yaml::read(text, yaml::Tags::Refused),
    }
}

/// Reads a CloudFormation template: in YAML, a tag calls a function (`!Sub x` is `{"Fn::Sub": x}`).
pub fn read_template(text: &str, format: Format) -> Result<Node, DocumentError> {
    match format {
        Format::Json => json::read(text),
        Format::Yaml => yaml::read_template(text),
    }
}

impl Node {
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_object(&self) -> Option<&[Member]> {
        match &self.content {
            Content::Object(members) => Some(members),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.content {
            Content::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The JSON type as a person would say it, with its article.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.content {
            Content::Null => "null",
            Content::Boolean(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::String(_) => "a string",
            Content::Array(_) => "an array",
            Content::Object(_) => "an object",
        }
    }

    /// The value without places. The last of repeated fields counts, as in most JSON readers.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Boolean(value) => Value::Bool(*value),
            Content::Number(value) => Value::Number(value.clone()),
            Content::String(value) => Value::String(value.clone()),
            Content::Array(elements) => elements.iter().map(Self::to_value).collect(),
            Content::Object(members) => Value::Object(
                members.iter().map(|m| (m.name.clone(), m.value.to_value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// What a JSON pointer names, member name and value: used to place a problem found inside a
    /// value whose places were dropped.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<Found<'_>> {
        let mut found = Found { name_span: None, node: self };
        for segment in pointer.split('/').skip(1) {
            found = found.node.step(&unescape(segment))?;
        }
        Some(found)
    }

    fn step(&self, segment: &str) -> Option<Found<'_>> {
        match &self.content {
            Content::Array(elements) => {
                let node = elements.get(segment.parse::<usize>().ok()?)?;
                Some(Found { name_span: None, node })
            }
            Content::Object(members) => {
                let member = members.iter().rev().find(|member| member.name == segment)?;
                Some(Found { name_span: Some(member.name_span), node: &member.value })
            }
            _ => None,
        }
    }
}

/// A node, and its field name if it is the value of one.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    pub name_span: Option<Span>,
    pub node: &'a Node,
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
