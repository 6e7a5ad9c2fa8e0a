//! The service integrations: which actions a `Resource` can name, and by which patterns.

use crate::model::Resource;
use crate::rule::Rule;

/// Why a resource cannot be called.
pub(crate) struct Problem {
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

pub(crate) fn problem(resource: &Resource) -> Option<Problem> {
    match resource {
        Resource::Uri(text) if !is_uri(text) => Some(Problem {
            rule: Rule::InvalidResource,
            message: format!("`{text}` is not a URI"),
            hint: Some(
                "a resource is an ARN such as arn:aws:states:::lambda:invoke, or an address"
                    .to_owned(),
            ),
        }),
        _ => None,
    }
}

/// A scheme and something behind it (RFC 3986, section 3).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut characters = scheme.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        && !rest.is_empty()
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}
