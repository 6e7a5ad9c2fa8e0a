//! How the service words what is wrong with a text as a whole.

use everstep_source::document::{DocumentError, Node, Trouble};
use everstep_source::{Diagnostic, Format, Place, Source, Span};

use crate::DEFINITION_BYTES_MAX;
use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::rule::Rule;

pub(crate) fn too_large(source: &Source) -> Diagnostic {
    let size = source.text().len();
    Diagnostic::new(
        Rule::DefinitionTooLarge,
        Span::default(),
        Place::root(),
        format!("the definition has {size} bytes; at most {DEFINITION_BYTES_MAX} are allowed"),
    )
    .hint("move parts of it into state machines of their own, started by states:startExecution")
}

pub(crate) fn not_an_object(root: &Node) -> Diagnostic {
    Diagnostic::new(
        Rule::WrongType,
        root.span,
        Place::root(),
        format!("a state machine must be an object, but is {}", root.type_name()),
    )
    .service("Definition must be a valid JSON object")
    .service_location(None)
}

/// A text that cannot be parsed as a document.
pub(crate) fn unreadable(source: &Source, error: &DocumentError) -> Diagnostic {
    let hint = match error.trouble {
        Trouble::TooDeep => Some("move inner branches into a state machine of their own"),
        Trouble::Comment => {
            Some("JSON has no comments: use the Comment field, or write the definition in YAML")
        }
        Trouble::Other => error.hint.as_deref(),
    };
    let diagnostic =
        Diagnostic::new(Rule::InvalidDocument, error.span, Place::root(), error.message.clone())
            .hint_if(hint.map(str::to_owned));
    if source.text().trim().is_empty() {
        return diagnostic.service("Definition must be a valid JSON object").service_location(None);
    }
    let (message, at) = jackson(source, error);
    let place = source.position(at);
    let location = format!(
        "[Source: (String)\"{}\"; line: {}, column: {}]",
        excerpt(source.text()),
        place.line,
        place.column
    );
    diagnostic
        .service(format!("{message}\n at {location}"))
        .service_code(ServiceCode::InvalidJsonDescription)
        .service_location(Some(location))
}

/// The service reads JSON with Jackson and shows its words.
fn jackson(source: &Source, error: &DocumentError) -> (String, usize) {
    let text = source.text();
    let rest = text.get(error.span.start..).unwrap_or_default();
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if word.chars().next().is_some_and(char::is_alphabetic) && source.format() == Format::Json
        || word.chars().next().is_some_and(char::is_alphabetic)
            && !text.trim_start().starts_with(['{', '['])
    {
        let message = format!(
            "Unrecognized token '{word}': was expecting (JSON String, Number, Array, Object or token \
             'null', 'true' or 'false')"
        );
        return (message, error.span.start + word.len());
    }
    match rest.chars().next() {
        Some(c) => (
            format!("Unexpected character ('{c}' (code {})): {}", c as u32, error.message),
            error.span.start + c.len_utf8(),
        ),
        None => (format!("Unexpected end-of-input: {}", error.message), text.len()),
    }
}

/// Jackson shows at most this much of what it read.
const EXCERPT_CHARACTERS_MAX: usize = 500;

fn excerpt(text: &str) -> String {
    let total = text.chars().count();
    if total <= EXCERPT_CHARACTERS_MAX {
        return text.to_owned();
    }
    let shown: String = text.chars().take(EXCERPT_CHARACTERS_MAX).collect();
    format!("{shown}\"[truncated {} chars]", total - EXCERPT_CHARACTERS_MAX)
}
