//! Machines: the outermost one, branches and processors.

use super::names::{AllNames, Names, nowhere};
use super::reader::{Close as _, Cx, Field, Fields, Misplaced};
use super::state::{self, Surroundings};
use everstep_source::document::Node;

use crate::diagnostic::InServiceWords as _;
use crate::model::{Machine, QueryLanguage, StateId};
use crate::rule::Rule;

/// Longer than the service lets any execution run.
pub(super) const SECONDS_MAX: u64 = 99_999_999;

/// The whole definition.
pub(crate) fn lower<'a>(cx: &'a Cx<'a>, root: &'a Node) -> Option<Machine> {
    let all = AllNames::collect(root);
    let fields = Field::root(cx, "the definition", root).fields("a state machine")?;
    check_version(&fields);
    let query_language = query_language(&fields).unwrap_or_default();
    let timeout_seconds =
        fields.get("TimeoutSeconds").and_then(|field| field.integer(0..=SECONDS_MAX));
    let machine = body(&fields, query_language, &all);
    fields.close(only_outside);
    Some(Machine { timeout_seconds, ..machine })
}

/// A branch of a Parallel state, or the processor of a Map state (whose own fields the caller has
/// asked for).
pub(super) fn inner<'a>(fields: &Fields<'a>, around: &Surroundings<'a>) -> Machine {
    body(fields, around.machine_language, around.all)
}

fn body<'a>(fields: &Fields<'a>, query_language: QueryLanguage, all: &AllNames<'a>) -> Machine {
    let comment = fields.string("Comment").map(str::to_owned);
    let (start_at, states) = (fields.get("StartAt"), fields.get("States"));
    let missing: Vec<&str> = [("States", states.is_none()), ("StartAt", start_at.is_none())]
        .into_iter()
        .filter_map(|(name, missing)| missing.then_some(name))
        .collect();
    if !missing.is_empty() {
        fields.cx.report(fields.missing(&missing));
    }
    let mut machine = Machine {
        comment,
        timeout_seconds: None,
        query_language,
        start_at: nowhere("").id,
        states: Vec::new(),
    };
    let Some(states) = states else { return machine };
    let Some(members) = states.node.as_object() else {
        states.cx.report(states.wrong_type("an object"));
        return machine;
    };
    let names = Names::new(fields.cx, members, &states.at, all);
    if members.is_empty() {
        fields.cx.report(
            states
                .report(Rule::EmptyValue, "`States` must hold at least one state")
                .service("Value cannot be empty"),
        );
    } else if let Some(start_at) = start_at {
        machine.start_at = names.resolve(&start_at).id;
    } else {
        // A stand-in for what is missing: the first state is what most machines start with.
        machine.start_at = StateId(0);
    }
    let around = Surroundings { names: &names, all, machine_language: query_language };
    machine.states =
        members.iter().map(|member| state::lower(fields.cx, member, &states.at, &around)).collect();
    machine
}

fn check_version(fields: &Fields<'_>) {
    let Some(field) = fields.get("Version") else {
        return;
    };
    match field.string() {
        Some("1.0") | None => {}
        Some(other) => field.cx.report(
            field
                .report(
                    Rule::UnsupportedVersion,
                    format!("version `{other}` of the language is not known"),
                )
                .hint("the only version is \"1.0\"")
                .service("Value should be one of the following: [1.0]"),
        ),
    }
}

pub(super) fn query_language(fields: &Fields<'_>) -> Option<QueryLanguage> {
    match fields.get("QueryLanguage")?.one_of(&["JSONPath", "JSONata"])? {
        "JSONata" => Some(QueryLanguage::Jsonata),
        _ => Some(QueryLanguage::JsonPath),
    }
}

/// What a branch or a processor is asked to have, but only the machine around it has.
pub(super) fn only_of_machine(name: &str) -> Option<Misplaced> {
    let hint = match name {
        "QueryLanguage" => "the whole machine has it, or a single state",
        "TimeoutSeconds" | "Version" => "the whole machine has it",
        "ProcessorConfig" => "it belongs into the ItemProcessor of a Map state",
        "Type" | "Next" | "End" | "Retry" | "Catch" => "the state around it has it",
        _ => return None,
    };
    Some(Misplaced::here(hint))
}

fn only_outside(name: &str) -> Option<Misplaced> {
    let hint = match name {
        "ProcessorConfig" => "it belongs into the ItemProcessor of a Map state",
        "Type" | "Next" | "End" => "this is the machine itself: states stand in `States`",
        _ => return None,
    };
    Some(Misplaced::here(hint))
}
