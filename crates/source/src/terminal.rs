//! Text from outside, made safe for a terminal: what would move the cursor, hide or reorder what is shown, or
//! answer for the user, becomes visible text.
//!
//! Names, causes and output of functions are written by others. They are escaped where lines are written, in one
//! place, and not where they are put together.

use std::borrow::Cow;

/// For people: line ends and tabs stay.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| !matches!(letter, '\n' | '\t') && is_unsafe(letter))
}

/// One line for people: a line end in it would look like the end of the line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter != '\t' && is_unsafe(letter))
}

/// As [`text`], for lines with colours in them. Others can colour what they write, and no more.
#[must_use]
pub fn coloured(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return self::text(text);
    }
    let mut written = String::with_capacity(text.len());
    let mut parts = text.split('\x1b');
    written += &self::text(parts.next().unwrap_or_default());
    for part in parts {
        let colour = colour_bytes(part);
        written += if colour > 0 { "\x1b" } else { "\\u{1b}" };
        written += &part[..colour];
        written += &self::text(&part[colour..]);
    }
    written.into()
}

/// JSON, which stays the same value: what is escaped can only be part of strings in it.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe_in_json) {
        return text.into();
    }
    let mut written = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // White space, but alone it writes over its line.
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' => written.push('\n'),
            letter if is_unsafe_in_json(letter) => written += &format!("\\u{:04x}", letter as u32),
            letter => written.push(letter),
        }
    }
    written.into()
}

fn escaped(text: &str, is_unsafe: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unsafe) {
        return text.into();
    }
    let mut written = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_unsafe(letter) {
            true => written.extend(letter.escape_unicode()),
            false => written.push(letter),
        }
    }
    written.into()
}

/// Control characters (C0, DEL, C1), and those that change the direction of what follows.
fn is_unsafe(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_unsafe_in_json(letter: char) -> bool {
    !matches!(letter, '\n' | '\t') && is_unsafe(letter)
}

/// The length of a sequence that sets colours, if a text begins with one: `[1;91m`. What conceals, or paints the
/// background, is not among them.
fn colour_bytes(text: &str) -> usize {
    const LENGTH_MAX: usize = 16;
    let Some(end) = text.bytes().take(LENGTH_MAX).position(|byte| byte == b'm') else { return 0 };
    let Some(codes) = text[..end].strip_prefix('[') else { return 0 };
    let is_colour = |code: &str| {
        matches!(code.parse(), Ok(0_u8..=4 | 22..=24 | 31..=37 | 39 | 91..=97)) || code.is_empty()
    };
    if codes.split(';').all(is_colour) { end + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Cow<'_, str>, expected: &str) {
        assert_eq!(found, expected);
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        for ordinary in ["", "a\tb\nc", "é ✓ 日本 \u{200f}"] {
            assert!(matches!(text(ordinary), Cow::Borrowed(found) if found == ordinary));
            assert!(matches!(coloured(ordinary), Cow::Borrowed(found) if found == ordinary));
            assert!(matches!(json(ordinary), Cow::Borrowed(found) if found == ordinary));
        }
    }

    #[test]
    fn what_controls_a_terminal_becomes_visible() {
        check(text("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        check(text("\x07\r\x7f\u{9b}31m"), "\\u{7}\\u{d}\\u{7f}\\u{9b}31m");
        check(text("user\u{202e}txt\u{2066}"), "user\\u{202e}txt\\u{2066}");
        check(line("a\nb\tc"), "a\\u{a}b\tc");
    }

    #[test]
    fn colours_stay_where_there_are_any() {
        check(
            coloured("\x1b[1;91merror\x1b[0m: a\x1b[2Kb"),
            "\x1b[1;91merror\x1b[0m: a\\u{1b}[2Kb",
        );
        check(coloured("\x1b[8mhidden\x1b[41m"), "\\u{1b}[8mhidden\\u{1b}[41m");
        check(coloured("\x1b]0;title\x07 \x1b"), "\\u{1b}]0;title\\u{7} \\u{1b}");
        check(coloured("\x1b[é;1m"), "\\u{1b}[é;1m");
    }

    #[test]
    fn json_stays_the_same_value() {
        check(
            json("{\"a\":\r\n \"\u{9b}\u{202e}\x7f\"\r}"),
            "{\"a\":\n \"\\u009b\\u202e\\u007f\"\n}",
        );
    }
}
