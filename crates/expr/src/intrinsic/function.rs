//! The functions there are, what arguments each takes and what it returns.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use super::format::Format;
use super::{array, math, text};
use crate::{Scope, SyntaxError};

/// The arguments' values.
pub(super) type Values<'a> = Vec<Cow<'a, Value>>;

/// A row: how many arguments, what the first ones must be, and what comes back.
struct Row {
    name: &'static str,
    function: Function,
    count: RangeInclusive<usize>,
    takes: &'static [Kind],
    returns: Kind,
}

macro_rules! functions {
    ($($name:ident $text:literal $count:expr, [$($kind:ident),*] $returns:ident;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Function {
            $($name,)*
        }

        const ALL: &[Row] = &[$(Row {
            name: concat!("States.", $text),
            function: Function::$name,
            count: $count,
            takes: &[$(Kind::$kind),*],
            returns: Kind::$returns,
        },)*];
    };
}

const ANY: usize = usize::MAX;

functions! {
    Format "Format" 1..=ANY, [Text] Text;
    StringToJson "StringToJson" 1..=1, [Text] Any;
    JsonToString "JsonToString" 1..=1, [] Text;
    Array "Array" 0..=ANY, [] Array;
    ArrayPartition "ArrayPartition" 2..=2, [Array, Number] Array;
    ArrayContains "ArrayContains" 2..=2, [Array] Boolean;
    ArrayRange "ArrayRange" 3..=3, [Number, Number, Number] Array;
    ArrayGetItem "ArrayGetItem" 2..=2, [Array, Number] Any;
    ArrayLength "ArrayLength" 1..=1, [Array] Number;
    ArrayUnique "ArrayUnique" 1..=1, [Array] Array;
    Base64Encode "Base64Encode" 1..=1, [Text] Text;
    Base64Decode "Base64Decode" 1..=1, [Text] Text;
    Hash "Hash" 2..=2, [Text, Text] Text;
    JsonMerge "JsonMerge" 3..=3, [Object, Object, Boolean] Object;
    MathRandom "MathRandom" 2..=3, [Number, Number, Number] Number;
    MathAdd "MathAdd" 2..=2, [Number, Number] Number;
    StringSplit "StringSplit" 2..=2, [Text, Text] Array;
    Uuid "UUID" 0..=0, [] Text;
}

/// What a value is, as far as the text of a call tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Null,
    Boolean,
    Number,
    Text,
    Array,
    Object,
}

impl Kind {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Whether a value of this kind can be what is asked for.
    fn may_be(self, wanted: Self) -> bool {
        self == wanted || self == Self::Any || wanted == Self::Any
    }

    fn name(self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// Beyond this many edits a name is not a slip any more.
const EDITS_MAX: usize = 4;

impl Function {
    pub(super) fn find(name: &str) -> Option<Self> {
        ALL.iter().find(|row| row.name == name).map(|row| row.function)
    }

    fn row(self) -> &'static Row {
        // A row is written for each, in their order.
        &ALL[self as usize]
    }

    pub(super) fn returns(self) -> Kind {
        self.row().returns
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
        let near = ALL.iter().map(|row| (edits(row.name), row.name));
        let (edits, known) = near.min_by_key(|(edits, _)| *edits)?;
        (edits <= EDITS_MAX).then_some(known)
    }

    pub(super) fn names() -> String {
        let names: Vec<_> = ALL.iter().map(|row| row.name).collect();
        names.join(", ")
    }

    pub(super) fn check_count(self, given: usize, span: Range<usize>) -> Result<(), SyntaxError> {
        let Row { name, count: wanted, .. } = self.row();
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

    /// Why an argument of this kind can never be right.
    pub(super) fn misfit(
        self,
        index: usize,
        found: Kind,
        span: Range<usize>,
    ) -> Option<SyntaxError> {
        let Row { name, takes, .. } = self.row();
        let wanted = takes.get(index).copied().unwrap_or(Kind::Any);
        if found.may_be(wanted) {
            return None;
        }
        let message = format!(
            "argument {} of {name} must be {}, but is {}",
            index + 1,
            wanted.name(),
            found.name()
        );
        Some(SyntaxError::invalid(message, span))
    }

    pub(super) fn call(self, values: Values<'_>, scope: &Scope<'_>) -> Result<Value, String> {
        match self {
            Self::Format => {
                Format::parse(text::string(&values[0], "the text")?).fill(&values[1..], scope)
            }
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
            Self::MathRandom => math::random(&values, scope.entropy),
            Self::MathAdd => math::add(&values),
            Self::StringSplit => text::split(&values),
            Self::Uuid => Ok(Value::String(scope.entropy.next_uuid())),
        }
    }
}
