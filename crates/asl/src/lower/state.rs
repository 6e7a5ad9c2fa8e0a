//! One state: what all types share, then its own type's file.

use super::names::{AllNames, Names};
use super::reader::{Close as _, Cx, Field, Fields, Misplaced, Trail};
use super::{choice, fail, flow, machine, map, parallel, pass, task, wait, weight};
use everstep_source::Diagnostic;
use everstep_source::document::{Content, Member, Node};

use crate::diagnostic::InServiceWords as _;
use crate::model::{DataFlow, Kind, Pass, QueryLanguage, State, Transition};
use crate::rule::Rule;

const TYPES: &[&str] = &["Task", "Wait", "Pass", "Succeed", "Fail", "Choice", "Parallel", "Map"];

/// What a state sees around it.
pub(crate) struct Surroundings<'s> {
    pub(super) names: &'s Names<'s>,
    pub(super) all: &'s AllNames<'s>,
    pub(super) machine_language: QueryLanguage,
}

/// A state while its fields are read.
pub(crate) struct Reading<'a, 'p> {
    pub(super) fields: Fields<'a>,
    pub(super) language: QueryLanguage,
    pub(super) around: &'p Surroundings<'p>,
}

impl Reading<'_, '_> {
    pub(super) fn is_jsonata(&self) -> bool {
        self.language == QueryLanguage::Jsonata
    }
}

pub(super) fn lower<'a>(
    cx: &'a Cx<'a>,
    member: &'a Member,
    states: &Trail<'a>,
    around: &Surroundings<'_>,
) -> State {
    let mut state = State {
        name: around.names.name(&member.name),
        name_span: member.name_span,
        span: member.value.span,
        comment: None,
        query_language: around.machine_language,
        reads_context: reads(&member.value, &|_| true),
        reads_execution_input: reads(&member.value, &may_be_execution_input),
        is_light: weight::is_light(&member.value),
        flow: DataFlow::default(),
        assign: None,
        kind: Kind::Pass(Pass { result: None, transition: Transition::End }),
    };
    let Some(fields) = Field::of(cx, member, states).fields("a state") else {
        return state;
    };
    let Some(kind) = state_type(&fields) else {
        return state;
    };
    let fields = fields.named(format!("a {kind} state"));
    state.comment = fields.string("Comment").map(str::to_owned);
    state.query_language = language(&fields, around.machine_language);
    let reading = Reading { fields, language: state.query_language, around };
    state.flow = flow::lower(&reading, kind);
    if !matches!(kind, "Succeed" | "Fail") {
        state.assign = flow::assign(&reading.fields, reading.language, flow::available_after(kind));
    }
    state.kind = match kind {
        "Pass" => pass::lower(&reading),
        "Task" => task::lower(&reading),
        "Choice" => choice::lower(&reading),
        "Wait" => wait::lower(&reading),
        "Fail" => fail::lower(&reading),
        "Parallel" => parallel::lower(&reading),
        "Map" => map::lower(&reading),
        _ => Kind::Succeed,
    };
    let language = reading.language;
    reading.fields.close(|name| elsewhere(name, kind, language));
    state
}

/// Whether a text inside could read a part of the context object: `$$`, `$states.context`, or all
/// of `$states`. The part is what follows.
fn reads(node: &Node, part: &dyn Fn(&str) -> bool) -> bool {
    match &node.content {
        Content::String(text) => {
            let after = |name: &'static str| {
                text.match_indices(name).map(move |(at, _)| &text[at + name.len()..])
            };
            let other = |rest: &&str| {
                ![".input", ".result", ".errorOutput"].iter().any(|part| rest.starts_with(part))
            };
            let mut states = after("$states").filter(other);
            after("$$").any(part)
                || states.any(|rest| part(rest.strip_prefix(".context").unwrap_or_default()))
        }
        Content::Array(elements) => elements.iter().any(|element| reads(element, part)),
        Content::Object(members) => members
            .iter()
            .filter(|member| !matches!(&*member.name, "States" | "Comment"))
            .any(|member| reads(&member.value, part)),
        _ => false,
    }
}

/// Whether the part of the context object that this begins with could hold the execution's input.
fn may_be_execution_input(part: &str) -> bool {
    let others = [
        ".Map",
        ".State",
        ".Task",
        ".Execution.Id",
        ".Execution.Name",
        ".Execution.RedriveCount",
        ".Execution.RoleArn",
        ".Execution.StartTime",
    ];
    !others.iter().any(|other| part.starts_with(other))
}

fn state_type(fields: &Fields<'_>) -> Option<&'static str> {
    let field = fields.require("Type")?;
    let text = field.string()?;
    let found = TYPES.iter().copied().find(|kind| *kind == text);
    if found.is_none() {
        field.cx.report(unknown_type(&field, text));
    }
    found
}

fn unknown_type(field: &Field<'_>, text: &str) -> Diagnostic {
    let found = field.unknown_word(text, TYPES);
    Diagnostic { code: Rule::UnknownStateType.name(), ..found }.service(format!(
        "The field 'Type' should have one of these values: [{}]",
        TYPES.join(", ")
    ))
}

/// "A step down from JSONata to JSONPath is rejected."
fn language(fields: &Fields<'_>, machine_language: QueryLanguage) -> QueryLanguage {
    let own = machine::query_language(fields);
    if let (Some(QueryLanguage::JsonPath), QueryLanguage::Jsonata, Some(field)) =
        (own, machine_language, fields.get("QueryLanguage"))
    {
        field.cx.report(
            field
                .report(
                    Rule::QueryLanguageDowngrade,
                    "a state of a JSONata machine cannot use JSONPath",
                )
                .hint("drop the machine's QueryLanguage and give it to the states that use JSONata")
                .service("'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine")
                .service_location(Some(fields.at.place().service_location())),
        );
    }
    own.unwrap_or(machine_language)
}

/// `Next` or `End`.
pub(super) fn transition(reading: &Reading<'_, '_>) -> Transition {
    let fields = &reading.fields;
    let end = fields.get("End").and_then(|field| field.boolean());
    match (fields.get("Next"), end) {
        (Some(next), Some(true)) => {
            let found = fields.exclusive("Next", "End", next.name_span);
            fields.cx.report(found.hint("a state either ends the machine or leads to another"));
            Transition::Next(reading.around.names.resolve(&next))
        }
        (Some(next), _) => Transition::Next(reading.around.names.resolve(&next)),
        (None, Some(true)) => Transition::End,
        // `End` is there, and reported for what it is.
        (None, None) if fields.has("End") => Transition::End,
        (None, _) => {
            if !fields.cx.options.lone_state {
                fields.cx.report(
                    Diagnostic::new(
                        Rule::MissingTransition,
                        fields.head,
                        fields.at.place(),
                        format!("{} needs `Next` or `\"End\": true`", fields.owner),
                    )
                    .service(
                        "This object should have only one of the following fields: [Next, End]",
                    ),
                );
            }
            Transition::End
        }
    }
}

/// Why a field of the language cannot stand in this state.
fn elsewhere(name: &str, kind: &str, language: QueryLanguage) -> Option<Misplaced> {
    if let Some(hint) = flow::of_other_language(name, language) {
        return Some(Misplaced::in_language(language, hint));
    }
    let places = match name {
        "Next" | "End" if kind == "Choice" => "its rules have Next, it has Default",
        "Next" | "End" => "this state ends the machine, or the branch or iteration it is in",
        "InputPath" | "OutputPath" => "every state has it but Fail",
        "Parameters" => "Task, Pass, Parallel and Map states have it",
        "Arguments" => "Task and Parallel states have it",
        "Output" => "every state has it but Fail",
        "Assign" => "every state has it but Succeed and Fail",
        "ResultPath" => "Task, Pass, Parallel and Map states have it",
        "ResultSelector" | "Retry" | "Catch" => "Task, Parallel and Map states have it",
        "Result" => "Pass states have it",
        "Resource"
        | "TimeoutSeconds"
        | "TimeoutSecondsPath"
        | "HeartbeatSeconds"
        | "HeartbeatSecondsPath"
        | "Credentials" => "Task states have it",
        "Choices" | "Default" => "Choice states have it",
        "Seconds" | "SecondsPath" | "Timestamp" | "TimestampPath" => "Wait states have it",
        "Error" | "ErrorPath" | "Cause" | "CausePath" => "Fail states have it",
        "Branches" => "Parallel states have it",
        "Iterator"
        | "ItemProcessor"
        | "ItemsPath"
        | "Items"
        | "ItemSelector"
        | "ItemReader"
        | "ItemBatcher"
        | "ResultWriter"
        | "MaxConcurrency"
        | "MaxConcurrencyPath"
        | "Label"
        | "ToleratedFailureCount"
        | "ToleratedFailureCountPath"
        | "ToleratedFailurePercentage"
        | "ToleratedFailurePercentagePath" => "Map states have it",
        "StartAt" | "States" => "machines, branches and processors have it",
        _ => return None,
    };
    Some(Misplaced::here(places))
}

/// The array a field holds, read element by element as objects.
pub(super) fn objects<'a, T>(
    field: &Field<'a>,
    owner: &'static str,
    mut read: impl FnMut(usize, &Fields<'a>) -> T,
) -> Vec<T> {
    let Some(elements) = field.elements() else {
        return Vec::new();
    };
    let mut all = Vec::with_capacity(elements.len());
    for (index, element) in elements.into_iter().enumerate() {
        if let Some(fields) = element.fields(owner) {
            all.push(read(index, &fields));
        }
    }
    all
}
