//! What stands in a recording for a value that differs from run to run.
//!
//! A hole such as `<uuid:1>` is one value wherever it stands in a case, also inside longer
//! strings. A bare word such as `entered-time` stands for one whole value and may be another one
//! each time. A replay that hands a recorded answer back hands back the placeholders in it, so a
//! placeholder's own text is always one of its values. Knows nothing of events.

use std::collections::BTreeMap;

use serde_json::Value;

/// Whole values blanked in any recording, whether or not the case lists them.
const TIMES: [&str; 3] = ["date", "timestamp", "datetime"];
/// Bare words that are one value per case, unlike the others.
const BOUND_WORDS: [&str; 3] = ["snf_role_arn", "sfn_role_arn", "generated-uuid"];
/// Looks like a hole and is data.
const LITERAL: &str = "<omitted>";

/// The placeholders of one case.
#[derive(Default)]
pub(super) struct Placeholders {
    holes: Vec<String>,
    words: Vec<String>,
}

/// A recorded string, cut at its holes.
#[derive(Debug, PartialEq)]
pub(super) enum Part<'t> {
    Literal(&'t str),
    Hole(&'t str),
}

/// What a whole recorded string stands for.
#[derive(Debug, PartialEq)]
pub(super) enum Whole<'t> {
    /// One value in all of the case.
    Bound(&'t str),
    /// A value of its own in each place.
    Wild(&'t str),
    Text,
}

/// What a placeholder can stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Uuid,
    Time,
    Number,
    JsonText,
    /// Anything; as a part of a string, anything but nothing.
    Any,
}

impl Placeholders {
    pub(super) fn of(case: &Value) -> Self {
        let mut placeholders = Self::default();
        for name in case["placeholders"].as_object().into_iter().flat_map(|names| names.keys()) {
            if name.starts_with('<') && name != LITERAL {
                placeholders.holes.push(name.clone());
            } else {
                placeholders.words.push(name.clone());
            }
        }
        placeholders
    }

    pub(super) fn whole<'t>(&self, text: &'t str) -> Whole<'t> {
        if let [Part::Hole(name)] = self.parts(text)[..] {
            return Whole::Bound(name);
        }
        if BOUND_WORDS.contains(&text) {
            return Whole::Bound(text);
        }
        if TIMES.contains(&text) || text != LITERAL && self.words.iter().any(|word| word == text) {
            return Whole::Wild(text);
        }
        Whole::Text
    }

    pub(super) fn parts<'t>(&self, text: &'t str) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        let (mut start, mut at) = (0, 0);
        while let Some(next) = text[at..].find('<') {
            at += next;
            let Some(length) = self.hole(&text[at..]) else {
                at += 1;
                continue;
            };
            if start < at {
                parts.push(Part::Literal(&text[start..at]));
            }
            parts.push(Part::Hole(&text[at..at + length]));
            at += length;
            start = at;
        }
        if start < text.len() {
            parts.push(Part::Literal(&text[start..]));
        }
        parts
    }

    /// The length of the hole that opens `text`; `<<name>:1>` is a hole whose name was itself
    /// taken for one by the recorder.
    fn hole(&self, text: &str) -> Option<usize> {
        if let Some(name) = self.holes.iter().find(|name| text.starts_with(name.as_str())) {
            return Some(name.len());
        }
        let inner = &text[1..];
        let name = self.holes.iter().find(|name| inner.starts_with(name.as_str()))?;
        let number = inner[name.len()..].strip_prefix(':')?;
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && number[digits..].starts_with('>')).then_some(1 + name.len() + 1 + digits + 1)
    }
}

/// The values the holes of a case were found to have.
#[derive(Clone, Default)]
pub(super) struct Bindings(BTreeMap<String, Value>);

impl Bindings {
    /// Whether `found` can be the value of `name` everywhere, from now on.
    pub(super) fn bind(&mut self, name: &str, found: &Value) -> bool {
        if found.as_str() == Some(name) {
            return true;
        }
        if let Some(bound) = self.0.get(name) {
            return bound == found;
        }
        if !Shape::of(name).fits(found) || self.taken(name, found) {
            return false;
        }
        self.0.insert(name.to_owned(), found.clone());
        true
    }

    /// The recorder numbered UUIDs by value: two numbers are two values.
    fn taken(&self, name: &str, found: &Value) -> bool {
        name.starts_with("<uuid:")
            && self.0.iter().any(|(other, value)| other.starts_with("<uuid:") && value == found)
    }

    /// Whether `found` has the form of `parts`; binds what it must.
    pub(super) fn text(&mut self, parts: &[Part<'_>], found: &str) -> bool {
        let Some((first, rest)) = parts.split_first() else { return found.is_empty() };
        match first {
            Part::Literal(text) => {
                found.strip_prefix(text).is_some_and(|found| self.text(rest, found))
            }
            Part::Hole(name) => ends(rest, found).any(|end| {
                let before = self.clone();
                let piece = Value::from(&found[..end]);
                let fits = self.bind(name, &piece) && self.text(rest, &found[end..]);
                if !fits {
                    *self = before;
                }
                fits
            }),
        }
    }
}

/// Where a hole that opens `found` can end, given what follows it; never empty.
fn ends<'f>(rest: &[Part<'f>], found: &'f str) -> Box<dyn Iterator<Item = usize> + 'f> {
    match rest.first() {
        None => Box::new(std::iter::once(found.len()).filter(|end| *end > 0)),
        Some(Part::Literal(text)) => {
            let text: &'f str = text;
            Box::new(
                (1..found.len()).filter(move |end| {
                    found.is_char_boundary(*end) && found[*end..].starts_with(text)
                }),
            )
        }
        Some(Part::Hole(_)) => {
            Box::new((1..found.len()).filter(move |end| found.is_char_boundary(*end)))
        }
    }
}

impl Shape {
    pub(super) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if name.contains("json-input") {
            Self::JsonText
        } else if name.contains("uuid") {
            Self::Uuid
        } else if name.contains("date") || name.contains("time") {
            Self::Time
        } else if name.contains("randomnumber") {
            Self::Number
        } else {
            Self::Any
        }
    }

    pub(super) fn fits(self, found: &Value) -> bool {
        match (self, found) {
            (Self::Uuid, Value::String(text)) => is_uuid(text),
            // Refused times were blanked like good ones, so this cannot be a strict parser.
            (Self::Time, Value::String(text)) => {
                text.bytes().filter(u8::is_ascii_digit).count() >= 4 && text.contains(['-', ':'])
            }
            (Self::Time | Self::Number, Value::Number(_)) | (Self::Any, _) => true,
            (Self::JsonText, Value::String(text)) => serde_json::from_str::<Value>(text).is_ok(),
            _ => false,
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ONE: &str = "11111111-2222-3333-4444-555555555555";

    /// Matches each pair in turn, with the bindings of those before it.
    fn check(names: &[&str], pairs: &[(&str, &str)], expected: &[bool]) {
        let listed: BTreeMap<&str, &str> = names.iter().map(|name| (*name, "")).collect();
        let placeholders = Placeholders::of(&json!({ "placeholders": listed }));
        let mut bindings = Bindings::default();
        let found: Vec<bool> = pairs
            .iter()
            .map(|(text, found)| bindings.text(&placeholders.parts(text), found))
            .collect();
        assert_eq!(found, expected, "{pairs:?}");
    }

    #[test]
    fn a_hole_is_one_value() {
        check(&["<name:1>"], &[("role/<name:1>", "role/r"), ("<name:1>", "r")], &[true, true]);
        check(&["<name:1>"], &[("role/<name:1>", "role/r"), ("<name:1>", "s")], &[true, false]);
        check(&["<name:1>"], &[("<name:1>-<name:1>", "a-b-a-b")], &[true]);
        check(&["<name:1>"], &[("<name:1>-<name:1>", "a-b-a-c")], &[false]);
    }

    #[test]
    fn a_hole_is_never_empty() {
        check(&["<a>"], &[("x<a>", "x"), ("<a>x", "x"), ("x<a>x", "xx")], &[false, false, false]);
    }

    #[test]
    fn a_replayed_hole_is_its_own_value() {
        check(&["<a>"], &[("x<a>", "x<a>"), ("<a>", "real"), ("<a>", "<a>")], &[true, true, true]);
    }

    #[test]
    fn only_listed_brackets_are_holes() {
        check(&[], &[("<s-:n>", "<s-:n>"), ("<s-:n>", "else")], &[true, false]);
        check(&["<omitted>"], &[("<omitted>", "<omitted>"), ("<omitted>", "x")], &[true, false]);
    }

    #[test]
    fn a_hole_in_a_hole_is_one() {
        check(&["<token>"], &[("<<token>:1>", "abc"), ("<<token>:1>", "abd")], &[true, false]);
    }

    #[test]
    fn two_numbers_are_two_uuids() {
        let names = ["<uuid:1>", "<uuid:2>"];
        check(&names, &[("<uuid:1>", ONE), ("<uuid:2>", ONE)], &[true, false]);
        check(&names, &[("<uuid:1>", "not one")], &[false]);
    }

    #[test]
    fn json_in_a_cause_is_json() {
        let names = ["<json-input:1>"];
        check(&names, &[("in '<json-input:1>'", "in '{\"a\":\"it's\"}'")], &[true]);
        check(&names, &[("in '<json-input:1>'", "in '{a=1}'")], &[false]);
    }

    #[test]
    fn words_stand_for_whole_values() {
        let case = json!({ "placeholders": { "RandomNumberGenerated": "", "<a>": "" } });
        let placeholders = Placeholders::of(&case);
        let whole = |text| placeholders.whole(text);
        assert_eq!(whole("RandomNumberGenerated"), Whole::Wild("RandomNumberGenerated"));
        assert_eq!(whole("datetime"), Whole::Wild("datetime"));
        assert_eq!(whole("snf_role_arn"), Whole::Bound("snf_role_arn"));
        assert_eq!(whole("<a>"), Whole::Bound("<a>"));
        assert_eq!(whole("start-time"), Whole::Text);
        assert!(Shape::of("RandomNumberGenerated").fits(&json!(7)));
        assert!(!Shape::of("RandomNumberGenerated").fits(&json!("7")));
    }
}
