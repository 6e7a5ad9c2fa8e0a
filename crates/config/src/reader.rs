//! Reading objects field by field: each asked for once, the rest reported.

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use everstep_source::document::{Content, Member, Node};
use everstep_source::{Place, Severity, Source, Span, duration, nearest};

use crate::diagnostic::{Diagnostic, Rule};
use crate::origin::Line;
use crate::text::{self, Text, Trouble};

/// More problems than anyone reads; the rest is counted.
const DIAGNOSTICS_MAX: usize = 1000;

/// Gives the text of a file. A trait, so that what holds it can be borrowed for any shorter time.
pub(crate) trait Loader {
    fn load(&self, path: &Path) -> io::Result<String>;
}

impl Loader for RefCell<&mut dyn FnMut(&Path) -> io::Result<String>> {
    fn load(&self, path: &Path) -> io::Result<String> {
        (self.borrow_mut())(path)
    }
}

/// What all of reading shares: the outside, and where problems are collected.
pub(crate) struct Cx<'a> {
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) loader: &'a dyn Loader,
    pub(crate) sources: RefCell<Vec<Rc<Source>>>,
    pub(crate) diagnostics: RefCell<Vec<Diagnostic>>,
    pub(crate) omitted: Cell<usize>,
    /// Errors, shown or omitted.
    pub(crate) errors: Cell<usize>,
    /// `compat: strict`
    pub(crate) strict: Cell<bool>,
}

impl Cx<'_> {
    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.errors.set(self.errors.get() + usize::from(diagnostic.is_error()));
        let mut diagnostics = self.diagnostics.borrow_mut();
        if diagnostics.len() < DIAGNOSTICS_MAX {
            diagnostics.push(diagnostic);
        } else {
            self.omitted.set(self.omitted.get() + 1);
        }
    }

    /// What other services would refuse is only as bad as the configuration wants it.
    pub(crate) fn report_beyond_service(&self, diagnostic: Diagnostic) {
        let severity = if self.strict.get() { Severity::Error } else { Severity::Warning };
        self.report(diagnostic.severity(severity));
    }
}

/// A file that has been read.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) index: usize,
    pub(crate) source: Rc<Source>,
    /// What paths in it are relative to.
    pub(crate) folder: PathBuf,
}

impl File {
    pub(crate) fn diagnostic(
        &self,
        rule: Rule,
        span: Span,
        place: Place,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            file: self.index,
            rule,
            severity: rule.severity(),
            span,
            place,
            message: message.into(),
            hint: None,
            replacement: None,
        }
    }

    pub(crate) fn line(&self, span: Span) -> Line {
        let line = self.source.position(span.start).line;
        Line { file: self.source.name().to_owned(), line }
    }
}

/// An object that is being read.
pub(crate) struct Fields<'a> {
    pub(crate) cx: &'a Cx<'a>,
    pub(crate) file: &'a File,
    pub(crate) place: Place,
    /// What the object is, as messages call it.
    pub(crate) owner: String,
    /// Where to point for what is missing.
    pub(crate) head: Span,
    members: &'a [Member],
    known: RefCell<Vec<&'static str>>,
}

/// The value of a field or an element of a list, and where it stands.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) cx: &'a Cx<'a>,
    pub(crate) file: &'a File,
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) node: &'a Node,
}

impl<'a> Fields<'a> {
    pub(crate) fn get(&self, name: &'static str) -> Option<Field<'a>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&name) {
            known.push(name);
        }
        // The last of repeated fields counts; the repetition itself has been reported.
        let member = self.members.iter().rev().find(|member| member.name == name)?;
        Some(self.field(member))
    }

    fn field(&self, member: &'a Member) -> Field<'a> {
        Field {
            cx: self.cx,
            file: self.file,
            place: self.place.field(&member.name),
            name: member.name.clone(),
            name_span: member.name_span,
            node: &member.value,
        }
    }

    /// Every field, for objects whose names are the user's.
    pub(crate) fn each(&self) -> impl Iterator<Item = Field<'a>> {
        self.members.iter().map(|member| self.field(member))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.name == name)
    }

    pub(crate) fn require(&self, name: &'static str) -> Option<Field<'a>> {
        let field = self.get(name);
        if field.is_none() {
            self.missing(&format!("{} needs `{name}`", self.owner), None);
        }
        field
    }

    pub(crate) fn missing(&self, message: &str, hint: Option<&str>) {
        let diagnostic =
            self.file.diagnostic(Rule::RequiredField, self.head, self.place.clone(), message);
        self.cx.report(Diagnostic { hint: hint.map(str::to_owned), ..diagnostic });
    }

    /// Reports two fields of which only one may be there.
    pub(crate) fn exclude(&self, name: &'static str, other: &'static str) {
        if let (true, Some(second)) = (self.has(name), self.get(other)) {
            let message = format!("{} has both `{name}` and `{other}`", self.owner);
            let found = second.at_name(Rule::ExclusiveFields, message);
            self.cx.report(found.hint(format!("keep `{name}` or `{other}`, not both")));
        }
    }

    /// Reports every field nobody asked for; `elsewhere` says why one that is known has no place here.
    pub(crate) fn finish(&self, elsewhere: impl Fn(&str) -> Option<String>) {
        let known = self.known.borrow();
        for field in self.each().filter(|field| !known.contains(&&*field.name)) {
            let (owner, name) = (&self.owner, &field.name);
            let diagnostic = match elsewhere(name) {
                Some(hint) => {
                    let message = format!("{owner} cannot have `{name}`");
                    field.at_name(Rule::MisplacedField, message).hint(hint)
                }
                None => field
                    .at_name(Rule::UnknownField, format!("{owner} has no setting `{name}`"))
                    .hint(format!("there are {}", known.join(", ")))
                    .did_you_mean(meant(name, &known)),
            };
            self.cx.report(diagnostic);
        }
    }

    pub(crate) fn finish_plain(&self) {
        self.finish(|_| None);
    }
}

/// The setting that was probably meant: one that is spelled alike, or has another name elsewhere.
fn meant<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let by_habit = HABITS.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
    let by_habit = by_habit.and_then(|(_, own)| known.iter().find(|known| *known == own));
    nearest(name, known.iter().copied()).or(by_habit.copied())
}

/// What other houses, and people in a hurry, call a setting.
const HABITS: [(&str, &str); 9] = [
    ("retries", "retry"),
    ("retryPolicy", "retry"),
    ("environment", "env"),
    ("memorySize", "memory"),
    ("code", "codeUri"),
    ("reservedConcurrentExecutions", "concurrency"),
    ("provisionedConcurrency", "minInstances"),
    ("timeoutSeconds", "timeout"),
    ("maxRetries", "maxRetryCount"),
];

impl<'a> Field<'a> {
    /// A whole file.
    pub(crate) fn root(cx: &'a Cx<'a>, file: &'a File, node: &'a Node) -> Self {
        let head = Span::new(node.span.start, node.span.start);
        let name = file.source.name().to_owned();
        Self { cx, file, place: Place::root(), name, name_span: head, node }
    }

    /// At the value.
    pub(crate) fn report(&self, rule: Rule, message: impl Into<String>) -> Diagnostic {
        self.file.diagnostic(rule, self.node.span, self.place.clone(), message)
    }

    pub(crate) fn at_name(&self, rule: Rule, message: impl Into<String>) -> Diagnostic {
        self.file.diagnostic(rule, self.name_span, self.place.clone(), message)
    }

    pub(crate) fn line(&self) -> Line {
        self.file.line(self.name_span)
    }

    pub(crate) fn wrong_type(&self, expected: &str) -> Diagnostic {
        let actual = self.node.type_name();
        self.report(Rule::WrongType, format!("`{}` must be {expected}, but is {actual}", self.name))
    }

    /// An object; nothing at all is an empty one.
    pub(crate) fn fields(&self, owner: impl Into<String>) -> Option<Fields<'a>> {
        let members: &[Member] = match &self.node.content {
            Content::Object(members) => members,
            Content::Null => &[],
            _ => {
                self.cx.report(self.wrong_type("an object"));
                return None;
            }
        };
        self.refuse_repetition(members);
        Some(Fields {
            cx: self.cx,
            file: self.file,
            place: self.place.clone(),
            owner: owner.into(),
            head: self.name_span,
            members,
            known: RefCell::default(),
        })
    }

    fn refuse_repetition(&self, members: &[Member]) {
        let mut seen = std::collections::HashMap::with_capacity(members.len());
        for member in members {
            if let Some(first) = seen.insert(member.name.as_str(), member.name_span) {
                let line = self.file.line(first).line;
                let place = self.place.field(&member.name);
                let message = format!("`{}` stands here a second time", member.name);
                let found =
                    self.file.diagnostic(Rule::DuplicateField, member.name_span, place, message);
                self.cx
                    .report(found.hint(format!("the first is on line {line}: keep one of them")));
            }
        }
    }

    /// The elements of a list.
    pub(crate) fn elements(&self) -> Option<Vec<Self>> {
        let Some(nodes) = self.node.as_array() else {
            self.cx.report(self.wrong_type("a list"));
            return None;
        };
        let element = |(index, node): (usize, &'a Node)| Field {
            place: self.place.index(index),
            name: format!("{}[{index}]", self.name),
            name_span: Span::new(node.span.start, node.span.start),
            node,
            ..self.clone()
        };
        Some(nodes.iter().enumerate().map(element).collect())
    }

    /// A text that is taken as it is written, because it is shown.
    pub(crate) fn plain(&self) -> Option<&'a str> {
        let Some(written) = self.node.as_str() else {
            self.cx.report(self.wrong_type("a text"));
            return None;
        };
        if let Some(variable) = text::first_variable(written) {
            let message =
                format!("`{}` cannot be taken from the environment: `{variable}`", self.name);
            let found = self.report(Rule::NotSupported, message);
            self.cx.report(found.hint("only `env`, `command`, `url` and targets can"));
            return None;
        }
        if written.trim().is_empty() {
            let message = format!("`{}` must not be empty", self.name);
            self.cx.report(self.report(Rule::EmptyValue, message));
            return None;
        }
        self.without_nul(written)
    }

    /// No name, path, argument or variable of a process can have one.
    fn without_nul(&self, written: &'a str) -> Option<&'a str> {
        let has_nul = written.contains('\0');
        if has_nul {
            let message = format!("`{}` must not have the character NUL in it", self.name);
            self.cx.report(self.report(Rule::UnknownValue, message));
        }
        (!has_nul).then_some(written)
    }

    /// A text whose variables are filled in.
    pub(crate) fn text(&self) -> Option<Text> {
        let Some(written) = self.node.as_str() else {
            self.cx.report(self.wrong_type("a text"));
            return None;
        };
        let written = self.without_nul(written)?;
        let trouble = match text::fill(written, self.cx.env) {
            Ok(text) => return Some(text),
            Err(trouble) => trouble,
        };
        self.cx.report(match trouble {
            Trouble::Missing(name) => self
                .report(Rule::MissingVariable, format!("the environment has no variable `{name}`"))
                .hint(format!("set it before everstep starts: export {name}=…")),
            Trouble::Malformed => self
                .report(Rule::UnknownValue, "a variable is written ${env:NAME}")
                .hint("write $${ for a brace behind a dollar"),
            Trouble::OtherForm(name) => self
                .report(Rule::UnknownValue, format!("`${{{name}}}` is no variable here"))
                .hint(format!("write ${{env:{name}}}, or $${{{name}}} for the text itself")),
        });
        None
    }

    /// One of the words given; any other is reported with the nearest.
    pub(crate) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let written = self.plain()?;
        let found = words.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            let names = words.iter().map(|(word, _)| *word);
            let list = names.clone().collect::<Vec<_>>().join(", ");
            self.cx.report(
                self.report(Rule::UnknownValue, format!("`{}` cannot be `{written}`", self.name))
                    .hint(format!("it is one of {list}"))
                    .did_you_mean(nearest(written, names)),
            );
        }
        found.map(|(_, value)| *value)
    }

    pub(crate) fn integer(&self, bounds: RangeInclusive<i64>) -> Option<i64> {
        let Content::Number(number) = &self.node.content else {
            self.cx.report(self.wrong_type("an integer"));
            return None;
        };
        match number.as_i64() {
            Some(value) if bounds.contains(&value) => Some(value),
            _ => {
                let (low, high) = (bounds.start(), bounds.end());
                let limits = match *high {
                    high if high == *low => low.to_string(),
                    high if high >= i64::from(u32::MAX) => format!("an integer of at least {low}"),
                    high => format!("an integer from {low} to {high}"),
                };
                let message = format!("`{}` must be {limits}, but is {number}", self.name);
                self.cx.report(self.report(Rule::OutOfRange, message));
                None
            }
        }
    }

    /// A count that fits into 32 bits.
    pub(crate) fn count(&self, least: u32) -> Option<u32> {
        let value = self.integer(i64::from(least)..=i64::from(u32::MAX))?;
        u32::try_from(value).ok()
    }

    pub(crate) fn number(&self, bounds: RangeInclusive<f64>) -> Option<f64> {
        let Content::Number(number) = &self.node.content else {
            self.cx.report(self.wrong_type("a number"));
            return None;
        };
        let value = number.as_f64().filter(|value| bounds.contains(value));
        if value.is_none() {
            let (low, high) = (bounds.start(), bounds.end());
            let message = format!("`{}` must be from {low} to {high}, but is {number}", self.name);
            self.cx.report(self.report(Rule::OutOfRange, message));
        }
        value
    }

    /// In milliseconds.
    pub(crate) fn duration(&self) -> Option<u64> {
        let (parsed, written) = match &self.node.content {
            Content::Number(number) => (
                duration::from_seconds(number.as_f64().unwrap_or(f64::INFINITY)),
                number.to_string(),
            ),
            Content::String(_) => {
                let written = self.plain()?;
                (duration::parse(written), written.to_owned())
            }
            _ => {
                self.cx.report(self.wrong_type("a duration"));
                return None;
            }
        };
        match parsed {
            Ok(ms) => Some(ms),
            Err(duration::Invalid { hint }) => {
                let message = format!("`{}` is not a duration: `{written}`", self.name);
                self.cx.report(self.report(Rule::InvalidDuration, message).hint(hint));
                None
            }
        }
    }

    /// A duration that takes time.
    pub(crate) fn positive_duration(&self) -> Option<u64> {
        let ms = self.duration()?;
        if ms == 0 {
            let message = format!("`{}` must be at least one millisecond", self.name);
            self.cx.report(self.report(Rule::OutOfRange, message));
        }
        (ms > 0).then_some(ms)
    }

    /// A path, relative to the file that names it.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.plain().map(|path| self.file.folder.join(path.strip_prefix("./").unwrap_or(path)))
    }
}
