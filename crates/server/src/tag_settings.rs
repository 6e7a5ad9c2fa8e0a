//! Settings of a state machine that AWS Step Functions does not have: `everstep:dialect` and `everstep:onFailure`.
//! They are tags, so that they are stored and shown with the machine and any SDK can set them. The server also
//! records which file it created a machine from, in `everstep:from`.
//!
//! An execution keeps the settings it was started with.

use std::collections::BTreeMap;

use everstep_api::protocol::{Common, Error};
use everstep_interpreter::Dialect;
use everstep_target::{Invalid, Target};

use crate::catalog::Machine;
use crate::service::Service;

/// The prefix of their keys.
const PREFIX: &str = "everstep:";
/// The dialect of its executions: `spec` or `aws`.
pub const DIALECT: &str = "everstep:dialect";
/// The target to notify of executions that do not succeed, as in `everstep.yaml`.
pub const ON_FAILURE: &str = "everstep:onFailure";

/// The file that the machine was created from. Only recorded.
pub const FROM: &str = "everstep:from";

/// Checks notification targets. Called when a machine is created or tagged, not when it fails.
pub trait Targets: Send + Sync {
    /// Why a target cannot be notified, if so.
    fn problem(&self, target: &str) -> Option<String>;
}

/// Checks the syntax of targets, and nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Syntax;

impl Targets for Syntax {
    fn problem(&self, target: &str) -> Option<String> {
        let is_name = |name: &str| {
            name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        };
        let why = match Target::parse(target) {
            Ok(target) if target.has_variables() => {
                "only targets in everstep.yaml can have variables"
            }
            Ok(Target::Function(name) | Target::StateMachine(name)) if is_name(&name) => {
                return None;
            }
            Ok(Target::Queue(name)) if everstep_queues::is_name(&name) => return None,
            Ok(Target::Http(_)) => return None,
            // A caller of the API must not write wherever the server may.
            Ok(Target::File(_)) => "a file can only be named in everstep.yaml",
            Ok(_) | Err(Invalid::Form) => {
                "invalid target: use function:NAME, stateMachine:NAME, queue:NAME or https://..."
            }
            Err(Invalid::Url(why)) => return Some(format!("invalid target: {why}")),
        };
        Some(why.to_owned())
    }
}

/// The settings of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TagSettings {
    pub(crate) dialect: Option<Dialect>,
    pub(crate) on_failure: Option<String>,
}

impl TagSettings {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self {
            dialect: machine.tags.get(DIALECT).and_then(|name| Dialect::find(name)),
            on_failure: machine.tags.get(ON_FAILURE).filter(|_| !machine.express).cloned(),
        }
    }
}

/// A resource with tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder<'a> {
    /// A STANDARD state machine, by its name.
    Standard(&'a str),
    Express,
    Activity,
}

impl<'a> Holder<'a> {
    pub(crate) fn of(machine: &'a Machine) -> Self {
        if machine.express { Self::Express } else { Self::Standard(&machine.name) }
    }
}

/// Whether a tag is a setting, or was meant to be.
pub(crate) fn is_own(key: &str) -> bool {
    key.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Refuses settings that do not exist or are invalid.
pub(crate) fn check(
    service: &Service,
    holder: Holder<'_>,
    tags: &BTreeMap<String, String>,
) -> Result<(), Error> {
    for (key, value) in tags.iter().filter(|(key, _)| is_own(key)) {
        if let Some(problem) = problem(&*service.targets, holder, key, value) {
            return Err(Error::common(Common::Validation, problem));
        }
    }
    Ok(())
}

fn problem(targets: &dyn Targets, holder: Holder<'_>, key: &str, value: &str) -> Option<String> {
    match (key, holder) {
        (_, Holder::Activity) => {
            Some(format!("The tag '{key}' is a setting of state machines, not of activities"))
        }
        (FROM, _) => None,
        (DIALECT, _) if Dialect::find(value).is_some() => None,
        (DIALECT, _) => Some(format!("The tag '{key}' must be 'spec' or 'aws', not '{value}'")),
        (ON_FAILURE, Holder::Express) => Some(format!(
            "The tag '{key}' cannot be set for an EXPRESS state machine: its executions are not stored, \
             so a failure may be lost in a crash"
        )),
        (ON_FAILURE, Holder::Standard(name)) => {
            let itself = value.strip_prefix("stateMachine:") == Some(name);
            let endless = || {
                "a state machine cannot be notified of its own failures: that would never end"
                    .to_owned()
            };
            let problem = itself.then(endless).or_else(|| targets.problem(value))?;
            Some(format!("The tag '{key}' cannot be '{value}': {problem}"))
        }
        _ => Some(format!(
            "The tag '{key}' is not a setting: use '{DIALECT}' (spec or aws) or '{ON_FAILURE}' (the target to notify \
             of failed executions)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: Holder<'_> = Holder::Standard("m");

    fn check(holder: Holder<'_>, key: &str, value: &str, expected: Option<&str>) {
        let found = problem(&Syntax, holder, key, value);
        match (&found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            _ => panic!("{key} {value}: {found:?}"),
        }
    }

    #[test]
    fn settings_are_known_by_their_names() {
        check(STANDARD, DIALECT, "aws", None);
        check(Holder::Express, DIALECT, "spec", None);
        check(STANDARD, FROM, "/srv/everstep.yaml", None);
        check(Holder::Express, FROM, "", None);
        check(Holder::Activity, FROM, "/srv/everstep.yaml", Some("not of activities"));
        check(STANDARD, DIALECT, "AWS", Some("must be 'spec' or 'aws', not 'AWS'"));
        check(STANDARD, "everstep:onfailure", "function:f", Some("'everstep:onFailure'"));
        check(Holder::Express, ON_FAILURE, "function:f", Some("EXPRESS"));
        check(Holder::Activity, DIALECT, "aws", Some("not of activities"));
        assert!(is_own("Everstep:x") && !is_own("everstep") && !is_own("my:everstep:x"));
        assert!(!is_own("éééééééé"));
    }

    #[test]
    fn targets_that_can_be_named_by_a_tag() {
        let check = |target, expected| check(STANDARD, ON_FAILURE, target, expected);
        check("function:tell-me", None);
        check("stateMachine:undo_it", None);
        check("https://example.com/x?y=1&z=%20", None);
        check("http://127.0.0.1:8080/", None);
        check("file:/tmp/x", Some("everstep.yaml"));
        check("https://example.com/${env:KEY}", Some("everstep.yaml"));
        check("queue:q.fifo", None);
        check("queue:a/b", Some("invalid target"));
        check("stateMachine:m", Some("never end"));
        for wrong in ["", "f", "function:", "function:a b", "https://", "https:///x", "ftp://x"] {
            check(wrong, Some("invalid target"));
        }
    }
}
