//! Makes nodes that stand where those stood that they are made from.

use everstep_source::Span;
use everstep_source::document::{Content, Member, Node};

pub(super) fn object(span: Span, members: Vec<Member>) -> Node {
    Node { span, content: Content::Object(members) }
}

pub(super) fn array(span: Span, elements: Vec<Node>) -> Node {
    Node { span, content: Content::Array(elements) }
}

pub(super) fn string(span: Span, text: impl Into<String>) -> Node {
    Node { span, content: Content::String(text.into()) }
}

pub(super) fn member(name: &str, name_span: Span, value: Node) -> Member {
    Member { name: name.to_owned(), name_span, value }
}

/// The last field of that name.
pub(super) fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Member> {
    node.as_object()?.iter().rev().find(|member| member.name == name)
}

/// A number that is written as a text, as parameters are, where a number is meant; in objects, below these names.
pub(super) fn numeric(node: Node, names: &[&str]) -> Node {
    let content = match node.content {
        Content::String(text) => match text.trim().parse::<i64>() {
            Ok(number) => Content::Number(number.into()),
            Err(_) => Content::String(text),
        },
        Content::Object(members) => {
            let each = members.into_iter().map(|member| match names.contains(&&*member.name) {
                true => Member { value: numeric(member.value, names), ..member },
                false => member,
            });
            Content::Object(each.collect())
        }
        other => other,
    };
    Node { span: node.span, content }
}

/// The text of a scalar, as CloudFormation takes numbers and booleans for strings.
pub(super) fn text(node: &Node) -> Option<String> {
    match &node.content {
        Content::String(text) => Some(text.clone()),
        Content::Number(number) => Some(number.to_string()),
        Content::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}
