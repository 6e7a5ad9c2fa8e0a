//! `States.Format`: a text with `{}` in it.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use crate::Scope;
use crate::path::write_java;

/// Bytes a text may have.
const BYTES_MAX: usize = 16 << 20;

/// The pieces of text around each `{}`.
#[derive(Debug, Clone)]
pub(super) struct Format {
    pieces: Vec<String>,
}

impl Format {
    /// `\{`, `\}`, `\'` and `\\` stand for their second character; any other backslash for
    /// itself, as texts that come out of the data may have it.
    pub(super) fn parse(raw: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut piece = String::new();
        let mut characters = raw.chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek()) {
                ('\\', Some('{' | '}' | '\'' | '\\')) => piece.extend(characters.next()),
                ('{', Some('}')) => {
                    characters.next();
                    if let Some(last) = pieces.last_mut() {
                        *last = std::mem::take(&mut piece);
                    }
                    pieces.push(String::new());
                }
                _ => piece.push(character),
            }
        }
        if let Some(last) = pieces.last_mut() {
            *last = piece;
        }
        Self { pieces }
    }

    pub(super) fn placeholders(&self) -> usize {
        self.pieces.len() - 1
    }

    pub(super) fn fill(
        &self,
        values: &[Cow<'_, Value>],
        scope: &Scope<'_>,
    ) -> Result<Value, String> {
        let (wanted, given) = (self.placeholders(), values.len());
        if wanted != given {
            return Err(format!("the text has {wanted} times {{}}, but {given} values are given"));
        }
        let is_structure = |value: &Cow<'_, Value>| value.is_array() || value.is_object();
        if !scope.prints_structures
            && let Some(value) = values.iter().find(|v| is_structure(v))
        {
            return Err(refused(value));
        }
        let mut text = Bounded(self.pieces[0].clone());
        for (piece, value) in self.pieces[1..].iter().zip(values) {
            write_java(value, &mut text)
                .and_then(|()| text.write_str(piece))
                .map_err(|_| format!("the result is longer than {BYTES_MAX} bytes"))?;
        }
        Ok(Value::String(text.0))
    }
}

/// "The Value MUST NOT be a JSON array or object."
fn refused(value: &Value) -> String {
    let what = if value.is_array() { "an array" } else { "an object" };
    format!(
        "a value must be a string, a number, a boolean or null, but is {what}: convert it with \
         States.JsonToString"
    )
}

/// Refuses to grow beyond the limit.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > BYTES_MAX {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
