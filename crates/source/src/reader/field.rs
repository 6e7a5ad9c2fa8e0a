//! The value of a field or an element of an array, and where it stands.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::{Context, Fields, Problem, Trail, diagnostic, repetition};
use crate::document::{Content, Member, Node};
use crate::{Diagnostic, Rule, Span};

pub struct Field<'a, C> {
    pub cx: &'a C,
    pub at: Trail<'a>,
    pub name: Cow<'a, str>,
    pub name_span: Span,
    pub node: &'a Node,
}

impl<C> Clone for Field<'_, C> {
    fn clone(&self) -> Self {
        Self { at: self.at.clone(), name: self.name.clone(), ..*self }
    }
}

impl<'a, C: Context> Field<'a, C> {
    /// A whole document.
    pub fn root(cx: &'a C, name: impl Into<Cow<'a, str>>, node: &'a Node) -> Self {
        Self { cx, at: Trail::root(), name: name.into(), name_span: first(cx, node), node }
    }

    /// A field of the object at `around`.
    pub fn of(cx: &'a C, member: &'a Member, around: &Trail<'a>) -> Self {
        Self {
            cx,
            at: around.name(&member.name),
            name: Cow::Borrowed(&member.name),
            name_span: member.name_span,
            node: &member.value,
        }
    }

    /// A problem of the value.
    pub fn report(&self, rule: impl Rule, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(rule, self.node.span, message)
    }

    /// A problem of the name.
    pub fn at_name(&self, rule: impl Rule, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(rule, self.name_span, message)
    }

    fn diagnostic(&self, rule: impl Rule, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(rule, span, self.at.place(), message).in_file(self.cx.file())
    }

    fn problem(&self, problem: &Problem<'_>) -> Diagnostic {
        diagnostic(self.cx, problem, self.node.span, &self.at)
    }

    #[must_use]
    pub fn wrong_type(&self, expected: &str) -> Diagnostic {
        let what = format!("`{}`", self.name);
        self.problem(&Problem::WrongType { what: &what, node: self.node, expected })
    }

    fn refuse<T>(&self, expected: &str) -> Option<T> {
        self.cx.report(self.wrong_type(expected));
        None
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        self.node.content == Content::Null
    }

    pub fn string(&self) -> Option<&'a str> {
        self.node.as_str().or_else(|| self.refuse("a string"))
    }

    pub fn boolean(&self) -> Option<bool> {
        match self.node.content {
            Content::Boolean(value) => Some(value),
            _ => self.refuse("a boolean"),
        }
    }

    pub fn integer<T>(&self, bounds: RangeInclusive<T>) -> Option<T>
    where
        T: Copy + Display + PartialOrd + Into<i128> + TryFrom<i128>,
    {
        let Content::Number(number) = &self.node.content else {
            return self.refuse("an integer");
        };
        let (least, most) = (*bounds.start(), *bounds.end());
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        let low = match (whole, number.as_f64()) {
            (Some(value), _) => {
                if let Some(value) = T::try_from(value).ok().filter(|value| bounds.contains(value))
                {
                    return Some(value);
                }
                value < least.into()
            }
            // `10.0` is written as a fraction; what is far out of bounds is not called one.
            (None, Some(value)) if value.fract() != 0.0 || (-1e15..=1e15).contains(&value) => {
                return self.refuse("an integer");
            }
            (None, value) => value.is_none_or(|value| value < 0.0),
        };
        let limits = match most.into() {
            high if high == least.into() => least.to_string(),
            high if high >= i128::from(u32::MAX) => format!("an integer of at least {least}"),
            _ => format!("an integer from {least} to {most}"),
        };
        let bound = if low { least } else { most };
        self.out_of_range(&limits, low, &bound.to_string());
        None
    }

    pub fn number(&self, bounds: RangeInclusive<f64>) -> Option<f64> {
        let Content::Number(number) = &self.node.content else {
            return self.refuse("a number");
        };
        let (least, most) = (bounds.start(), bounds.end());
        let value = number.as_f64();
        if let Some(value) = value.filter(|value| bounds.contains(value)) {
            return Some(value);
        }
        let limits = if *most == f64::MAX {
            format!("at least {least}")
        } else {
            format!("from {least} to {most}")
        };
        let low = value.is_some_and(|value| value < *least);
        let bound = if low { least } else { most };
        self.out_of_range(&limits, low, &format!("{bound:?}"));
        None
    }

    fn out_of_range(&self, limits: &str, low: bool, bound: &str) {
        let (name, number) = (&*self.name, self.node.to_value().to_string());
        let problem = Problem::OutOfRange { name, number: &number, limits, low, bound };
        self.cx.report(self.problem(&problem));
    }

    #[must_use]
    pub fn empty(&self) -> Diagnostic {
        self.problem(&Problem::Empty { name: &self.name })
    }

    /// The elements of an array.
    pub fn elements(&self) -> Option<Vec<Self>> {
        let Some(nodes) = self.node.as_array() else { return self.refuse("an array") };
        let element = |(index, node): (usize, &'a Node)| Self {
            cx: self.cx,
            at: self.at.index(index),
            name: format!("{}[{index}]", self.name).into(),
            name_span: first(self.cx, node),
            node,
        };
        Some(nodes.iter().enumerate().map(element).collect())
    }

    /// The elements of an array; none is reported.
    pub fn filled_elements(&self) -> Option<Vec<Self>> {
        let elements = self.elements()?;
        if elements.is_empty() {
            self.cx.report(self.empty());
        }
        Some(elements)
    }

    /// One of these words; any other is reported with the nearest.
    pub fn one_of(&self, allowed: &[&'static str]) -> Option<&'static str> {
        let word = self.string()?;
        let found = allowed.iter().copied().find(|known| *known == word);
        if found.is_none() {
            self.cx.report(self.unknown_word(word, allowed));
        }
        found
    }

    #[must_use]
    pub fn unknown_word(&self, word: &str, allowed: &[&'static str]) -> Diagnostic {
        self.problem(&Problem::UnknownWord { name: &self.name, word, allowed })
    }

    /// The fields of an object; `owner` is what it is, with its article.
    pub fn fields(&self, owner: impl Into<Cow<'a, str>>) -> Option<Fields<'a, C>> {
        let members: &[Member] = match &self.node.content {
            Content::Object(members) => members,
            Content::Null if self.cx.null_is_empty() => &[],
            _ => return self.refuse("an object"),
        };
        Some(Fields {
            cx: self.cx,
            at: self.at.clone(),
            owner: owner.into(),
            span: self.node.span,
            head: self.name_span,
            members,
            known: RefCell::default(),
        })
    }

    /// As [`Self::fields`], with the fields that appear twice reported.
    pub fn unrepeated_fields(&self, owner: impl Into<Cow<'a, str>>) -> Option<Fields<'a, C>> {
        let fields = self.fields(owner)?;
        repetition::report(self.cx, fields.members, &self.at);
        Some(fields)
    }
}

/// The first character of a value.
fn first(cx: &impl Context, node: &Node) -> Span {
    let text = cx.source().text().get(node.span.range()).unwrap_or_default();
    let length = text.chars().next().map_or(0, char::len_utf8);
    Span::new(node.span.start, node.span.start + length)
}
