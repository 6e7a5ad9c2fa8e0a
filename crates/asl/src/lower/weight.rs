//! How much time the expressions of a state can take, as far as their text shows.
//!
//! What is light is evaluated on the threads that serve all executions; everything else on threads of its own. So a
//! text that only looks like an expression costs a detour, and one that is overlooked costs others their turn: when in
//! doubt, a text is heavy.

use everstep_source::document::{Content, Node};

/// A state with more than this is not light.
const WEIGHT_MAX: u32 = 256;
/// What reads a whole payload at the worst, such as an intrinsic function.
const PASS_OVER_DATA: u32 = 16;

pub(super) fn is_light(state: &Node) -> bool {
    weight(state).is_some_and(|weight| weight <= WEIGHT_MAX)
}

/// The weight of all texts in a node; nothing if one of them can take any time. The states inside a state have
/// their own.
fn weight(node: &Node) -> Option<u32> {
    match &node.content {
        Content::String(text) => text_weight(text),
        Content::Array(elements) => elements.iter().map(weight).try_fold(0, add),
        Content::Object(members) => members
            .iter()
            .filter(|member| !matches!(&*member.name, "States" | "Comment"))
            .map(|member| weight(&member.value))
            .try_fold(0, add),
        _ => Some(0),
    }
}

fn add(sum: u32, more: Option<u32>) -> Option<u32> {
    more.map(|more| sum.saturating_add(more))
}

fn text_weight(text: &str) -> Option<u32> {
    if let Some(expression) = everstep_expr::jsonata::delimited(text) {
        let selects = |letter: char| letter.is_ascii_alphanumeric() || "$._ ".contains(letter);
        return expression.chars().all(selects).then_some(PASS_OVER_DATA);
    }
    if text.contains("States.") {
        let calls = u32::try_from(text.matches("States.").count()).unwrap_or(u32::MAX);
        return path_weight(text).map(|weight| weight.saturating_add(calls * PASS_OVER_DATA));
    }
    if text.starts_with('$') { path_weight(text) } else { Some(0) }
}

fn path_weight(text: &str) -> Option<u32> {
    let is_heavy = text.contains("..") || text.contains('?');
    let passes = text.contains(['*', ':', ',', '(']);
    (!is_heavy).then_some(if passes { PASS_OVER_DATA } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u32>) {
        assert_eq!(text_weight(text), expected, "{text}");
    }

    #[test]
    fn programs_scans_and_filters_are_heavy() {
        check("plain text", Some(0));
        check("$.a.b[0]", Some(1));
        check("$.a[*].b", Some(16));
        check("$..a", None);
        check("$.a[?(@.b == 1)]", None);
        check("$.a.length()", Some(16));
        check("States.Format('{}', $.a)", Some(32));
        check("States.Array(States.UUID(), $.a)", Some(48));
        check("States.Array($..a)", None);
        check("{% $states.input.a %}", Some(16));
        check("{% $sum(a) %}", None);
        check("{% a[b=1] %}", None);
    }
}
