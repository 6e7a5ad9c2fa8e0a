//! From text to a call.

use std::ops::Range;

use serde_json::Value;

use super::format::Format;
use super::function::Function;
use super::{Argument, Call};
use crate::SyntaxError;
use crate::path::Path;

/// Calls in calls, as the service allows.
const DEPTH_MAX: usize = 10;

pub(super) fn call(text: &str) -> Result<Call, SyntaxError> {
    let mut parser = Parser { text, at: 0 };
    let call = parser.call(1)?;
    // As in the service's own editor. Before it there is nothing: a call "MUST begin with" its name.
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.invalid("nothing can follow the closing `)`"));
    }
    Ok(call)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

/// A string argument, before and after its escapes are resolved.
struct Literal<'t> {
    raw: &'t str,
    text: String,
}

/// The arguments with their places, and the first of them once more if it is a string.
#[derive(Default)]
struct Arguments<'t> {
    all: Vec<(Argument, Range<usize>)>,
    first: Option<Literal<'t>>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn invalid(&self, message: impl Into<String>) -> SyntaxError {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        SyntaxError::invalid(message, self.at..self.at + len)
    }

    fn call(&mut self, depth: usize) -> Result<Call, SyntaxError> {
        let from = self.at;
        let function = self.function()?;
        if depth > DEPTH_MAX {
            let message = format!("intrinsic functions nested more than {DEPTH_MAX} deep");
            return Err(SyntaxError::invalid(message, from..self.at));
        }
        self.at += 1;
        let Arguments { all, first } = self.arguments(depth)?;
        let span = from..self.at;
        function.check_count(all.len(), span.clone())?;
        let misfit = all.iter().enumerate().find_map(|(index, (argument, span))| {
            let inner = argument.misfit().cloned();
            inner.or_else(|| function.misfit(index, argument.kind(), span.clone()))
        });
        let arguments: Vec<Argument> = all.into_iter().map(|(argument, _)| argument).collect();
        let format = match first {
            Some(literal) if function == Function::Format => {
                Some(format(&literal, arguments.len() - 1, span.clone())?)
            }
            _ => None,
        };
        Ok(Call {
            text: self.text[span].into(),
            function,
            reads: arguments.iter().map(Argument::reads).sum(),
            arguments: arguments.into(),
            format,
            misfit,
        })
    }

    /// The name, up to the `(` that must follow at once.
    fn function(&mut self) -> Result<Function, SyntaxError> {
        let from = self.at;
        let ends = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
        let rest = self.rest().as_bytes();
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
        let name = &self.text[from..self.at];
        if self.peek() != Some(b'(') {
            return Err(not_a_call(name, from, self));
        }
        Function::find(name).ok_or_else(|| {
            let error =
                SyntaxError::invalid(format!("unknown intrinsic function `{name}`"), from..self.at);
            match Function::nearest(name) {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error.with_hint(format!("there are {}", Function::names())),
            }
        })
    }

    fn arguments(&mut self, depth: usize) -> Result<Arguments<'t>, SyntaxError> {
        let mut arguments = Arguments::default();
        self.blanks();
        if self.peek() == Some(b')') {
            self.at += 1;
            return Ok(arguments);
        }
        loop {
            self.blanks();
            let from = self.at;
            let argument = match self.peek() {
                Some(b'\'') => {
                    let literal = self.string()?;
                    let value = Value::String(literal.text.clone());
                    if arguments.all.is_empty() {
                        arguments.first = Some(literal);
                    }
                    Argument::Value(value)
                }
                _ => self.argument(depth)?,
            };
            arguments.all.push((argument, from..self.at));
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b')') => break,
                None => return Err(self.invalid("expected `)` at the end")),
                _ => return Err(self.invalid("expected `,` or `)` after an argument")),
            }
        }
        self.at += 1;
        Ok(arguments)
    }

    fn argument(&mut self, depth: usize) -> Result<Argument, SyntaxError> {
        match self.peek() {
            Some(b'$') => self.path().map(Argument::Path),
            Some(b'-' | b'0'..=b'9') => self.number().map(Argument::Value),
            Some(b'"') => {
                Err(self.invalid("strings stand in single quotes").with_hint("write 'text'"))
            }
            Some(byte) if byte.is_ascii_alphabetic() => self.word(depth),
            _ => Err(self
                .invalid("expected an argument")
                .with_hint("a 'string', a number, true, false, null, a path or a call")),
        }
    }

    fn word(&mut self, depth: usize) -> Result<Argument, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|character: char| !character.is_ascii_alphanumeric());
        let value = match &rest[..end.unwrap_or(rest.len())] {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return self.call(depth + 1).map(Argument::Call),
        };
        self.at += end.unwrap_or(rest.len());
        Ok(Argument::Value(value))
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let from = self.at;
        let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let rest = self.rest().as_bytes();
        self.at += rest.iter().position(|byte| !part(byte)).unwrap_or(rest.len());
        let span = from..self.at;
        serde_json::from_str(&self.text[span.clone()])
            .map_err(|_| SyntaxError::invalid("not a number", span))
    }

    /// A path ends before the `,` or `)` that is outside of its own brackets and quotes.
    fn path(&mut self) -> Result<Path, SyntaxError> {
        let from = self.at;
        let (mut open, mut quote, mut escaped) = (0_usize, None, false);
        while let Some(byte) = self.peek() {
            match (byte, quote) {
                _ if escaped => escaped = false,
                (b'\\', Some(_)) => escaped = true,
                (byte, Some(end)) if byte == end => quote = None,
                (_, Some(_)) => {}
                (b'\'' | b'"', None) if open > 0 => quote = Some(byte),
                (b'[' | b'(', None) => open += 1,
                (b',' | b')', None) if open == 0 => break,
                (b']' | b')', None) => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
        let text = self.text[from..self.at].trim_ascii_end();
        Path::parse(text).map_err(|mut error| {
            error.span = error.span.start + from..error.span.end + from;
            error
        })
    }

    /// Only what has a meaning in intrinsic functions can be escaped.
    fn string(&mut self) -> Result<Literal<'t>, SyntaxError> {
        let from = self.at;
        self.at += 1;
        let rest = self.rest();
        let mut text = String::new();
        let mut characters = rest.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\'' => {
                    self.at += at + 1;
                    let raw = &rest[..at];
                    return Ok(Literal { raw, text });
                }
                '\\' => match characters.next() {
                    Some((_, escaped @ ('\'' | '{' | '}' | '\\'))) => text.push(escaped),
                    other => {
                        let len = 1 + other.map_or(0, |(_, character)| character.len_utf8());
                        let span = self.at + at..self.at + at + len;
                        let message = "a backslash stands only before ' { } and \\";
                        return Err(SyntaxError::invalid(message, span)
                            .with_hint("write `\\\\` for a backslash"));
                    }
                },
                character => text.push(character),
            }
        }
        Err(SyntaxError::invalid("a string that does not end", from..from + 1))
    }
}

fn not_a_call(name: &str, from: usize, parser: &Parser<'_>) -> SyntaxError {
    if name.is_empty() {
        return parser
            .invalid("expected an intrinsic function or a path")
            .with_hint("paths begin with `$`, functions with `States.`");
    }
    SyntaxError::invalid("expected `(` right after the name", from..parser.at)
        .with_hint(format!("write {name}(…)"))
}

fn format(literal: &Literal<'_>, given: usize, span: Range<usize>) -> Result<Format, SyntaxError> {
    let format = Format::parse(literal.raw);
    let wanted = format.placeholders();
    if wanted == given {
        return Ok(format);
    }
    let message = format!("States.Format has {wanted} times `{{}}` but {given} values for them");
    Err(SyntaxError::invalid(message, span))
}
