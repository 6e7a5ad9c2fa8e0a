//! JSON text: whether it holds a value, found without making the value.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Levels of arrays and objects that a stored text may have: those of a payload that a state passes
/// on, and room for the lists in which such payloads are gathered. Few enough that reading them
/// fits on any thread's stack.
const DEPTH_MAX: usize = super::Payload::DEPTH_MAX + 100;

/// Refuses exactly what parsing into a [`Value`] refuses, and counts the levels of what it does not.
pub(super) fn check(text: &str) -> serde_json::Result<usize> {
    walk(serde_json::Deserializer::from_str(text), usize::MAX)
}

/// The same for a text that was made here, which may be deeper.
pub(super) fn check_stored(text: &str) -> serde_json::Result<usize> {
    walk(unbounded(text), DEPTH_MAX)
}

/// The value of a text that was checked.
pub(super) fn parse(text: &str) -> Value {
    de::Deserialize::deserialize(&mut unbounded(text)).expect("the text was checked")
}

type Reader<'t> = serde_json::Deserializer<serde_json::de::StrRead<'t>>;

fn unbounded(text: &str) -> Reader<'_> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    reader
}

fn walk(mut reader: Reader<'_>, levels: usize) -> serde_json::Result<usize> {
    let depth = Walk { levels }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(depth)
}

/// Takes the same way through the parser as a [`Value`] does and keeps only the depth. The parser's own
/// way of skipping, `IgnoredAny`, lets numbers out of range, half characters and any depth pass.
#[derive(Clone, Copy)]
struct Walk {
    levels: usize,
}

impl Walk {
    fn inside<E: de::Error>(self) -> Result<Self, E> {
        let levels = self
            .levels
            .checked_sub(1)
            .ok_or_else(|| E::custom(format_args!("nested more than {DEPTH_MAX} levels deep")))?;
        Ok(Self { levels })
    }
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<usize, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_bool<E>(self, _: bool) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_i64<E>(self, _: i64) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_u64<E>(self, _: u64) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_f64<E>(self, _: f64) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_str<E>(self, _: &str) -> Result<usize, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<usize, A::Error> {
        let inside = self.inside()?;
        let mut depth = 0;
        while let Some(element) = elements.next_element_seed(inside)? {
            depth = depth.max(element);
        }
        Ok(depth + 1)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<usize, A::Error> {
        let inside = self.inside()?;
        let mut depth = 0;
        while let Some((_, field)) = fields.next_entry_seed(inside, inside)? {
            depth = depth.max(field);
        }
        Ok(depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Both ways agree, and what one accepts the other reads as the same value.
    fn check_agrees(text: &str, accepted: bool) {
        let parsed = serde_json::from_str::<Value>(text);
        let judged = check(text);
        assert_eq!(judged.is_ok(), accepted, "{text}: {judged:?}");
        match (parsed, judged) {
            (Ok(value), Ok(depth)) => {
                assert_eq!(parse(text), value, "{text}");
                assert_eq!(depth, super::super::size::depth_of(&value), "{text}");
            }
            (Err(error), Err(ours)) => assert_eq!(ours.to_string(), error.to_string(), "{text}"),
            (parsed, judged) => panic!("{text}: {parsed:?}, but {judged:?}"),
        }
    }

    fn nested(open: &str, close: &str, depth: usize) -> String {
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    }

    #[test]
    fn a_text_is_judged_as_parsing_judges_it() {
        for (text, accepted) in [
            ("", false),
            (" \n{ \"a\" : [ null , true, false ] }\t", true),
            ("{} {}", false),
            ("[1,]", false),
            ("{\"a\":1,}", false),
            ("{a:1}", false),
            ("{1:1}", false),
            ("nul", false),
            ("NaN", false),
            // Numbers.
            ("01", false),
            ("-", false),
            ("1.", false),
            (".5", false),
            ("+1", false),
            ("-0", true),
            ("-0.0", true),
            ("1e308", true),
            ("1e309", false),
            ("1e999", false),
            ("-1e999", false),
            ("[1e999]", false),
            ("{\"a\":1e999}", false),
            ("1e-999", true),
            ("0e999999999999", true),
            ("18446744073709551615", true),
            ("18446744073709551616", true),
            ("-9223372036854775809", true),
            ("0.1000000000000000055511151231257827021181583404541015625", true),
            // Strings.
            (r#""\ud83d\ude00 \u0000 \/""#, true),
            (r#""\ud83d""#, false),
            (r#""\ude00""#, false),
            (r#""\ud83d\u0041""#, false),
            (r#"{"\ud83d":1}"#, false),
            (r#""\x""#, false),
            (r#""\u12g4""#, false),
            ("\"\u{1}\"", false),
            ("\"\u{7f}\u{2028}\"", true),
            ("\"open", false),
            // The last one counts.
            (r#"{"a":1,"b":2,"a":{"a":3}}"#, true),
        ] {
            check_agrees(text, accepted);
        }
        let digits = "9".repeat(400);
        check_agrees(&digits, false);
        check_agrees(&format!("0.{digits}"), true);
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let each = open.matches(['[', '{']).count();
            check_agrees(&nested(open, close, 127 / each), true);
            check_agrees(&nested(open, close, 128), false);
            check_agrees(&nested(open, close, 100_000), false);
        }
    }

    #[test]
    fn what_was_made_here_may_be_deeper() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deepest = nested(open, close, DEPTH_MAX);
            assert_eq!(check_stored(&deepest).unwrap(), DEPTH_MAX);
            assert_eq!(parse(&deepest).to_string(), deepest);
            check_stored(&nested(open, close, DEPTH_MAX + 1)).unwrap_err();
            check_stored(&nested(open, close, 1_000_000)).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged_so(
            text in r#"([\[\]{},:"\\ ]|"a":|"[a-z]"|\\u[dD][89abcd][0-9a-f]{2}|-?[0-9]{1,3}(\.[0-9]+)?([eE]-?[0-9]{1,3})?|null|true){0,12}"#,
        ) {
            let accepted = serde_json::from_str::<Value>(&text).is_ok();
            check_agrees(&text, accepted);
        }
    }
}
