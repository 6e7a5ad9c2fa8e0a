//! JSON with places, by `jsonc-parser` with every leniency off.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Number;

use super::{Content, DEPTH_MAX, DocumentError, Member, Node, Trouble};
use crate::Span;

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn read(text: &str) -> Result<Node, DocumentError> {
    parse(text, &STRICT)
}

pub(super) fn read_with_comments(text: &str) -> Result<Node, DocumentError> {
    parse(text, &ParseOptions { allow_comments: true, ..STRICT })
}

fn parse(text: &str, options: &ParseOptions) -> Result<Node, DocumentError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), options).map_err(|error| {
        let (kind, span) = (error.kind(), span(error.range()));
        let trouble = match kind {
            ParseErrorKind::CommentsNotAllowed => Trouble::Comment,
            _ => Trouble::Other,
        };
        DocumentError { span, message: message(kind), hint: hint(kind), trouble }
    })?;
    match parsed.value {
        Some(value) => convert(value, 0),
        None => Err(DocumentError {
            span: Span::default(),
            message: "the text is empty".to_owned(),
            hint: None,
            trouble: Trouble::Other,
        }),
    }
}

fn message(kind: &ParseErrorKind) -> String {
    match kind {
        ParseErrorKind::ExpectedComma => "a comma is missing here".to_owned(),
        ParseErrorKind::UnterminatedObject => "this object is not closed".to_owned(),
        ParseErrorKind::UnterminatedArray => "this array is not closed".to_owned(),
        kind => {
            let said = kind.to_string();
            if said.contains("surrogate") {
                return "half of a surrogate pair is not a character".to_owned();
            }
            lowercase_first(&said)
        }
    }
}

fn hint(kind: &ParseErrorKind) -> Option<String> {
    match kind {
        ParseErrorKind::UnterminatedObject => Some("a closing `}` is missing"),
        ParseErrorKind::UnterminatedArray => Some("a closing `]` is missing"),
        ParseErrorKind::String(_) if kind.to_string().contains("surrogate") => {
            Some(r"write the character itself, or both halves: \ud83d\ude00")
        }
        ParseErrorKind::CommentsNotAllowed => Some("JSON has no comments; YAML has"),
        ParseErrorKind::TrailingCommasNotAllowed => Some("remove the comma before the bracket"),
        ParseErrorKind::SingleQuotedStringsNotAllowed => {
            Some("JSON strings stand in double quotes")
        }
        _ => None,
    }
    .map(str::to_owned)
}

fn lowercase_first(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn span(range: Range) -> Span {
    Span::new(range.start, range.end)
}

fn convert(value: Value<'_>, depth: usize) -> Result<Node, DocumentError> {
    let span = span(value.range());
    if depth > DEPTH_MAX {
        return Err(too_deep(span));
    }
    let content = match value {
        Value::NullKeyword(_) => Content::Null,
        Value::BooleanLit(literal) => Content::Boolean(literal.value),
        Value::NumberLit(literal) => Content::Number(number(literal.value, span)?),
        Value::StringLit(literal) => Content::String(literal.value.into_owned()),
        Value::Array(array) => Content::Array(
            array.elements.into_iter().map(|e| convert(e, depth + 1)).collect::<Result<_, _>>()?,
        ),
        Value::Object(object) => Content::Object(
            object
                .properties
                .into_iter()
                .map(|property| {
                    let name_span = self::span(property.name.range());
                    let name = match property.name {
                        ObjectPropName::String(name) => name.value.into_owned(),
                        ObjectPropName::Word(name) => name.value.to_owned(),
                    };
                    Ok(Member { name, name_span, value: convert(property.value, depth + 1)? })
                })
                .collect::<Result<_, _>>()?,
        ),
    };
    Ok(Node { span, content })
}

pub(super) fn too_deep(span: Span) -> DocumentError {
    DocumentError {
        span,
        message: format!("nested deeper than {DEPTH_MAX} levels"),
        hint: None,
        trouble: Trouble::TooDeep,
    }
}

pub(super) fn number(text: &str, span: Span) -> Result<Number, DocumentError> {
    serde_json::from_str(text).map_err(|_| DocumentError {
        span,
        message: format!("`{}` is not a number that JSON can hold", shorten(text)),
        hint: None,
        trouble: Trouble::Other,
    })
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    text.chars().take(37).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> DocumentError {
        read(text).expect_err(text)
    }

    #[test]
    fn places_are_bytes_of_the_text() {
        let text = r#"{"a": [1, "ü"]}"#;
        let node = read(text).unwrap();
        let member = &node.as_object().unwrap()[0];
        assert_eq!(&text[member.name_span.range()], r#""a""#);
        assert_eq!(&text[member.value.as_array().unwrap()[1].span.range()], r#""ü""#);
    }

    #[test]
    fn leniencies_are_off() {
        for text in
            ["{a: 1}", "[1,]", "{} // c", "['x']", "[0x1]", "[+1]", "[.5]", "[NaN]", "[1 2]", ""]
        {
            error(text);
        }
    }

    #[test]
    fn hostile_texts_are_refused() {
        error(&"[".repeat(10_000_000));
        error(&format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)));
        error(&format!("{}{}", "[".repeat(300), "]".repeat(300)));
        error(r#"["\ud800"]"#);
        error("[1e999]");
    }
}
