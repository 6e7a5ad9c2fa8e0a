//! `Globals` of SAM: what all functions or state machines of a template share.

use everstep_source::document::{Content, Member, Node};

/// A property with what is shared: objects are merged, lists joined, anything else is the resource's own.
pub(super) fn merged(global: Option<&Node>, own: Option<&Node>) -> Option<Node> {
    match (global, own) {
        (None, own) => own.cloned(),
        (Some(global), None) => Some(global.clone()),
        (Some(global), Some(own)) => Some(both(global, own)),
    }
}

fn both(global: &Node, own: &Node) -> Node {
    let content = match (&global.content, &own.content) {
        (Content::Object(shared), Content::Object(members)) if !is_call(members) => {
            Content::Object(all(shared, members))
        }
        (Content::Array(shared), Content::Array(elements)) => {
            Content::Array(shared.iter().chain(elements).cloned().collect())
        }
        (_, own) => own.clone(),
    };
    Node { span: own.span, content }
}

fn all(shared: &[Member], own: &[Member]) -> Vec<Member> {
    let mut all: Vec<Member> = Vec::new();
    for member in shared {
        let named = own.iter().find(|one| one.name == member.name);
        all.push(match named {
            Some(named) => Member { value: both(&member.value, &named.value), ..named.clone() },
            None => member.clone(),
        });
    }
    all.extend(
        own.iter().filter(|one| !shared.iter().any(|known| known.name == one.name)).cloned(),
    );
    all
}

/// Whether an object calls an intrinsic function.
pub(super) fn is_call(members: &[Member]) -> bool {
    matches!(members, [only] if only.name == "Ref" || only.name == "Condition" || only.name.starts_with("Fn::"))
}

#[cfg(test)]
mod tests {
    use everstep_source::Format;
    use everstep_source::document::read;
    use serde_json::json;

    use super::*;

    fn check(global: serde_json::Value, own: serde_json::Value, expected: serde_json::Value) {
        let node = |value: serde_json::Value| read(&value.to_string(), Format::Json).expect("JSON");
        let (global, own) = (node(global), node(own));
        assert_eq!(merged(Some(&global), Some(&own)).map(|node| node.to_value()), Some(expected));
    }

    #[test]
    fn objects_are_merged_and_lists_joined() {
        check(
            json!({ "V": { "a": 1, "b": 1 } }),
            json!({ "V": { "b": 2 } }),
            json!({ "V": { "a": 1, "b": 2 } }),
        );
        check(json!([1]), json!([2]), json!([1, 2]));
        check(json!(3), json!(5), json!(5));
        check(json!({ "a": 1 }), json!({ "Ref": "x" }), json!({ "Ref": "x" }));
    }
}
