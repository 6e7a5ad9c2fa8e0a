//! Reading objects field by field: each asked for once, the rest reported.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use everstep_source::document::{Content, Member, Node};
use everstep_source::{Place, Source, Span, nearest};

use crate::Options;
use crate::diagnostic::{Diagnostic, ServiceCode};
use crate::model::QueryLanguage;
use crate::rule::Rule;

/// What all of lowering shares: the options, and where problems are collected.
pub(crate) struct Cx<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    diagnostics: RefCell<Vec<Diagnostic>>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(source: &'a Source, options: &'a Options) -> Self {
        Self { source, options, diagnostics: RefCell::default() }
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    /// Whether the shape of the definition itself is wrong, names that lead nowhere aside.
    pub(crate) fn has_schema_errors(&self) -> bool {
        let schema = |diagnostic: &Diagnostic| {
            let form = diagnostic.service.as_ref();
            form.is_some_and(|form| form.code == ServiceCode::SchemaValidationFailed)
        };
        self.diagnostics.borrow().iter().any(|found| found.is_error() && schema(found))
    }

    /// How many problems have been found so far.
    pub(crate) fn problems(&self) -> usize {
        self.diagnostics.borrow().len()
    }

    /// Where errors have been reported so far.
    pub(crate) fn error_places(&self) -> Vec<String> {
        let diagnostics = self.diagnostics.borrow();
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        errors.map(|diagnostic| diagnostic.place.pointer.clone()).collect()
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics.into_inner()
    }

    /// Where a part of a string stands in the source; all of the string if escapes are in the way.
    pub(crate) fn inside(&self, node: &Node, part: std::ops::Range<usize>) -> Span {
        let whole = node.span;
        let (Some(text), Some(raw)) = (node.as_str(), self.source.text().get(whole.range())) else {
            return whole;
        };
        match raw.find(text) {
            Some(at) if part.start <= part.end && part.end <= text.len() => {
                Span::new(whole.start + at + part.start, whole.start + at + part.end)
            }
            _ => whole,
        }
    }
}

/// A place, built only if somebody asks.
#[derive(Clone, Copy)]
pub(crate) struct At<'p> {
    parent: Option<&'p At<'p>>,
    segment: Segment<'p>,
}

#[derive(Clone, Copy)]
enum Segment<'p> {
    Root,
    Name(&'p str),
    Index(usize),
}

impl<'p> At<'p> {
    pub(crate) const ROOT: At<'static> = At { parent: None, segment: Segment::Root };

    pub(crate) fn name(&'p self, name: &'p str) -> Self {
        Self { parent: Some(self), segment: Segment::Name(name) }
    }

    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), segment: Segment::Index(index) }
    }

    pub(crate) fn place(&self) -> Place {
        let around = self.parent.map(At::place).unwrap_or_default();
        match self.segment {
            Segment::Root => around,
            Segment::Name(name) => around.field(name),
            Segment::Index(index) => around.index(index),
        }
    }
}

/// An object that is being read.
pub(crate) struct Fields<'a, 'p> {
    pub(crate) cx: &'p Cx<'a>,
    pub(crate) at: At<'p>,
    /// What the object is, with its article: `a Task state`.
    pub(crate) owner: &'p str,
    pub(crate) span: Span,
    members: &'a [Member],
    known: RefCell<Vec<&'static str>>,
}

/// The value of a field, and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a, 'p> {
    pub(crate) cx: &'p Cx<'a>,
    pub(crate) at: At<'p>,
    pub(crate) name: &'p str,
    pub(crate) name_span: Span,
    pub(crate) node: &'a Node,
}

impl<'a, 'p> Fields<'a, 'p> {
    /// Reports a value that is not an object.
    pub(crate) fn new(cx: &'p Cx<'a>, at: At<'p>, owner: &'p str, node: &'a Node) -> Option<Self> {
        let Some(members) = node.as_object() else {
            cx.report(wrong_type(node, &at, owner, "an object"));
            return None;
        };
        Some(Self { cx, at, owner, span: node.span, members, known: RefCell::default() })
    }

    /// The same object under a better name.
    pub(crate) fn named<'n>(self, owner: &'n str) -> Fields<'a, 'n>
    where
        'p: 'n,
    {
        let Self { cx, at, span, members, known, .. } = self;
        Fields { cx, at, owner, span, members, known }
    }

    pub(crate) fn get<'s>(&'s self, name: &'static str) -> Option<Field<'a, 's>> {
        self.known.borrow_mut().push(name);
        // The last of repeated fields counts; the repetition itself is reported elsewhere.
        let member = self.members.iter().rev().find(|member| member.name == name)?;
        Some(Field {
            cx: self.cx,
            at: self.at.name(name),
            name,
            name_span: member.name_span,
            node: &member.value,
        })
    }

    /// Whether a field is there, without reading it.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// Whether there is a field besides those that were asked for and these.
    pub(crate) fn has_others(&self, besides: &[&str]) -> bool {
        let known = self.known.borrow();
        let is_known = |name: &str| known.contains(&name) || besides.contains(&name);
        self.members.iter().any(|member| !is_known(&member.name))
    }

    /// Says that a field must be there.
    pub(crate) fn require<'s>(&'s self, name: &'static str) -> Option<Field<'a, 's>> {
        let field = self.get(name);
        if field.is_none() {
            self.missing(&[name]);
        }
        field
    }

    pub(crate) fn missing(&self, names: &[&str]) {
        let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        let plural = if names.len() == 1 { "field" } else { "fields" };
        self.cx.report(
            Diagnostic::new(
                Rule::RequiredField,
                self.head(),
                self.at.place(),
                format!("{} needs the {plural} {list}", self.owner),
            )
            .service(format!("These fields are required: [{}]", names.join(", "))),
        );
    }

    pub(crate) fn string(&self, name: &'static str) -> Option<&'a str> {
        self.get(name)?.string()
    }

    /// Reports two fields of which only one may be there.
    pub(crate) fn exclude(&self, name: &'static str, other: &'static str) {
        if let (true, Some(second)) = (self.has(name), self.get(other)) {
            self.cx.report(
                Diagnostic::new(
                    Rule::ExclusiveFields,
                    second.name_span,
                    self.at.place(),
                    format!("{} has both `{name}` and `{other}`", self.owner),
                )
                .hint(format!("keep `{name}` or `{other}`, not both"))
                .service(format!(
                    "There should only be one of the following fields: [{name}, {other}]"
                )),
            );
        }
    }

    /// The first character of the object: a place for what is missing.
    pub(crate) fn head(&self) -> Span {
        let text = self.cx.source.text().get(self.span.range()).unwrap_or_default();
        let first = text.chars().next().map_or(0, char::len_utf8);
        Span::new(self.span.start, self.span.start + first)
    }

    /// Reports every field nobody asked for.
    pub(crate) fn finish(&self, elsewhere: impl Fn(&str) -> Option<Misplaced>) {
        let known = self.known.borrow();
        for member in self.members {
            if known.contains(&member.name.as_str()) {
                continue;
            }
            let at = self.at.name(&member.name);
            let name = &member.name;
            let diagnostic = match elsewhere(name) {
                Some(misplaced) => Diagnostic::new(
                    misplaced.rule,
                    member.name_span,
                    at.place(),
                    format!("{} cannot have the field `{name}`", self.owner),
                )
                .service(misplaced.service_words(name))
                .hint(misplaced.hint),
                None => Diagnostic::new(
                    Rule::UnknownField,
                    member.name_span,
                    at.place(),
                    format!("{} has no field `{name}`", self.owner),
                )
                .service(format!("Field '{name}' is not supported"))
                .did_you_mean(nearest(name, known.iter().copied())),
            };
            // The service points at the object, not at the field.
            let around = self.at.place().service_location();
            self.cx.report(diagnostic.service_location(Some(around)));
        }
    }
}

/// Why a field that the language has cannot stand in this object.
pub(crate) struct Misplaced {
    pub(crate) rule: Rule,
    pub(crate) hint: String,
    /// The query language that is in use, if the field belongs to the other one.
    pub(crate) language: Option<QueryLanguage>,
}

impl Misplaced {
    pub(crate) fn here(hint: &str) -> Self {
        Self { rule: Rule::MisplacedField, hint: hint.to_owned(), language: None }
    }

    pub(crate) fn in_language(language: QueryLanguage, hint: &str) -> Self {
        let hint = format!("{hint} ({} is in use here)", language.name());
        Self { rule: Rule::WrongQueryLanguage, hint, language: Some(language) }
    }

    fn service_words(&self, field: &str) -> String {
        match self.language {
            Some(language) => format!(
                "The QueryLanguage is set to '{}', but field '{field}' is only supported for the '{}' \
                 QueryLanguage",
                language.name(),
                language.other().name()
            ),
            None => format!("Field '{field}' is not supported"),
        }
    }
}

impl<'a, 'p> Field<'a, 'p> {
    pub(crate) fn report(&self, rule: Rule, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(rule, self.node.span, self.at.place(), message)
    }

    pub(crate) fn wrong_type(&self, expected: &str) {
        self.cx.report(wrong_type(self.node, &self.at, &format!("`{}`", self.name), expected));
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node.content == Content::Null
    }

    pub(crate) fn string(&self) -> Option<&'a str> {
        let text = self.node.as_str();
        if text.is_none() {
            self.wrong_type("a string");
        }
        text
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.node.content {
            Content::Boolean(value) => Some(value),
            _ => {
                self.wrong_type("a boolean");
                None
            }
        }
    }

    pub(crate) fn integer(&self, bounds: RangeInclusive<u64>) -> Option<u64> {
        let Content::Number(number) = &self.node.content else {
            self.wrong_type("an integer");
            return None;
        };
        match number.as_u64() {
            Some(value) if bounds.contains(&value) => Some(value),
            // `10.0` is written as a fraction; what is far out of bounds is not called one.
            None if number
                .as_f64()
                .is_some_and(|value| value.fract() != 0.0 || (0.0..=1e15).contains(&value)) =>
            {
                let message = format!("`{}` must be an integer, but is {number}", self.name);
                let diagnostic = self.report(Rule::WrongType, message);
                self.cx.report(diagnostic.service("Expected value of type [INTEGER]"));
                None
            }
            value => {
                let low = match value {
                    Some(value) => value < *bounds.start(),
                    None => number.as_f64().is_none_or(|value| value < 0.0),
                };
                let limits = format!("an integer from {} to {}", bounds.start(), bounds.end());
                let bound = if low { bounds.start() } else { bounds.end() };
                self.out_of_range(&limits, low, &bound.to_string());
                None
            }
        }
    }

    pub(crate) fn number(&self, bounds: RangeInclusive<f64>) -> Option<f64> {
        let Content::Number(number) = &self.node.content else {
            self.wrong_type("a number");
            return None;
        };
        match number.as_f64() {
            Some(value) if bounds.contains(&value) => Some(value),
            value => {
                let limits = if *bounds.end() == f64::MAX {
                    format!("at least {:?}", bounds.start())
                } else {
                    format!("from {:?} to {:?}", bounds.start(), bounds.end())
                };
                let low = value.is_some_and(|value| value < *bounds.start());
                let bound = if low { bounds.start() } else { bounds.end() };
                self.out_of_range(&limits, low, &format!("{bound:?}"));
                None
            }
        }
    }

    fn out_of_range(&self, limits: &str, low: bool, bound: &str) {
        let side = if low { "Minimum" } else { "Maximum" };
        self.cx.report(
            self.report(Rule::OutOfRange, format!("`{}` must be {limits}", self.name))
                .service(format!("{side} value is {bound}")),
        );
    }

    pub(crate) fn array(&self) -> Option<&'a [Node]> {
        let elements = self.node.as_array();
        if elements.is_none() {
            self.wrong_type("an array");
        }
        elements
    }

    /// An array with at least one element.
    pub(crate) fn filled_array(&self) -> Option<&'a [Node]> {
        let elements = self.array()?;
        if elements.is_empty() {
            self.cx.report(
                self.report(Rule::EmptyValue, format!("`{}` must not be empty", self.name))
                    .service("Value cannot be empty"),
            );
        }
        Some(elements)
    }

    /// One of the words given; any other is reported with the nearest.
    pub(crate) fn word(&self, allowed: &[&'static str]) -> Option<&'static str> {
        let text = self.string()?;
        let found = allowed.iter().copied().find(|word| *word == text);
        if found.is_none() {
            self.unknown_word(Rule::UnknownValue, text, allowed);
        }
        found
    }

    pub(crate) fn unknown_word(&self, rule: Rule, text: &str, allowed: &[&'static str]) {
        let list = allowed.join(", ");
        self.cx.report(
            self.report(rule, format!("`{}` cannot be `{text}`", self.name))
                .hint(format!("it is one of {list}"))
                .did_you_mean(nearest(text, allowed.iter().copied()))
                .service(if rule == Rule::UnknownStateType {
                    format!("The field 'Type' should have one of these values: [{list}]")
                } else {
                    format!("Value should be one of the following: [{list}]")
                }),
        );
    }

    pub(crate) fn fields<'s>(&'s self, owner: &'s str) -> Option<Fields<'a, 's>>
    where
        'p: 's,
    {
        Fields::new(self.cx, self.at, owner, self.node)
    }

    /// The elements of an array, each as a field of its own.
    pub(crate) fn elements<'s>(
        &'s self,
        elements: &'a [Node],
    ) -> impl Iterator<Item = Field<'a, 's>> + 's
    where
        'a: 's,
    {
        elements.iter().enumerate().map(move |(index, node)| Field {
            cx: self.cx,
            at: self.at.index(index),
            name: self.name,
            name_span: node.span,
            node,
        })
    }
}

fn wrong_type(node: &Node, at: &At<'_>, what: &str, expected: &str) -> Diagnostic {
    Diagnostic::new(
        Rule::WrongType,
        node.span,
        at.place(),
        format!("{what} must be {expected}, but is {}", node.type_name()),
    )
    .hint_if(type_hint(node, expected))
    .service(format!("Expected value of type [{}]", service_type(expected)))
}

/// How such a value usually comes about.
fn type_hint(node: &Node, expected: &str) -> Option<String> {
    let hint = match &node.content {
        Content::Null => {
            "nothing stands there; in YAML, look at the indentation of what follows".to_owned()
        }
        Content::String(text) if text.starts_with("{%") => {
            "for JSONata expressions, set QueryLanguage to JSONata".to_owned()
        }
        Content::String(text) if expected.contains("a boolean") => match &*text.to_lowercase() {
            "true" | "false" => format!("write {text}, without quotes"),
            "yes" | "on" => "write true".to_owned(),
            "no" | "off" => "write false".to_owned(),
            _ => return None,
        },
        Content::String(text) if text.parse::<f64>().is_ok() => {
            format!("write {text}, without quotes")
        }
        Content::Number(_) | Content::Boolean(_) if expected.starts_with("a string") => {
            "put it in quotes".to_owned()
        }
        Content::Array(_) if expected == "an object" => {
            "an object has named fields: {\"name\": …}".to_owned()
        }
        Content::Object(_) if expected == "an array" => "put it in brackets: [{…}]".to_owned(),
        _ => return None,
    };
    Some(hint)
}

/// `an integer` is `INTEGER` to the service.
fn service_type(expected: &str) -> String {
    let word = expected.split(' ').nth(1).unwrap_or(expected);
    word.trim_end_matches(',').to_uppercase()
}
