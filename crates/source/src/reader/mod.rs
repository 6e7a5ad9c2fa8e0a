//! Reading objects field by field: each field is asked for by name, and what nobody asked for is reported.
//!
//! What the fields mean, and which words describe a problem besides the usual ones, is the [`Context`]'s.

mod field;
mod fields;
mod problem;
mod repetition;
mod trail;

pub use field::Field;
pub use fields::Fields;
pub use problem::Problem;
pub use repetition::report_repetitions;
pub use trail::Trail;

use crate::{Diagnostic, Source, Span};

/// The document that is read, and where its problems go.
pub trait Context {
    fn source(&self) -> &Source;

    /// Index of the source among those that are read.
    fn file(&self) -> usize {
        0
    }

    fn report(&self, diagnostic: Diagnostic);

    /// Adds what only this kind of document knows about a problem. Called before it is reported.
    fn explain(&self, _problem: &Problem<'_>, found: Diagnostic) -> Diagnostic {
        found
    }

    /// Whether an object of which nothing is written is an empty one.
    fn null_is_empty(&self) -> bool {
        false
    }
}

/// A problem, explained by who reads the document.
fn diagnostic(
    cx: &(impl Context + ?Sized),
    problem: &Problem<'_>,
    span: Span,
    at: &Trail<'_>,
) -> Diagnostic {
    let found = Diagnostic::new(problem, span, at.place(), problem.message())
        .in_file(cx.file())
        .hint_if(problem.hint())
        .did_you_mean(problem.suggestion());
    cx.explain(problem, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collector, document};

    struct Plain {
        source: Source,
        problems: Collector,
    }

    impl Context for Plain {
        fn source(&self) -> &Source {
            &self.source
        }

        fn report(&self, diagnostic: Diagnostic) {
            self.problems.report(diagnostic);
        }
    }

    fn check(text: &str, read: impl Fn(&Fields<'_, Plain>), expected: &[&str]) {
        let cx = Plain { source: Source::new("x.yaml", text), problems: Collector::default() };
        let root = document::read(text, cx.source.format()).expect(text);
        if let Some(fields) = Field::root(&cx, "all", &root).unrepeated_fields("a thing") {
            read(&fields);
            fields.finish(|name| (name == "other").then(|| "it belongs elsewhere".to_owned()));
        }
        let found: Vec<String> = cx.problems.finish().diagnostics.iter().map(shown).collect();
        assert_eq!(found, expected, "{text}");
    }

    fn shown(found: &Diagnostic) -> String {
        let hint = found.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{} {}: {}{hint}", found.code, found.place, found.message)
    }

    #[test]
    fn what_nobody_asked_for_is_reported() {
        let read = |fields: &Fields<'_, Plain>| {
            fields.require("name");
            fields.get("size");
        };
        check("name: a", read, &[]);
        check(
            "nam: a\nother: 1\nsize: 1\nsize: 2",
            read,
            &[
                "required-field : a thing needs the field `name`",
                "unknown-field /nam: unknown field `nam` in a thing (did you mean `name`?)",
                "misplaced-field /other: a thing cannot have the field `other` (it belongs elsewhere)",
                "duplicate-field /size: the field `size` appears a second time (the first is on line 3: keep one of \
                 them)",
            ],
        );
        check(
            "[1]",
            read,
            &[
                "wrong-type : `all` must be an object, but is an array (an object has named fields: {\"name\": …})",
            ],
        );
    }

    #[test]
    fn values_have_types_and_bounds() {
        let read = |fields: &Fields<'_, Plain>| {
            if let Some(field) = fields.get("n") {
                field.integer(1..=10_u64);
            }
            if let Some(field) = fields.get("word") {
                field.one_of(&["on", "off"]);
            }
            if let Some(field) = fields.get("list") {
                let elements = field.filled_elements().unwrap_or_default();
                elements.iter().for_each(|element| {
                    element.string();
                });
            }
        };
        check("n: 10\nword: \"on\"\nlist: [a]", read, &[]);
        check(
            "n: 11\nword: ono\nlist: [1]",
            read,
            &[
                "out-of-range /n: `n` must be an integer from 1 to 10, but is 11",
                "unknown-value /word: `word` cannot be `ono` (did you mean `on`?)",
                "wrong-type /list/0: `list[0]` must be a string, but is a number (put it in quotes)",
            ],
        );
        check(
            "n: 1.5\nlist: []",
            read,
            &[
                "wrong-type /n: `n` must be an integer, but is 1.5",
                "empty-value /list: `list` must not be empty",
            ],
        );
    }
}
