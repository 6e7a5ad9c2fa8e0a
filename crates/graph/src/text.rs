//! How wide text is and where it breaks, without a font at hand.
//!
//! Widths are those of Helvetica and its metric twins (Arial, Liberation Sans), which the pictures
//! ask for first, plus a reserve. Lines that hold other scripts are marked, so that the writer can
//! pin their length.

/// Characters of a text that are looked at; no box holds more.
const CHARS_MAX: usize = 600;

/// Reserve for fonts that run wider than Helvetica.
const RESERVE: f64 = 1.06;

/// Widths of the printable ASCII characters in thousandths of the font size.
#[rustfmt::skip]
const ASCII_WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Size in pixels and weight of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Font {
    pub(crate) size: f64,
    pub(crate) bold: bool,
}

/// Text broken to fit a width.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) lines: Vec<Line>,
    /// Whether some of the text had to be left out.
    pub(crate) cut: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) width: f64,
}

impl Block {
    pub(crate) fn width(&self) -> f64 {
        self.lines.iter().map(|line| line.width).fold(0.0, f64::max)
    }
}

impl Line {
    /// Whether the width is a guess, because the characters are not those of the table.
    pub(crate) fn is_guess(&self) -> bool {
        self.text.chars().any(|c| known_width(c).is_none())
    }
}

pub(crate) fn width(text: &str, font: Font) -> f64 {
    let weight = if font.bold { 1.07 } else { 1.0 };
    let widths = text.chars().map(|c| match known_width(c) {
        Some(width) => f64::from(width) * weight * RESERVE,
        None => f64::from(guessed_width(c)),
    });
    widths.sum::<f64>() / 1000.0 * font.size
}

/// The width of a character that the fonts asked for surely have, in thousandths.
fn known_width(c: char) -> Option<u16> {
    match c {
        ' '..='~' => Some(ASCII_WIDTHS[c as usize - 32]),
        '\u{a0}'..='\u{24f}' if c.is_lowercase() => Some(556),
        '\u{a0}'..='\u{24f}' => Some(722),
        '–' | '≠' | '≤' | '≥' => Some(556),
        '…' | '→' => Some(1000),
        _ => None,
    }
}

/// A likely width; the writer stretches or squeezes the text to it.
fn guessed_width(c: char) -> u16 {
    match c {
        _ if joins_previous(c) => 0,
        '\u{250}'..='\u{58f}' => 650,
        '\u{590}'..='\u{8ff}' => 600,
        '\u{900}'..='\u{10ff}' => 700,
        // Presentation forms: whole phrases in one character.
        '\u{fb50}'..='\u{fdff}' => 2000,
        _ => 1050,
    }
}

/// Characters that belong to the one before: marks, selectors, joiners, skin tones.
fn joins_previous(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0100}'..='\u{e01ef}')
}

/// Makes text fit for a single visible line: white space is one blank, and characters that
/// cannot be shown, that XML forbids or that reorder their surroundings are replaced.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.trim().chars() {
        match c {
            c if c.is_whitespace() => {
                if !shown.ends_with(' ') {
                    shown.push(' ');
                }
            }
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => shown.push('\u{fffd}'),
            c => shown.push(xml_char(c)),
        }
    }
    shown
}

/// The beginning of a text, with an ellipsis where it is cut.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The character itself, or a visible stand-in where XML 1.0 has no way to write it.
pub(crate) fn xml_char(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => c,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c => c,
    }
}

/// Breaks text at word boundaries, or inside words that are too long, and ends it with an
/// ellipsis where `lines_max` lines of `width_max` do not hold it.
pub(crate) fn wrap(text: &str, font: Font, width_max: f64, lines_max: usize) -> Block {
    let shown = visible(text);
    let clipped: String = shown.chars().take(CHARS_MAX).collect();
    let mut cut = clipped.len() < shown.len();
    let mut lines = vec![String::new()];
    for word in words(&clipped) {
        push_word(&mut lines, word, font, width_max);
        if lines.len() > lines_max {
            break;
        }
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        cut = true;
    }
    if cut && let Some(last) = lines.last_mut() {
        add_ellipsis(last, font, width_max);
    }
    let lines = lines.into_iter().map(|line| line.trim_end().to_owned());
    let lines = lines.filter(|line| !line.is_empty());
    let lines = lines.map(|text| Line { width: width(&text, font), text }).collect();
    Block { lines, cut }
}

fn push_word(lines: &mut Vec<String>, word: &str, font: Font, width_max: f64) {
    let fits =
        |line: &str, more: &str| width(line, font) + width(more.trim_end(), font) <= width_max;
    if let Some(last) = lines.last_mut() {
        if fits(last, word) {
            return last.push_str(word);
        }
        if last.is_empty() || !fits("", word) {
            return push_broken(lines, word, font, width_max);
        }
    }
    lines.push(word.to_owned());
}

/// Fills lines with a word that no line holds, character by character.
fn push_broken(lines: &mut Vec<String>, word: &str, font: Font, width_max: f64) {
    let mut used = lines.last().map_or(0.0, |line| width(line, font));
    let mut joiner = false;
    for c in word.chars() {
        let more = width(c.encode_utf8(&mut [0; 4]), font);
        let stays = joiner || joins_previous(c);
        if used + more > width_max && used > 0.0 && !stays {
            lines.push(String::new());
            used = 0.0;
        }
        if let Some(last) = lines.last_mut() {
            last.push(c);
        }
        used += more;
        joiner = c == '\u{200d}';
    }
}

fn add_ellipsis(line: &mut String, font: Font, width_max: f64) {
    while !line.is_empty() && width(line, font) + width("…", font) > width_max {
        line.pop();
    }
    let kept = line.trim_end_matches([' ', '\u{200d}']).len();
    line.truncate(kept);
    line.push('…');
}

/// Cuts text into pieces that stay on one line: after blanks and punctuation, and between the
/// humps of `camelCase`.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut previous = None;
    for (index, c) in text.char_indices() {
        if previous.is_some_and(|previous| breaks_between(previous, c)) {
            pieces.push(&text[start..index]);
            start = index;
        }
        previous = Some(c);
    }
    pieces.push(&text[start..]);
    pieces
}

fn breaks_between(previous: char, next: char) -> bool {
    if next == ' ' || joins_previous(next) {
        return false;
    }
    let is_punctuation = matches!(previous, ' ' | '-' | '_' | '.' | '/' | ':' | ',' | '#');
    let is_hump = previous.is_lowercase() && next.is_uppercase();
    (is_punctuation && next.is_alphanumeric()) || previous == ' ' || is_hump
}

#[cfg(test)]
mod tests {
    use super::*;

    const FONT: Font = Font { size: 10.0, bold: false };

    fn check(text: &str, width_max: f64, expected: &[&str]) {
        let block = wrap(text, FONT, width_max, 3);
        let lines: Vec<&str> = block.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, expected, "{text:?}");
        for line in &block.lines {
            assert!(line.width <= width_max, "{:?} is {} wide", line.text, line.width);
        }
    }

    #[test]
    fn text_breaks_where_a_reader_would() {
        check("Charge", 60.0, &["Charge"]);
        check("Charge the customer", 60.0, &["Charge the", "customer"]);
        check("ChargeCustomerCard", 60.0, &["Charge", "Customer", "Card"]);
        check("charge-customer_card", 50.0, &["charge-", "customer_", "card"]);
    }

    #[test]
    fn words_too_long_break_inside_and_texts_too_long_are_cut() {
        check("abcdefghijklmnopqrst", 40.0, &["abcdefg", "hijklmno", "pqrst"]);
        check("one two three four five six", 30.0, &["one", "two", "thre…"]);
        check(&"m".repeat(1000), 30.0, &["mmm", "mmm", "mm…"]);
    }

    #[test]
    fn an_emoji_sequence_stays_whole() {
        check("👩\u{200d}🚀👩\u{200d}🚀", 25.0, &["👩\u{200d}🚀", "👩\u{200d}🚀"]);
    }

    #[test]
    fn what_cannot_be_shown_is_replaced() {
        check("a\u{0}b\u{202e}c\u{ffff}", 90.0, &["a␀b\u{fffd}c\u{fffd}"]);
        check(" a \n\t b ", 90.0, &["a b"]);
        check("", 90.0, &[]);
    }
}
