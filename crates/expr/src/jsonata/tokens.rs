//! Where the words of an expression stand. The engine's syntax tree does not say, and
//! diagnostics must. Anything goes here: what is not JSONata is the parser's to refuse.

use std::ops::Range;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// In bytes.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `$name`, `$` and `$$`
    Variable,
    /// A field name, a keyword or a number.
    Word,
    /// With its quotes or backticks.
    Quoted,
    /// With its slashes.
    Regex,
    Operator,
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        if first.is_whitespace() {
            start += first.len_utf8();
        } else if rest.starts_with("/*") {
            start += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else {
            let (kind, length) = token(rest, first, regex_may_follow(text, found.last()));
            found.push(Token { kind, span: start..start + length });
            start += length;
        }
    }
    found
}

fn token(rest: &str, first: char, regex: bool) -> (TokenKind, usize) {
    match first {
        '"' | '\'' => (TokenKind::Quoted, quoted(rest, first, true)),
        '`' => (TokenKind::Quoted, quoted(rest, first, false)),
        '/' if regex => {
            let pattern = quoted(rest, first, true);
            let flags =
                rest[pattern..].len() - rest[pattern..].trim_start_matches(['i', 'm']).len();
            (TokenKind::Regex, pattern + flags)
        }
        '$' => (TokenKind::Variable, 1 + word(&rest[1..])),
        _ if is_word(first) => (TokenKind::Word, word(rest)),
        _ => (TokenKind::Operator, operator(rest, first)),
    }
}

/// The length of what begins with `quote`, to its end or the end of the text.
fn quoted(rest: &str, quote: char, escapes: bool) -> usize {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' && escapes {
            escaped = true;
        } else if c == quote {
            return index + c.len_utf8();
        }
    }
    rest.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

fn operator(rest: &str, first: char) -> usize {
    const LONG: [&str; 9] = ["..", ":=", "!=", ">=", "<=", "~>", "??", "?:", "**"];
    if LONG.iter().any(|long| rest.starts_with(long)) { 2 } else { first.len_utf8() }
}

/// Behind a value, a slash divides.
fn regex_may_follow(text: &str, last: Option<&Token>) -> bool {
    let Some(last) = last else {
        return true;
    };
    let written = &text[last.span.clone()];
    match last.kind {
        TokenKind::Operator => !matches!(written, ")" | "]" | "}" | "*" | "**" | "%" | "."),
        TokenKind::Word => matches!(written, "and" | "or" | "in"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = tokens(text);
        let found: Vec<&str> = found.iter().map(|token| &text[token.span.clone()]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_and_operators() {
        check("$a.b[0] ?? 'x y'", &["$a", ".", "b", "[", "0", "]", "??", "'x y'"]);
        check("$$.`a b` ~> $f(?:1)", &["$$", ".", "`a b`", "~>", "$f", "(", "?:", "1", ")"]);
        check("'it\\'s' & \"é", &["'it\\'s'", "&", "\"é"]);
        check("a /* ?? */ b", &["a", "b"]);
    }

    #[test]
    fn slashes() {
        check("a / b / c", &["a", "/", "b", "/", "c"]);
        check("$f(x, /a\\/[?]?:/i)", &["$f", "(", "x", ",", "/a\\/[?]?:/i", ")"]);
    }
}
