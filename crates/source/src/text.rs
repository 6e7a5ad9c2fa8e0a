//! A definition's text and places in it.

use std::ops::Range;

/// A half-open range of bytes of the source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// How a definition is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
}

impl Format {
    /// By the file's ending; for any other name, by the text's first character.
    #[must_use]
    pub fn of(name: &str, text: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        if lower.ends_with(".yaml") || lower.ends_with(".yml") {
            return Self::Yaml;
        }
        if lower.ends_with(".json") {
            return Self::Json;
        }
        match text.trim_start().chars().next() {
            Some('{' | '[') | None => Self::Json,
            Some(_) => Self::Yaml,
        }
    }
}

/// Line and column of a byte, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The text with its lines found.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<usize>,
    /// How many characters stand before each [`BLOCK_BYTES`]th byte, so that columns of long
    /// lines are not counted from their start every time.
    characters: Vec<usize>,
}

const BLOCK_BYTES: usize = 4096;

/// Characters that begin in these bytes.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        // Editors leave a byte order mark; RFC 8259 lets readers ignore it.
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        let line_starts =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let mut before = 0;
        let blocks = text.as_bytes().chunks(BLOCK_BYTES).map(|block| {
            before += characters(block);
            before
        });
        let characters = std::iter::once(0).chain(blocks).collect();
        Self { name: name.into(), text, line_starts, characters }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn format(&self) -> Format {
        Format::of(&self.name, &self.text)
    }

    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= byte);
        let start = self.line_starts[line - 1];
        Position { line, column: self.characters_before(byte) - self.characters_before(start) + 1 }
    }

    fn characters_before(&self, byte: usize) -> usize {
        let block = byte / BLOCK_BYTES;
        self.characters[block] + characters(&self.text.as_bytes()[block * BLOCK_BYTES..byte])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(Source::new("x.json", "\u{feff}{}").text(), "{}");
    }

    #[test]
    fn columns_count_characters() {
        let source = Source::new("x.json", "ab\nüß?\n");
        let at = source.text().find('?').unwrap();
        assert_eq!(source.position(at), Position { line: 2, column: 3 });
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        let long = Source::new("x.json", "ü".repeat(BLOCK_BYTES) + "\n?");
        assert_eq!(long.position(6000), Position { line: 1, column: 3001 });
        assert_eq!(long.position(2 * BLOCK_BYTES), Position { line: 1, column: BLOCK_BYTES + 1 });
        assert_eq!(long.position(2 * BLOCK_BYTES + 1), Position { line: 2, column: 1 });
    }
}
