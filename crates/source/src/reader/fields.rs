//! An object that is being read.

use std::borrow::Cow;
use std::cell::RefCell;

use super::{Context, Field, Problem, Trail, diagnostic};
use crate::document::Member;
use crate::{Diagnostic, Span};

pub struct Fields<'a, C> {
    pub cx: &'a C,
    pub at: Trail<'a>,
    /// What the object is, with its article: `a Task state`.
    pub owner: Cow<'a, str>,
    pub span: Span,
    /// Where to point for what is missing.
    pub head: Span,
    pub(super) members: &'a [Member],
    pub(super) known: RefCell<Vec<&'static str>>,
}

impl<'a, C: Context> Fields<'a, C> {
    /// The same object under a better name.
    #[must_use]
    pub fn named(self, owner: impl Into<Cow<'a, str>>) -> Self {
        Self { owner: owner.into(), ..self }
    }

    /// A field, if it is there. From now on it is known.
    pub fn get(&self, name: &'static str) -> Option<Field<'a, C>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&name) {
            known.push(name);
        }
        // The last of repeated fields counts; the repetition itself is reported elsewhere.
        let member = self.members.iter().rev().find(|member| member.name == name)?;
        Some(Field::of(self.cx, member, &self.at))
    }

    /// Every field, for objects whose names are the user's.
    pub fn each(&self) -> impl Iterator<Item = Field<'a, C>> {
        self.members.iter().map(|member| Field::of(self.cx, member, &self.at))
    }

    /// Whether a field is there, without reading it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    /// Whether there is a field besides those that were asked for and these.
    #[must_use]
    pub fn has_others(&self, besides: &[&str]) -> bool {
        self.unknown().any(|field| !besides.contains(&&*field.name))
    }

    /// A field that must be there; reported if it is not.
    pub fn require(&self, name: &'static str) -> Option<Field<'a, C>> {
        let field = self.get(name);
        if field.is_none() {
            self.cx.report(self.missing(&[name]));
        }
        field
    }

    pub fn string(&self, name: &'static str) -> Option<&'a str> {
        self.get(name)?.string()
    }

    /// Reports two fields of which only one may be there.
    pub fn exclude(&self, one: &'static str, other: &'static str) {
        if let (true, Some(second)) = (self.has(one), self.get(other)) {
            self.cx.report(self.exclusive(one, other, second.name_span));
        }
    }

    /// Two fields of which only one may be there, the second at `span`.
    #[must_use]
    pub fn exclusive(&self, one: &str, other: &str, span: Span) -> Diagnostic {
        let problem = Problem::Exclusive { owner: &self.owner, one, other };
        diagnostic(self.cx, &problem, span, &self.at)
    }

    /// Fields that must be there and are not.
    #[must_use]
    pub fn missing(&self, names: &[&str]) -> Diagnostic {
        let problem = Problem::Required { owner: &self.owner, names };
        diagnostic(self.cx, &problem, self.head, &self.at)
    }

    /// A field that this object cannot have.
    #[must_use]
    pub fn misplaced(&self, field: &Field<'a, C>) -> Diagnostic {
        let problem =
            Problem::Misplaced { owner: &self.owner, around: &self.at, name: &field.name };
        diagnostic(self.cx, &problem, field.name_span, &field.at)
    }

    /// Reports every field that nobody asked for; `elsewhere` says why one has no place here.
    pub fn finish(&self, elsewhere: impl Fn(&str) -> Option<String>) {
        self.finish_with(|field| Some(self.misplaced(field).hint(elsewhere(&field.name)?)));
    }

    /// Reports every field that nobody asked for, by `misplaced` where that knows why it has no place here.
    pub fn finish_with(&self, misplaced: impl Fn(&Field<'a, C>) -> Option<Diagnostic>) {
        for field in self.unknown() {
            let found = misplaced(&field).unwrap_or_else(|| {
                let (known, name) = (self.known.borrow(), &*field.name);
                let problem =
                    Problem::Unknown { owner: &self.owner, around: &self.at, name, known: &known };
                diagnostic(self.cx, &problem, field.name_span, &field.at)
            });
            self.cx.report(found);
        }
    }

    /// Reports every field that nobody asked for.
    pub fn finish_plain(&self) {
        self.finish(|_| None);
    }

    /// The fields that nobody asked for.
    fn unknown(&self) -> impl Iterator<Item = Field<'a, C>> {
        let known = self.known.borrow().clone();
        self.each().filter(move |field| !known.contains(&&*field.name))
    }
}
