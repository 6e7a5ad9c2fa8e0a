//! Fields that an object has twice: JSON readers disagree on which one counts.

use std::collections::HashMap;

use super::{Context, Problem, Trail, diagnostic};
use crate::document::{Content, Member, Node};

/// Reports every repeated field of a value and of all that is in it.
pub fn report_repetitions<'a>(cx: &impl Context, node: &'a Node, at: &Trail<'a>) {
    match &node.content {
        Content::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                report_repetitions(cx, element, &at.index(index));
            }
        }
        Content::Object(members) => {
            report(cx, members, at);
            for member in members {
                report_repetitions(cx, &member.value, &at.name(&member.name));
            }
        }
        _ => {}
    }
}

/// Reports the repeated fields of one object.
pub(super) fn report<'a>(cx: &impl Context, members: &'a [Member], at: &Trail<'a>) {
    let mut seen = HashMap::with_capacity(members.len());
    for member in members {
        if let Some(first) = seen.insert(member.name.as_str(), member.name_span) {
            let first_line = cx.source().position(first.start).line;
            let problem = Problem::Repeated { name: &member.name, first_line };
            cx.report(diagnostic(cx, &problem, member.name_span, &at.name(&member.name)));
        }
    }
}
