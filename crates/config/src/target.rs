//! Targets: where results, failures and dead letters go.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use everstep_asl::nearest;

use crate::chain::Chains;
use crate::diagnostic::{Diagnostic, Rule};
use crate::model::Target;
use crate::origin::Line;
use crate::reader::{Cx, Field};
use crate::text::Text;
use crate::url;

/// What can be named, and what has been, to be compared when all is read.
#[derive(Default)]
pub(crate) struct Names {
    /// By kind.
    known: RefCell<HashMap<Kind, BTreeMap<String, Line>>>,
    destinations: RefCell<HashMap<String, Target>>,
    references: RefCell<Vec<Reference>>,
    /// What follows what, to be followed when all is read.
    pub(crate) chains: Chains,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Function,
    StateMachine,
    Queue,
    Destination,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::StateMachine => "state machine",
            Self::Queue => "queue",
            Self::Destination => "destination",
        }
    }

    /// The section that names them.
    fn section(self) -> &'static str {
        match self {
            Self::Function => "functions",
            Self::StateMachine => "stateMachines",
            Self::Queue => "queues",
            Self::Destination => "destinations",
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
        let valid = self.is_valid(kind, field);
        let line = field.line();
        let mut known = self.known.borrow_mut();
        let names = known.entry(kind).or_default();
        // Inside one file it is a repeated field, which has been reported.
        if let Some(first) = names.get(&field.name).filter(|first| first.file != line.file) {
            let message = format!("there is a {} `{}` already", kind.word(), field.name);
            let found = field.at_name(Rule::DuplicateName, message);
            field.cx.report(found.hint(format!("the first is at {first}: rename one of them")));
            return false;
        }
        names.insert(field.name.clone(), line);
        valid
    }

    fn is_valid(&self, kind: Kind, field: &Field<'_>) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        // A FIFO queue of SQS ends so.
        let stem = match kind {
            Kind::Queue => field.name.strip_suffix(".fifo").unwrap_or(&field.name),
            _ => &field.name,
        };
        let max = kind.name_length_max();
        let valid = !stem.is_empty() && stem.chars().all(plain) && field.name.len() <= max;
        if !valid {
            let message = format!("`{}` cannot be the name of a {}", field.name, kind.word());
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
        if cx.diagnostics.borrow().iter().any(|found| gaps.contains(&found.rule)) {
            return;
        }
        let known = self.known.borrow();
        for Reference { kind, name, diagnostic } in self.references.take() {
            let names = known.get(&kind);
            if names.is_some_and(|names| names.contains_key(&name)) {
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
        match parse(&text) {
            Some(Parsed::Outside(Target::File(path))) => Some(Target::File(beside(field, path))),
            Some(Parsed::Outside(Target::Http(url))) => {
                Some(Target::Http(url::checked(field, url)?))
            }
            Some(Parsed::Outside(target)) => Some(target),
            Some(Parsed::Named(..)) if text.is_secret() => {
                let message = "a target from the environment must be a URL or a file";
                field.cx.report(field.report(Rule::InvalidTarget, message));
                None
            }
            Some(Parsed::Named(kind, name)) => self.named(field, kind, &name),
            None => {
                self.refuse(field, &text);
                None
            }
        }
    }

    fn named(&self, field: &Field<'_>, kind: Kind, name: &str) -> Option<Target> {
        self.refer(kind, name, field);
        match kind {
            Kind::Function => Some(Target::Function(name.to_owned())),
            Kind::StateMachine => Some(Target::StateMachine(name.to_owned())),
            Kind::Queue => {
                let message =
                    format!("queues are not served yet: what goes to `{name}` is kept and waits");
                let found = field.report(Rule::UnservedQueue, message);
                let hint =
                    "until they are, name function:NAME, stateMachine:NAME, https://… or file:PATH";
                field.cx.report(found.hint(hint));
                Some(Target::Queue(name.to_owned()))
            }
            Kind::Destination => self.destinations.borrow().get(name).cloned(),
        }
    }

    fn refuse(&self, field: &Field<'_>, text: &Text) {
        let written = text.written();
        let service = written.strip_prefix("arn:").and_then(|arn| arn.split(':').nth(1));
        let message = match service {
            Some(service) => format!("`{written}` cannot be a target: {service} is not supported"),
            None => format!("`{written}` is no target"),
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
    let folder = field.file.folder.to_string_lossy();
    if folder.is_empty() || Path::new(path.as_str()).is_absolute() {
        return path;
    }
    path.after(&format!("{folder}/"))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

enum Parsed {
    Named(Kind, String),
    Outside(Target),
}

fn parse(text: &Text) -> Option<Parsed> {
    let named = |kind, name: &str| (!name.is_empty()).then(|| Parsed::Named(kind, name.to_owned()));
    if let Some(rest) = text.strip_prefix("file:").filter(|rest| !rest.is_empty()) {
        return Some(Parsed::Outside(Target::File(rest)));
    }
    let (scheme, rest) = text.split_once(':')?;
    match scheme {
        "http" | "https" if rest.len() > 2 && rest.starts_with("//") => {
            Some(Parsed::Outside(Target::Http(text.clone())))
        }
        "function" => named(Kind::Function, rest),
        "stateMachine" => named(Kind::StateMachine, rest),
        "queue" => named(Kind::Queue, rest),
        "destination" => named(Kind::Destination, rest),
        "arn" => arn(rest),
        _ => None,
    }
}

/// Region and account play no part: the last part is the name.
fn arn(rest: &str) -> Option<Parsed> {
    let parts: Vec<&str> = rest.split(':').collect();
    let (kind, name) = match *parts {
        [_, "lambda", _, _, "function", name] | [_, "lambda", _, _, "function", name, _] => {
            (Kind::Function, name)
        }
        [_, "sqs", _, _, name] => (Kind::Queue, name),
        [_, "states", _, _, "stateMachine", name] => (Kind::StateMachine, name),
        _ => return None,
    };
    Some(Parsed::Named(kind, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let parsed = match parse(&Text::from(text)) {
            Some(Parsed::Named(kind, name)) => format!("{kind:?} {name}"),
            Some(Parsed::Outside(target)) => format!("{target:?}"),
            None => "none".to_owned(),
        };
        assert_eq!(parsed, expected, "{text}");
    }

    #[test]
    fn targets_have_many_forms() {
        check("function:a", "Function a");
        check("stateMachine:a", "StateMachine a");
        check("queue:a.fifo", "Queue a.fifo");
        check("destination:a", "Destination a");
        check("https://host/x", "Http(\"https://host/x\")");
        check("file:out/x.jsonl", "File(\"out/x.jsonl\")");
        check("arn:aws:lambda:us-west-2:012345678901:function:a", "Function a");
        check("arn:aws:lambda:us-west-2:012345678901:function:a:$LATEST", "Function a");
        check("arn:aws-cn:sqs:cn-north-1:012345678901:my-queue", "Queue my-queue");
        check("arn:aws:states:us-west-2:012345678901:stateMachine:m", "StateMachine m");
        for wrong in [
            "",
            "a",
            "function:",
            "https:",
            "https://",
            "ftp://x",
            "file:",
            "arn:",
            "arn:aws:sns:r:a:topic",
        ] {
            check(wrong, "none");
        }
    }
}
