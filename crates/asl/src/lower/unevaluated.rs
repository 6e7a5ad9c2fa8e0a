//! Texts that look like paths or calls, but are passed on as they stand.

use everstep_expr::template::Expression;
use everstep_source::document::{Content, Node};
use everstep_source::{Diagnostic, Place};

use super::reader::Field;
use crate::rule::Rule;

/// Looks through a payload template: what is meant to be computed stands under a name with `.$`.
pub(super) fn check_template(field: &Field<'_>) {
    walk(field.node, &mut |path, node| {
        let name = path.last().copied().unwrap_or(&field.name);
        report(field, path, node, &format!("write \"{name}.$\" for the value that it leads to"));
    });
}

/// `Result` of a Pass state is fixed, whatever is in it.
pub(super) fn check_result(field: &Field<'_>) {
    walk(field.node, &mut |path, node| {
        report(
            field,
            path,
            node,
            "`Result` is never computed: use `Parameters`, and a name with `.$`",
        );
    });
}

fn report(field: &Field<'_>, path: &[&str], node: &Node, hint: &str) {
    let text = node.as_str().unwrap_or_default();
    let place = path.iter().fold(field.at.place(), |place: Place, name| place.field(name));
    field.cx.report(
        Diagnostic::new(
            Rule::UnevaluatedPath,
            node.span,
            place,
            format!("`{text}` is passed on as these words"),
        )
        .hint(hint),
    );
}

/// Only fields of objects: what stands in an array cannot be computed anyway.
fn walk<'n>(node: &'n Node, found: &mut dyn FnMut(&[&'n str], &'n Node)) {
    let mut path = Vec::new();
    step(node, &mut path, found);
}

fn step<'n>(node: &'n Node, path: &mut Vec<&'n str>, found: &mut dyn FnMut(&[&'n str], &'n Node)) {
    match &node.content {
        Content::String(text) if looks_computed(text) => found(path, node),
        Content::Object(members) => {
            for member in members.iter().filter(|member| !member.name.ends_with(".$")) {
                path.push(&member.name);
                step(&member.value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// A lone `$` or `$5` is more likely a price.
fn looks_computed(text: &str) -> bool {
    let begins = ["$.", "$[", "$$.", "States."].iter().any(|start| text.starts_with(start));
    begins && Expression::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_parses_looks_computed() {
        for (text, expected) in [
            ("$.order.id", true),
            ("$$.Execution.Name", true),
            ("States.Format('{}', $.x)", true),
            ("States.ALL", false),
            ("$", false),
            ("$5", false),
            ("$.orders[", false),
            ("the path $.x", false),
        ] {
            assert_eq!(looks_computed(text), expected, "{text}");
        }
    }
}
