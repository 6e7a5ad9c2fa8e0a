//! Literals in brackets, filters and arguments.

use serde_json::{Map, Number, Value};

use super::parse::Parser;
use crate::SyntaxError;

/// A string in single or double quotes, with its escapes resolved.
pub(super) fn quoted(parser: &mut Parser<'_>) -> Result<String, SyntaxError> {
    quoted_as_written(parser).map(|(text, _)| text)
}

/// The same, and the text between the quotes.
pub(super) fn quoted_as_written<'t>(
    parser: &mut Parser<'t>,
) -> Result<(String, &'t str), SyntaxError> {
    let from = parser.at;
    let quote = parser.peek().unwrap_or_default();
    parser.at += 1;
    let raw = until_unescaped(parser, quote)
        .ok_or_else(|| SyntaxError::invalid("a string that does not end", from..from + 1))?;
    Ok((unescape(raw, from + 1)?, raw))
}

/// What stands before the next such byte that no backslash protects; passes that byte.
pub(super) fn until_unescaped<'t>(parser: &mut Parser<'t>, end: u8) -> Option<&'t str> {
    let rest = parser.rest();
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if byte == end {
            parser.at += at + 1;
            return Some(&rest[..at]);
        }
    }
    None
}

/// Backslash escapes: those of Java for `b f n r t u`, and any other character for itself.
pub(super) fn unescape(raw: &str, offset: usize) -> Result<String, SyntaxError> {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let from = raw.len() - rest.len() + at;
        rest = &rest[at + 1..];
        let Some(character) = rest.chars().next() else {
            break;
        };
        rest = &rest[character.len_utf8()..];
        text.push(match character {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (character, len) = unicode(rest).ok_or_else(|| {
                    let span = offset + from..offset + from + 2;
                    SyntaxError::invalid("`\\u` needs four hexadecimal digits, or two such pairs that form one character", span)
                })?;
                rest = &rest[len..];
                character
            }
            other => other,
        });
    }
    text.push_str(rest);
    Ok(text)
}

/// The character of `XXXX` or `XXXX\uXXXX` after `\u`, and how many bytes that took.
pub(super) fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| -> Option<u16> {
        let digits = text.get(..4)?;
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| hexadecimal)
    };
    let first = unit(text)?;
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, 4));
    }
    let second = unit(text[4..].strip_prefix("\\u")?)?;
    let character = char::decode_utf16([first, second]).next()?.ok()?;
    Some((character, 10))
}

/// A number, as Java reads decimals.
pub(super) fn number(parser: &mut Parser<'_>) -> Result<Value, SyntaxError> {
    let from = parser.at;
    let text =
        parser.take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
    let exact = text.parse::<i64>().map(Number::from);
    let number = exact.ok().or_else(|| {
        let number = text.parse::<f64>().ok()?;
        Number::from_f64(number)
    });
    number.map(Value::Number).ok_or_else(|| {
        let error = match text {
            "" => parser.invalid("expected a value"),
            _ => SyntaxError::invalid("not a number", from..parser.at),
        };
        error.with_hint("strings stand in quotes: 'text'")
    })
}

/// JSON, in which strings may also stand in single quotes.
pub(super) fn json(parser: &mut Parser<'_>) -> Result<Value, SyntaxError> {
    parser.blanks();
    match parser.peek() {
        Some(b'\'' | b'"') => quoted(parser).map(Value::String),
        Some(b'[') => array(parser),
        Some(b'{') => object(parser),
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => word(parser),
        _ => number(parser),
    }
}

fn array(parser: &mut Parser<'_>) -> Result<Value, SyntaxError> {
    parser.descend()?;
    parser.at += 1;
    let mut items = Vec::new();
    parser.blanks();
    if !parser.eat(b']') {
        loop {
            items.push(json(parser)?);
            parser.blanks();
            if parser.eat(b']') {
                break;
            }
            if !parser.eat(b',') {
                return Err(parser.invalid("expected `,` or `]` in a list"));
            }
        }
    }
    parser.ascend();
    Ok(Value::Array(items))
}

fn object(parser: &mut Parser<'_>) -> Result<Value, SyntaxError> {
    parser.descend()?;
    parser.at += 1;
    let mut fields = Map::new();
    parser.blanks();
    if !parser.eat(b'}') {
        loop {
            parser.blanks();
            if !matches!(parser.peek(), Some(b'\'' | b'"')) {
                return Err(parser.invalid("expected a name in quotes"));
            }
            let name = quoted(parser)?;
            parser.blanks();
            if !parser.eat(b':') {
                return Err(parser.invalid("expected `:` after a name"));
            }
            fields.insert(name, json(parser)?);
            parser.blanks();
            if parser.eat(b'}') {
                break;
            }
            if !parser.eat(b',') {
                return Err(parser.invalid("expected `,` or `}` in an object"));
            }
        }
    }
    parser.ascend();
    Ok(Value::Object(fields))
}

/// `true`, `false`, `null`; any other word is a string that has lost its quotes. Published
/// definitions have such words: `[?(@.Name==Receipt)]`.
fn word(parser: &mut Parser<'_>) -> Result<Value, SyntaxError> {
    let word =
        parser.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    Ok(match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        word => Value::String(word.to_owned()),
    })
}
