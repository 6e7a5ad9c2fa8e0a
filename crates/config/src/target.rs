//! Targets: where results, failures and dead letters go.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use everstep_source::nearest;
use everstep_target::Invalid;

use crate::chain::Chains;
use crate::model::Target;
use crate::origin::Line;
use crate::reader::{Cx, Field, Setting as _};
use crate::rule::Rule;
use crate::text::Text;
use crate::url;
use everstep_source::Diagnostic;

/// What can be named, and what has been, to be compared when all is read.
#[derive(Default)]
pub(crate) struct Names {
    /// By kind.
    known: RefCell<HashMap<Kind, BTreeMap<String, Line>>>,
    /// Queues that others bring with them.
    brought: RefCell<BTreeSet<String>>,
    destinations: RefCell<HashMap<String, Target>>,
    references: RefCell<Vec<Reference>>,
    /// What follows what, to be followed when all is read.
    pub(crate) chains: Chains,
    /// Queues and their poison queues.
    pub(crate) poison: Chains,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Function,
    StateMachine,
    Queue,
    Destination,
    Trigger,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::StateMachine => "state machine",
            Self::Queue => "queue",
            Self::Destination => "destination",
            Self::Trigger => "trigger",
        }
    }

    /// The section that names them.
    fn section(self) -> &'static str {
        match self {
            Self::Function => "functions",
            Self::StateMachine => "stateMachines",
            Self::Queue => "queues",
            Self::Destination => "destinations",
            Self::Trigger => "triggers",
        }
    }

    fn name_length_max(self) -> usize {
        if self == Self::Function { 64 } else { 80 }
    }
}

struct Reference {
    kind: Kind,
    name: String,
    /// What to say if there is nothing of the name.
    diagnostic: Diagnostic,
}

impl Names {
    /// Takes a name for a thing; reports one that is taken already.
    pub(crate) fn define(&self, kind: Kind, field: &Field<'_>) -> bool {
        let valid = self.is_valid(kind, &field.name, field);
        let line = field.line();
        let mut known = self.known.borrow_mut();
        let names = known.entry(kind).or_default();
        // Inside one file it is a repeated field, which has been reported.
        if let Some(first) = names.get(&*field.name).filter(|first| first.file != line.file) {
            let message = format!("there is a {} `{}` already", kind.word(), field.name);
            let found = field.at_name(Rule::DuplicateName, message);
            field.cx.report(found.hint(format!("the first is at {first}: rename one of them")));
            return false;
        }
        names.insert(field.name.clone().into_owned(), line);
        valid
    }

    /// Takes a name that is not written down, but follows from something that is.
    pub(crate) fn derive(&self, kind: Kind, name: &str, field: &Field<'_>) -> bool {
        if !self.is_valid(kind, name, field) {
            return false;
        }
        let mut known = self.known.borrow_mut();
        let names = known.entry(kind).or_default();
        if let Some(first) = names.get(name) {
            let message = format!("there is a {} `{name}` already", kind.word());
            let found = field.report(Rule::DuplicateName, message);
            field.cx.report(found.hint(format!("the first is at {first}: rename it")));
            return false;
        }
        names.insert(name.to_owned(), field.line());
        true
    }

    /// A queue that another one brings with it, if nothing else names it.
    pub(crate) fn bring_queue(&self, name: &str) {
        self.brought.borrow_mut().insert(name.to_owned());
    }

    pub(crate) fn is_queue_name(name: &str) -> bool {
        // A FIFO queue of SQS ends so.
        let stem = name.strip_suffix(".fifo").unwrap_or(name);
        is_name(stem) && name.len() <= Kind::Queue.name_length_max()
    }

    fn is_valid(&self, kind: Kind, name: &str, field: &Field<'_>) -> bool {
        let max = kind.name_length_max();
        let valid = match kind {
            Kind::Queue => Self::is_queue_name(name),
            _ => is_name(name) && name.len() <= max,
        };
        if !valid {
            let message = format!("`{name}` cannot be the name of a {}", kind.word());
            let found = field.at_name(Rule::InvalidName, message);
            let hint = format!("letters, digits, `-` and `_`, at most {max} of them");
            field.cx.report(found.hint(hint));
        }
        valid
    }

    pub(crate) fn define_destination(&self, name: &str, target: Target) {
        self.destinations.borrow_mut().insert(name.to_owned(), target);
    }

    /// Remembers that something must be there.
    pub(crate) fn refer(&self, kind: Kind, name: &str, field: &Field<'_>) {
        let message = format!("there is no {} `{name}`", kind.word());
        let diagnostic = field.report(Rule::UnknownReference, message);
        self.references.borrow_mut().push(Reference { kind, name: name.to_owned(), diagnostic });
    }

    pub(crate) fn check(&self, cx: &Cx<'_>) {
        // What is missing may stand in the file that is.
        let gaps = [Rule::UnreadableFile, Rule::InvalidDocument];
        if cx.problems.any(|found| gaps.iter().any(|rule| found.is(*rule))) {
            return;
        }
        let known = self.known.borrow();
        for Reference { kind, name, diagnostic } in self.references.take() {
            let names = known.get(&kind);
            let brought = kind == Kind::Queue && self.brought.borrow().contains(&name);
            if brought || names.is_some_and(|names| names.contains_key(&name)) {
                continue;
            }
            let all = names.into_iter().flatten().map(|(name, _)| name.as_str());
            let hint = match nearest(&name, all) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("name it below `{}`", kind.section()),
            };
            cx.report(diagnostic.hint(hint));
        }
    }

    /// `function:NAME`, `https://…`, an ARN: checked to exist when all is read.
    pub(crate) fn target(&self, field: &Field<'_>) -> Option<Target> {
        let text = field.text()?;
        if let Some(name) = text.strip_prefix("destination:").filter(|name| !name.is_empty()) {
            self.refer(Kind::Destination, &name, field);
            return self.destinations.borrow().get(name.as_str()).cloned();
        }
        let parsed = match parse(&text) {
            Ok(parsed) => parsed,
            Err(Invalid::Url(hint)) => {
                url::report(field, &text, hint);
                return None;
            }
            Err(Invalid::Form) => {
                self.refuse(field, &text);
                return None;
            }
        };
        // Only what is outside may have variables, so the text of the others is not a secret.
        let target = parsed.map(|value| Text::from(value.as_str()));
        let (kind, name) = match &target {
            Target::Http(_) => return Some(Target::Http(text)),
            Target::File(_) => {
                let path = text.strip_prefix("file:").unwrap_or(text);
                return Some(Target::File(beside(field, path)));
            }
            Target::Unresolved(_) => {
                self.refuse(field, &text);
                return None;
            }
            Target::Function(name) => (Kind::Function, name),
            Target::StateMachine(name) => (Kind::StateMachine, name),
            Target::Queue(name) => (Kind::Queue, name),
        };
        if text.is_secret() {
            let message = "a target from the environment must be a URL or a file";
            field.cx.report(field.report(Rule::InvalidTarget, message));
            return None;
        }
        self.refer(kind, name, field);
        Some(target)
    }

    fn refuse(&self, field: &Field<'_>, text: &Text) {
        let written = text.written();
        let service = written.strip_prefix("arn:").and_then(|arn| arn.split(':').nth(1));
        let message = match service {
            Some(service) => format!("`{written}` cannot be a target: {service} is not supported"),
            None => format!("invalid target `{written}`"),
        };
        let hint = if is_name(written) {
            format!("write function:{written}, stateMachine:{written} or queue:{written}")
        } else {
            "write function:NAME, stateMachine:NAME, queue:NAME, destination:NAME, https://… or file:PATH"
                .to_owned()
        };
        field.cx.report(field.report(Rule::InvalidTarget, message).hint(hint));
    }
}

/// A relative path begins where the file is that names it.
fn beside(field: &Field<'_>, path: Text) -> Text {
    let folder = field.cx.folder.to_string_lossy();
    if folder.is_empty() || Path::new(path.as_str()).is_absolute() {
        return path;
    }
    path.after(&format!("{folder}/"))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

fn parse(text: &str) -> Result<everstep_target::Target, Invalid> {
    let parsed = everstep_target::Target::parse(text);
    parsed.or_else(|invalid| everstep_target::Target::from_arn(text).ok_or(invalid))
}
