//! The functions there are, and how many arguments each takes.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use super::format::Format;
use super::{array, math, text};
use crate::{Entropy, SyntaxError};

/// The arguments' values.
pub(super) type Values<'a> = Vec<Cow<'a, Value>>;

macro_rules! functions {
    ($($name:ident $text:literal $count:expr;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Function {
            $($name,)*
        }

        impl Function {
            const ALL: &[(&'static str, Self, RangeInclusive<usize>)] =
                &[$((concat!("States.", $text), Self::$name, $count),)*];
        }
    };
}

const ANY: usize = usize::MAX;

functions! {
    Format "Format" 1..=ANY;
    StringToJson "StringToJson" 1..=1;
    JsonToString "JsonToString" 1..=1;
    Array "Array" 0..=ANY;
    ArrayPartition "ArrayPartition" 2..=2;
    ArrayContains "ArrayContains" 2..=2;
    ArrayRange "ArrayRange" 3..=3;
    ArrayGetItem "ArrayGetItem" 2..=2;
    ArrayLength "ArrayLength" 1..=1;
    ArrayUnique "ArrayUnique" 1..=1;
    Base64Encode "Base64Encode" 1..=1;
    Base64Decode "Base64Decode" 1..=1;
    Hash "Hash" 2..=2;
    JsonMerge "JsonMerge" 3..=3;
    MathRandom "MathRandom" 2..=3;
    MathAdd "MathAdd" 2..=2;
    StringSplit "StringSplit" 2..=2;
    Uuid "UUID" 0..=0;
}

/// Beyond this many edits a name is not a slip any more.
const EDITS_MAX: usize = 4;

impl Function {
    pub(super) fn find(name: &str) -> Option<Self> {
        let row = Self::ALL.iter().find(|(known, ..)| *known == name)?;
        Some(row.1)
    }

    /// The name most likely meant.
    pub(super) fn nearest(name: &str) -> Option<&'static str> {
        if name.len() > 64 {
            return None;
        }
        let name = name.to_lowercase();
        let edits = |known: &str| {
            let known = known.to_lowercase();
            let short = known.trim_start_matches("states.");
            strsim::damerau_levenshtein(&known, &name)
                .min(strsim::damerau_levenshtein(short, &name))
        };
        let near = Self::ALL.iter().map(|(known, ..)| (edits(known), *known));
        let (edits, known) = near.min_by_key(|(edits, _)| *edits)?;
        (edits <= EDITS_MAX).then_some(known)
    }

    pub(super) fn names() -> String {
        let names: Vec<_> = Self::ALL.iter().map(|(known, ..)| *known).collect();
        names.join(", ")
    }

    pub(super) fn check_count(self, given: usize, span: Range<usize>) -> Result<(), SyntaxError> {
        let Some((name, _, wanted)) = Self::ALL.iter().find(|row| row.1 == self) else {
            return Ok(());
        };
        if wanted.contains(&given) {
            return Ok(());
        }
        let (least, most) = (*wanted.start(), *wanted.end());
        let wanted = match most {
            ANY => format!("at least {least}"),
            most if least == most => least.to_string(),
            most => format!("{least} or {most}"),
        };
        let plural = if most == 1 { "" } else { "s" };
        let message = format!("{name} takes {wanted} argument{plural}, not {given}");
        Err(SyntaxError::invalid(message, span))
    }

    pub(super) fn call(self, values: Values<'_>, entropy: &Entropy) -> Result<Value, String> {
        match self {
            Self::Format => Format::parse(text::string(&values[0], "the text")?).fill(&values[1..]),
            Self::StringToJson => text::to_json(&values),
            Self::JsonToString => Ok(Value::String(values[0].to_string())),
            Self::Array => Ok(values.into_iter().map(Cow::into_owned).collect()),
            Self::ArrayPartition => array::partition(values),
            Self::ArrayContains => array::contains(&values),
            Self::ArrayRange => array::range(&values),
            Self::ArrayGetItem => array::item(values),
            Self::ArrayLength => array::length(&values),
            Self::ArrayUnique => array::unique(&values),
            Self::Base64Encode => text::encode(&values),
            Self::Base64Decode => text::decode(&values),
            Self::Hash => text::hash(&values),
            Self::JsonMerge => text::merge(values),
            Self::MathRandom => math::random(&values, entropy),
            Self::MathAdd => math::add(&values),
            Self::StringSplit => text::split(&values),
            Self::Uuid => Ok(Value::String(entropy.next_uuid())),
        }
    }
}
