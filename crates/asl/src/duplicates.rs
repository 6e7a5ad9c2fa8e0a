//! Fields that an object names twice: JSON readers disagree on which one counts.

use std::collections::HashMap;

use everstep_source::Place;
use everstep_source::document::{Content, Node};

use crate::diagnostic::Diagnostic;
use crate::lower::Cx;
use crate::rule::Rule;

pub(crate) fn check(cx: &Cx<'_>, root: &Node) {
    walk(cx, root, &Trail::Root);
}

/// The way to a node, turned into a place only if there is something to report.
enum Trail<'t> {
    Root,
    Name(&'t Trail<'t>, &'t str),
    Index(&'t Trail<'t>, usize),
}

impl Trail<'_> {
    fn place(&self) -> Place {
        match self {
            Self::Root => Place::root(),
            Self::Name(around, name) => around.place().field(name),
            Self::Index(around, index) => around.place().index(*index),
        }
    }
}

fn walk(cx: &Cx<'_>, node: &Node, trail: &Trail<'_>) {
    match &node.content {
        Content::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                walk(cx, element, &Trail::Index(trail, index));
            }
        }
        Content::Object(members) => {
            let mut seen = HashMap::with_capacity(members.len());
            for member in members {
                let trail = Trail::Name(trail, &member.name);
                if let Some(first) = seen.insert(member.name.as_str(), member.name_span) {
                    let line = cx.source.position(first.start).line;
                    cx.report(
                        Diagnostic::new(
                            Rule::DuplicateField,
                            member.name_span,
                            trail.place(),
                            format!("the field `{}` stands here a second time", member.name),
                        )
                        .hint(format!("the first is on line {line}: keep one of them")),
                    );
                }
                walk(cx, &member.value, &trail);
            }
        }
        _ => {}
    }
}
