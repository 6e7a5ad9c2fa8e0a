//! State names: who may lead to whom.

use std::collections::HashMap;
use std::sync::Arc;

use super::reader::{Cx, Field, Trail};
use everstep_source::document::{Member, Node};
use everstep_source::{Diagnostic, Severity, nearest};

use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::{StateId, Target};
use crate::rule::Rule;

/// "The state name, whose length MUST BE less than or equal to 128 Unicode characters."
const NAME_CHARACTERS_MAX: usize = 128;

/// The service is stricter than the specification.
const SERVICE_NAME_CHARACTERS_MAX: usize = 80;

/// Which state of the whole definition, branches and processors included, has a name or a label
/// first: later ones are the duplicates.
#[derive(Default)]
pub(super) struct AllNames<'a> {
    states: HashMap<&'a str, &'a Member>,
    labels: HashMap<&'a str, &'a Node>,
}

impl<'a> AllNames<'a> {
    pub(super) fn collect(root: &'a Node) -> Self {
        let mut all = Self::default();
        all.add(root);
        all
    }

    fn add(&mut self, machine: &'a Node) {
        for member in states(machine) {
            self.states.entry(&member.name).or_insert(member);
            if let Some(label) = field(&member.value, "Label")
                && let Some(text) = label.as_str()
            {
                self.labels.entry(text).or_insert(label);
            }
            for inner in scopes(&member.value) {
                self.add(inner);
            }
        }
    }

    fn first(&self, member: &Member) -> Option<&Member> {
        self.states.get(member.name.as_str()).copied().filter(|first| !std::ptr::eq(*first, member))
    }

    /// The Map that has this label already.
    pub(super) fn first_label(&self, label: &Node) -> Option<&Node> {
        let first = self.labels.get(label.as_str()?).copied();
        first.filter(|first| !std::ptr::eq(*first, label))
    }
}

fn states(machine: &Node) -> &[Member] {
    field(machine, "States").and_then(Node::as_object).unwrap_or_default()
}

fn scopes(state: &Node) -> impl Iterator<Item = &Node> {
    let branches = field(state, "Branches").and_then(Node::as_array).unwrap_or_default();
    branches.iter().chain(field(state, "ItemProcessor")).chain(field(state, "Iterator"))
}

fn field<'a>(object: &'a Node, name: &str) -> Option<&'a Node> {
    let member = object.as_object()?.iter().find(|member| member.name == name)?;
    Some(&member.value)
}

/// The names one machine's states can transition to.
pub(crate) struct Names<'a> {
    ids: HashMap<&'a str, (StateId, Arc<str>)>,
    all: &'a AllNames<'a>,
}

impl<'a> Names<'a> {
    /// `members` are the fields of `States`, `at` its place.
    pub(super) fn new(
        cx: &Cx<'_>,
        members: &'a [Member],
        at: &Trail<'a>,
        all: &'a AllNames<'a>,
    ) -> Self {
        let mut ids = HashMap::with_capacity(members.len());
        for (index, member) in members.iter().enumerate() {
            let id = StateId(u32::try_from(index).unwrap_or(u32::MAX));
            let name = Arc::from(member.name.as_str());
            let repeated = ids.insert(member.name.as_str(), (id, name)).is_some();
            check_name(cx, member, at);
            // Twice in one object is a duplicate field, and reported as that.
            if let (false, Some(first)) = (repeated, all.first(member)) {
                cx.report(duplicate(cx, member, at, first));
            }
        }
        Self { ids, all }
    }

    pub(super) fn name(&self, name: &str) -> Arc<str> {
        self.ids.get(name).map_or_else(|| Arc::from(name), |(_, name)| name.clone())
    }

    /// The state that `field` names; a stand-in if there is none.
    pub(super) fn resolve(&self, field: &Field<'_>) -> Target {
        let Some(name) = field.string() else {
            return nowhere("");
        };
        if let Some((id, name)) = self.ids.get(name) {
            return Target { name: name.clone(), id: *id };
        }
        if !field.cx.options.lone_state {
            field.cx.report(self.unknown(field, name));
        }
        nowhere(name)
    }

    fn unknown(&self, field: &Field<'_>, name: &str) -> Diagnostic {
        let elsewhere = self.all.states.contains_key(name);
        let rule = match &*field.name {
            _ if elsewhere => Rule::TargetOutOfScope,
            "StartAt" => Rule::UnknownStartState,
            _ => Rule::UnknownTarget,
        };
        let diagnostic = if elsewhere {
            field
                .report(
                    rule,
                    format!("`{}` leads to `{name}`, which is in another scope", field.name),
                )
                .hint("states can only lead to states of the same States object")
        } else {
            // Thousands of unknown names among thousands of states would take minutes.
            let affordable = field.cx.problems() * self.ids.len() < COMPARISONS_MAX;
            let near = affordable.then(|| nearest(name, self.ids.keys().copied())).flatten();
            field.report(rule, format!("there is no state `{name}`")).did_you_mean(near)
        };
        diagnostic
            // The service says Next wherever the name stands.
            .service(format!("Missing 'Next' target: {name}"))
            .service_code(ServiceCode::MissingTransitionTarget)
    }
}

/// How many names are compared in search of the one that was meant.
const COMPARISONS_MAX: usize = 20_000;

/// Stands in for a state that does not exist.
pub(super) fn nowhere(name: &str) -> Target {
    Target { name: Arc::from(name), id: StateId(u32::MAX) }
}

fn check_name<'a>(cx: &Cx<'_>, member: &'a Member, at: &Trail<'a>) {
    let place = at.name(&member.name);
    let length = member.name.chars().count();
    if length > SERVICE_NAME_CHARACTERS_MAX {
        cx.report(name_too_long(member, &place, length));
    }
    if length == 0 {
        cx.report(Diagnostic::new(
            Rule::EmptyValue,
            member.name_span,
            place.place(),
            "a state's name must not be empty",
        ));
    }
}

/// "state names MUST be unique within the scope of the whole state machine".
fn duplicate<'a>(cx: &Cx<'_>, member: &'a Member, at: &Trail<'a>, first: &Member) -> Diagnostic {
    let line = cx.source.position(first.name_span.start).line;
    Diagnostic::new(
        Rule::DuplicateStateName,
        member.name_span,
        at.name(&member.name).place(),
        format!("there is a state `{}` already, on line {line}", member.name),
    )
    .hint("names are unique in the whole machine, branches and processors included")
    .service(format!("Duplicate State name: {}", member.name))
    .service_code(ServiceCode::DuplicateStateName)
}

fn name_too_long(member: &Member, place: &Trail<'_>, length: usize) -> Diagnostic {
    let (severity, message) = if length > NAME_CHARACTERS_MAX {
        (
            Severity::Error,
            format!(
                "a state's name has at most {NAME_CHARACTERS_MAX} characters; this one has {length}"
            ),
        )
    } else {
        (
            Severity::Warning,
            format!(
                "AWS takes at most {SERVICE_NAME_CHARACTERS_MAX} characters in a state's name; this one has {length}"
            ),
        )
    };
    Diagnostic::new(Rule::StateNameTooLong, member.name_span, place.place(), message)
        .severity(severity)
        .service(format!(
            "Invalid State name: State '{}' exceeds the {SERVICE_NAME_CHARACTERS_MAX}-character limit \
             allowed by the service",
            member.name
        ))
        .service_code(ServiceCode::InvalidStateName)
}
