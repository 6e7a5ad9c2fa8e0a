//! How definitions are read: what lowering shares, and the service's words for what is wrong with a shape.

use everstep_source::document::{Content, Node};
use everstep_source::reader::{self, Context, Problem};
use everstep_source::{Collected, Collector, Diagnostic, Source, Span};

use crate::Options;
use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::QueryLanguage;
use crate::rule::Rule;

pub(crate) type Fields<'a> = reader::Fields<'a, Cx<'a>>;
pub(crate) type Field<'a> = reader::Field<'a, Cx<'a>>;
pub(crate) use reader::Trail;

/// What all of lowering shares: the options, and where problems are collected.
pub(crate) struct Cx<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    problems: Collector,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(source: &'a Source, options: &'a Options) -> Self {
        Self { source, options, problems: Collector::default() }
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.problems.report(diagnostic.or_in_our_words());
    }

    /// Whether the shape of the definition itself is wrong, names that lead nowhere aside.
    pub(crate) fn has_schema_errors(&self) -> bool {
        let schema = |found: &Diagnostic| {
            let form = found.service.as_ref();
            form.is_some_and(|form| form.code == ServiceCode::SchemaValidationFailed.name())
        };
        self.problems.any(|found| found.is_error() && schema(found))
    }

    /// How many problems have been found so far.
    pub(crate) fn problems(&self) -> usize {
        self.problems.count()
    }

    /// Where errors have been reported so far.
    pub(crate) fn error_places(&self) -> Vec<String> {
        self.problems.map(|found| found.is_error().then(|| found.place.pointer.clone()))
    }

    pub(crate) fn finish(&self) -> Collected {
        self.problems.finish()
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

impl Context for Cx<'_> {
    fn source(&self) -> &Source {
        self.source
    }

    fn report(&self, diagnostic: Diagnostic) {
        Cx::report(self, diagnostic);
    }

    fn explain(&self, problem: &Problem<'_>, found: Diagnostic) -> Diagnostic {
        match problem {
            Problem::WrongType { node, expected, .. } => found
                .hint_if(jsonata_hint(node))
                .service(format!("Expected value of type [{}]", service_type(expected))),
            Problem::Required { names, .. } => {
                found.service(format!("These fields are required: [{}]", names.join(", ")))
            }
            // The service points at the object, not at the field.
            Problem::Unknown { around, name, .. } | Problem::Misplaced { around, name, .. } => {
                found
                    .service(format!("Field '{name}' is not supported"))
                    .service_location(Some(around.place().service_location()))
            }
            Problem::Exclusive { one, other, .. } => found.service(format!(
                "There should only be one of the following fields: [{one}, {other}]"
            )),
            Problem::OutOfRange { low, bound, .. } => {
                let side = if *low { "Minimum" } else { "Maximum" };
                found.service(format!("{side} value is {bound}"))
            }
            Problem::Empty { .. } => found.service("Value cannot be empty"),
            Problem::UnknownWord { allowed, .. } => found
                .service(format!("Value should be one of the following: [{}]", allowed.join(", "))),
            Problem::Repeated { .. } => found,
        }
    }
}

fn jsonata_hint(node: &Node) -> Option<String> {
    let is_expression = matches!(&node.content, Content::String(text) if text.starts_with("{%"));
    is_expression.then(|| "for JSONata expressions, set QueryLanguage to JSONata".to_owned())
}

/// `an integer` is `INTEGER` to the service.
fn service_type(expected: &str) -> String {
    let word = expected.split(' ').nth(1).unwrap_or(expected);
    word.trim_end_matches(',').to_uppercase()
}

/// Why a field that the language has cannot stand in this object.
pub(crate) struct Misplaced {
    hint: String,
    /// The query language that is in use, if the field belongs to the other one.
    language: Option<QueryLanguage>,
}

impl Misplaced {
    pub(crate) fn here(hint: &str) -> Self {
        Self { hint: hint.to_owned(), language: None }
    }

    pub(crate) fn in_language(language: QueryLanguage, hint: &str) -> Self {
        let hint = format!("{hint} ({} is in use here)", language.name());
        Self { hint, language: Some(language) }
    }

    fn explain(self, field: &str, found: Diagnostic) -> Diagnostic {
        let found = found.hint(self.hint);
        let Some(language) = self.language else { return found };
        let location = found.service.as_ref().and_then(|form| form.location.clone());
        let (used, other) = (language.name(), language.other().name());
        Diagnostic { code: Rule::WrongQueryLanguage.name(), ..found }
            .service(format!(
                "The QueryLanguage is set to '{used}', but field '{field}' is only supported for the '{other}' \
                 QueryLanguage"
            ))
            .service_location(location)
    }
}

pub(crate) trait Close {
    /// Reports every field that nobody asked for.
    fn close(&self, elsewhere: impl Fn(&str) -> Option<Misplaced>);
}

impl Close for Fields<'_> {
    fn close(&self, elsewhere: impl Fn(&str) -> Option<Misplaced>) {
        self.finish_with(|field| {
            let misplaced = elsewhere(&field.name)?;
            Some(misplaced.explain(&field.name, self.misplaced(field)))
        });
    }
}
