//! Reference Paths: fields and indexes only, so that they can also say where to put something.

use std::borrow::Cow;
use std::fmt;

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::parse::{Parser, check};
use super::token::{Steps, Token};
use super::{Path, Root, literal};
use crate::{EvalError, Scope, SyntaxError};

/// A path that can only name one node: fields and indexes, with the specification's escapes.
#[derive(Debug, Clone)]
pub struct ReferencePath {
    path: Path,
}

impl ReferencePath {
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let (root, steps) = parse(text)?;
        Ok(Self { path: Path { text: text.into(), root, steps } })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        self.path.as_str()
    }

    #[must_use]
    pub fn root(&self) -> &Root {
        self.path.root()
    }

    /// Whether it is exactly `$`.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.path.is_identity()
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        self.path.variables(into);
    }

    pub fn evaluate<'a>(&self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
        self.path.evaluate(scope)
    }

    /// Whether [`Self::insert`] can ever succeed: only into the input, and never at an index
    /// that counts from the end.
    pub fn check_insert(&self) -> Result<(), SyntaxError> {
        let whole = 0..self.as_str().len();
        if *self.root() != Root::Input {
            let message = "a result can only be put into the input";
            return Err(SyntaxError::invalid(message, whole).with_hint("begin the path with `$.`"));
        }
        let from_end = |token: &Token| matches!(token, Token::Index(index) if *index < 0);
        if self.path.steps.tokens().iter().any(from_end) {
            let message = "a result cannot be put at an index that counts from the end";
            return Err(SyntaxError::invalid(message, whole));
        }
        Ok(())
    }

    /// `ResultPath`: `target` with `value` at this place, fields in between made as needed.
    pub fn insert(&self, mut target: Value, value: Value) -> Result<Value, EvalError> {
        if let Err(error) = self.check_insert() {
            return Err(self.fails(error.message));
        }
        let tokens = self.path.steps.tokens();
        let mut node = &mut target;
        for (at, token) in tokens.iter().enumerate() {
            node = match (token, node) {
                (Token::Field(_) | Token::Escaped(_), Value::Object(fields)) => {
                    match fields.entry(token.name_in(fields).unwrap_or_default()) {
                        Entry::Occupied(field) => field.into_mut(),
                        Entry::Vacant(field) => {
                            field.insert(self.make(&tokens[at + 1..], value)?);
                            return Ok(target);
                        }
                    }
                }
                (Token::Index(index), Value::Array(items)) => {
                    let len = items.len();
                    let found = usize::try_from(*index).ok().and_then(|at| items.get_mut(at));
                    found.ok_or_else(|| {
                        self.fails(format!("{token} is not in an array of {len} items"))
                    })?
                }
                (token, node) => return Err(self.fails(cannot_set(token, node))),
            };
        }
        *node = value;
        Ok(target)
    }

    /// The fields that are missing, around the value. Arrays are not made.
    fn make(&self, missing: &[Token], value: Value) -> Result<Value, EvalError> {
        let mut value = value;
        for token in missing.iter().rev() {
            let Some(name) = token.name_in(&Map::new()) else {
                return Err(self.fails(format!("{token} is not in an array")));
            };
            let mut fields = Map::new();
            fields.insert(name, value);
            value = Value::Object(fields);
        }
        Ok(value)
    }

    fn fails(&self, reason: String) -> EvalError {
        EvalError::Path { path: self.as_str().to_owned(), reason }
    }
}

fn cannot_set(token: &Token, node: &Value) -> String {
    let kind = match node {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("{token} cannot be set in {kind}")
}

impl fmt::Display for ReferencePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn parse(text: &str) -> Result<(Root, Steps), SyntaxError> {
    let mut parser = Parser::new(text);
    let root = parser.root()?;
    let mut tokens = Vec::new();
    loop {
        let from = parser.at;
        match parser.peek() {
            None => break,
            Some(b'.') => {
                parser.at += 1;
                match parser.peek() {
                    Some(b'.') => return Err(refused(&parser, "deep scans")),
                    Some(b'[') => tokens.push(bracket(&mut parser)?),
                    _ => tokens.push(Token::Field(name(&mut parser)?.into())),
                }
            }
            Some(b'[') => tokens.push(bracket(&mut parser)?),
            Some(_) => return Err(parser.invalid("expected `.` or `[`")),
        }
        check(&tokens, from..parser.at)?;
    }
    Ok((root, Steps::new(tokens)))
}

fn refused(parser: &Parser<'_>, what: &str) -> SyntaxError {
    parser
        .invalid(format!("{what} are not part of Reference Paths"))
        .with_hint("a Reference Path names one node, by fields and indexes only: $.a.b[0]['c d']")
}

/// The specification's escapes: a backslash makes any character an ordinary one.
fn name(parser: &mut Parser<'_>) -> Result<String, SyntaxError> {
    let mut name = String::new();
    while let Some(character) = parser.rest().chars().next() {
        match character {
            '.' | '[' => break,
            '\\' => {
                name.push(escaped(parser)?);
                continue;
            }
            '@' | ',' | ':' | '?' | '*' | '(' | ')' | ']' | ' ' => {
                let message = format!("`{character}` is not part of Reference Paths");
                let hint = format!("write `\\{character}`, or the name in brackets: ['…']");
                return Err(parser.invalid(message).with_hint(hint));
            }
            character => name.push(character),
        }
        parser.at += character.len_utf8();
    }
    if name.is_empty() {
        return Err(parser.invalid("expected a name"));
    }
    Ok(name)
}

fn escaped(parser: &mut Parser<'_>) -> Result<char, SyntaxError> {
    let from = parser.at;
    parser.at += 1;
    let Some(character) = parser.rest().chars().next() else {
        return Err(SyntaxError::invalid("nothing follows `\\`", from..parser.at));
    };
    parser.at += character.len_utf8();
    if character != 'u' || !starts_with_unit(parser.rest()) {
        return Ok(character);
    }
    let Some((character, len)) = literal::unicode(parser.rest()) else {
        let message = "half of a surrogate pair is not a character";
        return Err(SyntaxError::invalid(message, from..parser.at + 4));
    };
    parser.at += len;
    Ok(character)
}

fn starts_with_unit(text: &str) -> bool {
    (text.as_bytes().get(..4)).is_some_and(|unit| unit.iter().all(u8::is_ascii_hexdigit))
}

fn bracket(parser: &mut Parser<'_>) -> Result<Token, SyntaxError> {
    let from = parser.at;
    parser.at += 1;
    parser.blanks();
    let token = match parser.peek() {
        Some(b'\'' | b'"') => {
            let (name, raw) = literal::quoted_as_written(parser)?;
            Token::quoted(name, raw)
        }
        Some(b'-' | b'0'..=b'9') => {
            let digits = parser.take_while(|byte| matches!(byte, b'-' | b'0'..=b'9'));
            let index = digits.parse();
            Token::Index(index.map_err(|_| SyntaxError::invalid("not an index", from..parser.at))?)
        }
        Some(b'*') => return Err(refused(parser, "wildcards")),
        Some(b'?') => return Err(refused(parser, "filters")),
        Some(b':') => return Err(refused(parser, "slices")),
        _ => return Err(parser.invalid("expected an index or a name in quotes after `[`")),
    };
    parser.blanks();
    match parser.peek() {
        Some(b']') => parser.at += 1,
        Some(b',') => return Err(refused(parser, "lists of fields or indexes")),
        Some(b':') => return Err(refused(parser, "slices")),
        _ => return Err(parser.invalid("expected `]`")),
    }
    Ok(token)
}
