//! Intrinsic functions: a value as it is written becomes the value it stands for.
//!
//! What cannot be known here (an export of another stack, an attribute of a resource that is not provided) becomes a
//! text that names it, with a warning where it is used: a template that can be deployed can be loaded.

use everstep_source::document::{Content, Member, Node};
use everstep_source::{Span, nearest};
use serde_json::Value;

use super::attributes;
use super::build::{array, object, string, text};
use super::globals::is_call;
use super::scope::{Scope, is_no_value};
use crate::rule::Rule;

impl Scope<'_> {
    /// The value that a node stands for; nothing if it is `AWS::NoValue` or could not be evaluated.
    pub(super) fn evaluate(&self, node: &Node) -> Option<Node> {
        if is_no_value(node) {
            return None;
        }
        match &node.content {
            Content::Array(elements) => {
                let elements = elements.iter().filter_map(|element| self.evaluate(element));
                Some(array(node.span, elements.collect()))
            }
            Content::Object(members) if is_call(members) => self.call(&members[0], node.span),
            Content::Object(members) => {
                let members = members.iter().filter_map(|member| {
                    Some(Member { value: self.evaluate(&member.value)?, ..member.clone() })
                });
                Some(object(node.span, members.collect()))
            }
            _ => Some(node.clone()),
        }
    }

    /// A value that must be a text.
    pub(super) fn text(&self, node: &Node) -> Option<String> {
        let value = self.evaluate(node)?;
        let text = text(&value);
        if text.is_none() {
            let message = format!("expected a string, found {}", value.type_name());
            self.error(Rule::WrongType, node.span, message, None);
        }
        text
    }

    fn call(&self, call: &Member, span: Span) -> Option<Node> {
        let argument = &call.value;
        match call.name.as_str() {
            "Ref" => self.reference(argument.as_str()?, span),
            "Fn::GetAtt" => self.attribute(argument, span),
            "Fn::Sub" => self.substitute(argument, span),
            "Fn::Join" => self.join(argument, span),
            "Fn::Select" => self.select(argument, span),
            "Fn::Split" => self.split(argument, span),
            "Fn::FindInMap" => self.find_in_map(argument, span),
            "Fn::If" => self.choose(argument, span),
            "Fn::ImportValue" => self.import(argument, span),
            "Fn::Base64" => Some(string(span, base64(&self.text(argument)?))),
            "Fn::GetAZs" => Some(self.zones(argument, span)),
            "Fn::ToJsonString" => {
                Some(string(span, self.evaluate(argument)?.to_value().to_string()))
            }
            "Fn::Length" => {
                let length = self.evaluate(argument)?.as_array().map_or(0, <[Node]>::len);
                Some(Node { span, content: Content::Number(length.into()) })
            }
            "Condition" | "Fn::Equals" | "Fn::And" | "Fn::Or" | "Fn::Not" => {
                let holds = self.holds(call)?;
                Some(Node { span, content: Content::Boolean(holds) })
            }
            name @ ("Fn::Transform" | "Fn::Cidr" | "Fn::ForEach") => {
                let message = format!("`{name}` cannot be evaluated here");
                let hint = "write what it stands for";
                self.error(Rule::NotSupported, span, message, Some(hint.to_owned()));
                None
            }
            name => {
                let known = FUNCTIONS.iter().copied();
                let short = name.strip_prefix("Fn::").unwrap_or(name);
                let near = nearest(name, known.clone()).or_else(|| nearest(short, known));
                let hint = near.map(|near| format!("did you mean `{near}`?"));
                let message = format!("unknown intrinsic function `{name}`");
                self.error(Rule::UnknownValue, span, message, hint);
                None
            }
        }
    }

    /// The value of a parameter, or the name of a resource.
    pub(super) fn reference(&self, name: &str, span: Span) -> Option<Node> {
        if let Some(value) = self.pseudo(name) {
            return Some(string(span, value));
        }
        if let Some(value) = self.parameter(name, span) {
            return Some(value);
        }
        if let Some(resource) = self.find(name) {
            return Some(string(span, attributes::reference(self, resource)?));
        }
        if self.is_generated(name) {
            return Some(string(span, name));
        }
        self.unknown(name, span);
        None
    }

    fn attribute(&self, argument: &Node, span: Span) -> Option<Node> {
        let (name, attribute) = match argument.as_array() {
            Some([name, attribute]) => (name.as_str()?.to_owned(), self.text(attribute)?),
            _ => {
                let (name, attribute) = argument.as_str()?.split_once('.')?;
                (name.to_owned(), attribute.to_owned())
            }
        };
        self.attribute_of(&name, &attribute, span)
    }

    pub(super) fn attribute_of(&self, name: &str, attribute: &str, span: Span) -> Option<Node> {
        if let Some(resource) = self.find(name) {
            return Some(string(span, attributes::attribute(self, resource, attribute)?));
        }
        if self.is_generated(name) {
            return Some(string(span, format!("{name}.{attribute}")));
        }
        self.unknown(name, span);
        None
    }

    fn unknown(&self, name: &str, span: Span) {
        let message = format!("the template has neither a parameter nor a resource `{name}`");
        self.error(Rule::UnknownReference, span, message, self.nearest(name));
    }

    /// SAM makes resources of its own: the role of a function, its aliases and versions, implicit APIs.
    fn is_generated(&self, name: &str) -> bool {
        ["ServerlessRestApi", "ServerlessHttpApi"].iter().any(|api| name.starts_with(api))
            || self.resources().iter().any(|resource| {
                resource.kind.starts_with("AWS::Serverless::")
                    && name.len() > resource.id.len()
                    && name.starts_with(resource.id)
            })
    }

    fn join(&self, argument: &Node, span: Span) -> Option<Node> {
        let [separator, list] = self.arguments(argument, "Fn::Join", span)?;
        let separator = self.text(separator)?;
        let list = self.evaluate(list)?;
        let parts: Vec<String> = list.as_array()?.iter().filter_map(text).collect();
        Some(string(span, parts.join(&separator)))
    }

    fn split(&self, argument: &Node, span: Span) -> Option<Node> {
        let [separator, whole] = self.arguments(argument, "Fn::Split", span)?;
        let (separator, whole) = (self.text(separator)?, self.text(whole)?);
        let parts = whole.split(separator.as_str()).map(|part| string(span, part));
        Some(array(span, parts.collect()))
    }

    fn select(&self, argument: &Node, span: Span) -> Option<Node> {
        let [index, list] = self.arguments(argument, "Fn::Select", span)?;
        let index: Option<usize> = self.text(index)?.parse().ok();
        let list = self.evaluate(list)?;
        let found = index.and_then(|index| list.as_array()?.get(index)).cloned();
        if found.is_none() {
            let message = "`Fn::Select` has no such element";
            self.error(Rule::OutOfRange, span, message, None);
        }
        found
    }

    fn find_in_map(&self, argument: &Node, span: Span) -> Option<Node> {
        let arguments = argument.as_array().unwrap_or_default();
        let [map, first, second, rest @ ..] = arguments else {
            self.arguments::<3>(argument, "Fn::FindInMap", span)?;
            return None;
        };
        let path = [self.text(map)?, self.text(first)?, self.text(second)?];
        if let Some(found) = self.mapping([&path[0], &path[1], &path[2]]) {
            return self.evaluate(found);
        }
        let default = rest.first().and_then(|node| super::build::field(node, "DefaultValue"));
        if let Some(default) = default {
            return self.evaluate(&default.value);
        }
        let message = format!("the mapping `{}` has no `{}`, `{}`", path[0], path[1], path[2]);
        self.error(Rule::UnknownReference, span, message, None);
        None
    }

    fn choose(&self, argument: &Node, span: Span) -> Option<Node> {
        let [condition, then, otherwise] = self.arguments(argument, "Fn::If", span)?;
        let holds = self.condition(condition.as_str()?, condition.span);
        self.evaluate(if holds { then } else { otherwise })
    }

    fn import(&self, argument: &Node, span: Span) -> Option<Node> {
        let name = self.text(argument)?;
        if let Some(value) = self.given(&name) {
            return Some(string(span, value));
        }
        let message = format!("`{name}` is exported by another stack: its name is used instead");
        let hint = format!("set it: --parameter {name}=VALUE");
        self.warn(Rule::MissingParameter, span, message, Some(hint));
        Some(string(span, name))
    }

    fn zones(&self, argument: &Node, span: Span) -> Node {
        let region = self.text(argument).filter(|region| !region.is_empty());
        let region = region.unwrap_or_else(|| self.region().to_owned());
        array(span, ["a", "b", "c"].map(|zone| string(span, format!("{region}{zone}"))).into())
    }

    /// The arguments of a function that takes so many.
    pub(super) fn arguments<'n, const N: usize>(
        &self,
        argument: &'n Node,
        function: &str,
        span: Span,
    ) -> Option<[&'n Node; N]> {
        let elements = argument.as_array().unwrap_or_default();
        let arguments: Result<[&Node; N], _> = elements.iter().collect::<Vec<_>>().try_into();
        if arguments.is_err() {
            let message = format!("`{function}` takes an array of {N}");
            self.error(Rule::WrongType, span, message, None);
        }
        arguments.ok()
    }
}

const FUNCTIONS: [&str; 19] = [
    "Ref",
    "Fn::GetAtt",
    "Fn::Sub",
    "Fn::Join",
    "Fn::Select",
    "Fn::Split",
    "Fn::FindInMap",
    "Fn::If",
    "Fn::ImportValue",
    "Fn::Base64",
    "Fn::GetAZs",
    "Fn::ToJsonString",
    "Fn::Length",
    "Fn::Equals",
    "Fn::And",
    "Fn::Or",
    "Fn::Not",
    "Fn::Transform",
    "Fn::Cidr",
];

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[(bits & 63) as usize]);
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let filled = place <= chunk.len();
            encoded.push(if filled { digit(bits >> (18 - 6 * place)) } else { '=' });
        }
    }
    encoded
}

/// Whether two values are the same, as `Fn::Equals` compares them.
pub(super) fn same(one: &Node, other: &Node) -> bool {
    let plain = |node: &Node| text(node).map_or_else(|| node.to_value(), Value::String);
    plain(one) == plain(other)
}
