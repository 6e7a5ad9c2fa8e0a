//! How configurations are read: the files, the environment, and what only settings have (variables, durations,
//! paths).

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use everstep_source::document::Content;
use everstep_source::reader::{self, Context, Problem};
use everstep_source::{Collector, Diagnostic, Place, Severity, Source, Span, duration};

use crate::origin::Line;
use crate::rule::Rule;
use crate::template::Parameters;
use crate::text::{self, Text, Trouble};

pub(crate) type Fields<'a> = reader::Fields<'a, File<'a>>;
pub(crate) type Field<'a> = reader::Field<'a, File<'a>>;

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
    pub(crate) parameters: &'a Parameters,
    pub(crate) loader: &'a dyn Loader,
    pub(crate) sources: RefCell<Vec<Rc<Source>>>,
    pub(crate) problems: Collector,
    /// `compat: strict`
    pub(crate) strict: Cell<bool>,
}

impl Cx<'_> {
    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.problems.report(diagnostic);
    }
}

/// A file that has been read.
#[derive(Clone)]
pub(crate) struct File<'a> {
    pub(crate) cx: &'a Cx<'a>,
    pub(crate) index: usize,
    pub(crate) source: Rc<Source>,
    /// What paths in it are relative to.
    pub(crate) folder: PathBuf,
}

impl File<'_> {
    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        self.cx.report(diagnostic);
    }

    /// A problem of the file as a whole.
    pub(crate) fn diagnostic(
        &self,
        rule: Rule,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(rule, span, Place::root(), message).in_file(self.index)
    }
}

impl Context for File<'_> {
    fn source(&self) -> &Source {
        &self.source
    }

    fn file(&self) -> usize {
        self.index
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.cx.report(diagnostic);
    }

    fn explain(&self, problem: &Problem<'_>, found: Diagnostic) -> Diagnostic {
        match problem {
            Problem::Unknown { name, known, .. } if found.replacement.is_none() => {
                found.did_you_mean(meant(name, known))
            }
            _ => found,
        }
    }

    fn null_is_empty(&self) -> bool {
        true
    }
}

/// The setting that has another name elsewhere.
fn meant(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let (_, own) = ALIASES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    known.iter().copied().find(|known| known == own)
}

/// What other services, and people in a hurry, call a setting.
const ALIASES: [(&str, &str); 9] = [
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

/// What the fields of a configuration have besides the usual.
pub(crate) trait Setting<'a> {
    fn line(&self) -> Line;

    /// An object; a setting that appears twice is reported.
    fn settings(&self, owner: impl Into<String>) -> Option<Fields<'a>>;

    /// Reports what AWS would refuse: as bad as the configuration wants it.
    fn report_beyond_service(&self, diagnostic: Diagnostic);

    /// A string that is taken as it is written, because it is shown.
    fn plain(&self) -> Option<&'a str>;

    /// A string whose variables are filled in.
    fn text(&self) -> Option<Text>;

    /// One of the words given; any other is reported with the nearest.
    fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T>;

    /// A count that fits into 32 bits.
    fn count(&self, least: u32) -> Option<u32>;

    /// In milliseconds.
    fn duration(&self) -> Option<u64>;

    /// A duration of at least a millisecond.
    fn positive_duration(&self) -> Option<u64>;

    /// A path, relative to the file that names it.
    fn path(&self) -> Option<PathBuf>;
}

impl<'a> Setting<'a> for Field<'a> {
    fn line(&self) -> Line {
        let line = self.cx.source.position(self.name_span.start).line;
        Line { file: self.cx.source.name().to_owned(), line }
    }

    fn settings(&self, owner: impl Into<String>) -> Option<Fields<'a>> {
        self.unrepeated_fields(owner.into())
    }

    fn report_beyond_service(&self, diagnostic: Diagnostic) {
        let severity = if self.cx.cx.strict.get() { Severity::Error } else { Severity::Warning };
        self.cx.report(diagnostic.severity(severity));
    }

    fn plain(&self) -> Option<&'a str> {
        let written = self.string()?;
        if let Some(variable) = text::first_variable(written) {
            let message =
                format!("`{}` cannot be taken from the environment: `{variable}`", self.name);
            let found = self.report(Rule::NotSupported, message);
            self.cx.report(found.hint("only `env`, `command`, `url` and targets can"));
            return None;
        }
        if written.trim().is_empty() {
            self.cx.report(self.empty());
            return None;
        }
        without_nul(self, written)
    }

    fn text(&self) -> Option<Text> {
        let written = without_nul(self, self.string()?)?;
        let trouble = match text::fill(written, self.cx.cx.env) {
            Ok(text) => return Some(text),
            Err(trouble) => trouble,
        };
        self.cx.report(match trouble {
            Trouble::Missing(name) => self
                .report(Rule::MissingVariable, format!("the environment has no variable `{name}`"))
                .hint(format!("set it before everstep starts: export {name}=…")),
            Trouble::Malformed => self
                .report(Rule::UnknownValue, "a variable is written ${env:NAME}")
                .hint("for a literal `${`, write `$${`"),
            Trouble::OtherForm(name) => self
                .report(Rule::UnknownValue, format!("unknown variable `${{{name}}}`"))
                .hint(format!("write ${{env:{name}}}, or $${{{name}}} for the text itself")),
        });
        None
    }

    fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let written = self.plain()?;
        let found = words.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            let allowed: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
            self.cx.report(self.unknown_word(written, &allowed));
        }
        found.map(|(_, value)| *value)
    }

    fn count(&self, least: u32) -> Option<u32> {
        self.integer(least..=u32::MAX)
    }

    fn duration(&self) -> Option<u64> {
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

    fn positive_duration(&self) -> Option<u64> {
        let ms = self.duration()?;
        if ms == 0 {
            let message = format!("`{}` must be at least one millisecond", self.name);
            self.cx.report(self.report(Rule::OutOfRange, message));
        }
        (ms > 0).then_some(ms)
    }

    fn path(&self) -> Option<PathBuf> {
        self.plain().map(|path| self.cx.folder.join(path.strip_prefix("./").unwrap_or(path)))
    }
}

/// No name, path, argument or variable of a process can have one.
fn without_nul<'a>(field: &Field<'a>, written: &'a str) -> Option<&'a str> {
    let has_nul = written.contains('\0');
    if has_nul {
        let message = format!("`{}` must not contain the character NUL", field.name);
        field.cx.report(field.report(Rule::UnknownValue, message));
    }
    (!has_nul).then_some(written)
}
