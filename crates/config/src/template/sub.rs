//! `Fn::Sub`: a text in which `${NAME}` and `${RESOURCE.ATTRIBUTE}` are filled in; `${!X}` is `${X}` itself.

use everstep_source::Span;
use everstep_source::document::Node;

use super::build::{field, string, text};
use super::scope::Scope;
use crate::rule::Rule;

impl Scope<'_> {
    /// A text, or a text and the values of names in it.
    pub(super) fn substitute(&self, argument: &Node, span: Span) -> Option<Node> {
        let (template, values) = match argument.as_array() {
            Some([template, values]) => (template, Some(values)),
            _ => (argument, None),
        };
        let Some(template) = template.as_str() else {
            let message = "`Fn::Sub` takes a string, or an array of a string and an object";
            self.error(Rule::WrongType, span, message, None);
            return None;
        };
        let filled = fill(template, |name| {
            let given = values.and_then(|values| field(values, name));
            let value = match given {
                Some(member) => self.evaluate(&member.value)?,
                None => self.named(name, span)?,
            };
            text(&value)
        });
        Some(string(span, filled))
    }

    fn named(&self, name: &str, span: Span) -> Option<Node> {
        match name.split_once('.') {
            Some((resource, attribute)) => self.attribute_of(resource, attribute, span),
            None => self.reference(name, span),
        }
    }
}

/// Fills in each `${NAME}` that has a value; any other is left as it is.
pub(crate) fn fill(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let (mut filled, mut rest) = (String::new(), template);
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        filled.push_str(before);
        let Some(end) = from.find('}') else {
            filled.push_str(from);
            return filled;
        };
        let name = &from[2..end];
        match name.strip_prefix('!') {
            Some(literal) => filled.push_str(&format!("${{{literal}}}")),
            None => match value(name.trim()) {
                Some(value) => filled.push_str(&value),
                None => filled.push_str(&from[..=end]),
            },
        }
        rest = &from[end + 1..];
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::fill;

    fn check(template: &str, expected: &str) {
        let value = |name: &str| (name == "a.b" || name == "a").then(|| format!("<{name}>"));
        assert_eq!(fill(template, value), expected, "{template}");
    }

    #[test]
    fn names_are_filled_in() {
        check("x ${a} ${ a.b } y", "x <a> <a.b> y");
        check("${!a} ${unknown} ${a", "${a} ${unknown} ${a");
        check("", "");
    }
}
