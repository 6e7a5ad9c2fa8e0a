//! Workflow variables: who reads them, who assigns them, who must not.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use everstep_expr::jsonata;
use everstep_source::{Diagnostic, Place};

use crate::lower::Cx;
use crate::model::{
    Assign, Catcher, Comparand, Condition, DataFlow, Items, JsonPathFlow, Kind, Machine, Map, Mode,
    Operand, OptionalPath, Payload, State, Text, WaitUntil,
};
use crate::rule::Rule;

/// The variables each state reads, by the state's name: `variableReferences` of
/// `DescribeStateMachine`. States that read none are left out.
#[must_use]
pub fn references(machine: &Machine) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    machine.each_state(&mut |state, _, _| {
        let mut names = BTreeSet::new();
        read_by(state, &mut |name| {
            names.insert(name.to_owned());
        });
        if !names.is_empty() {
            all.insert(state.name.to_string(), names);
        }
    });
    all
}

/// Names that are read but assigned nowhere, and names that an inner scope takes from an outer one.
pub(crate) fn check(cx: &Cx<'_>, machine: &Machine) {
    check_scope(cx, machine, &Place::root(), &HashSet::new());
}

fn check_scope<'m>(cx: &Cx<'_>, machine: &'m Machine, place: &Place, outer: &HashSet<&'m str>) {
    let mut visible = outer.clone();
    for state in &machine.states {
        let place = place.field("States").field(&state.name);
        for name in assigned_by(state) {
            if outer.contains(name) {
                cx.report(shadows(state, &place, name));
            }
            visible.insert(name);
        }
    }
    for state in &machine.states {
        let place = place.field("States").field(&state.name);
        let mut unknown = BTreeSet::new();
        read_by(state, &mut |name| {
            if !visible.contains(name) {
                unknown.insert(name.to_owned());
            }
        });
        for name in unknown {
            cx.report(unassigned(state, &place, &name));
        }
        let inherited = inherited_by(machine, state, outer);
        for (inner, at) in state.scopes(&place) {
            check_scope(cx, inner, &at, &inherited);
        }
    }
}

/// What the machines inside a state can see. Its own assignments come when they are done; and a
/// distributed Map's children, executions of their own, see nothing.
fn inherited_by<'m>(
    machine: &'m Machine,
    state: &'m State,
    outer: &HashSet<&'m str>,
) -> HashSet<&'m str> {
    match &state.kind {
        Kind::Map(map) if map.mode != Mode::Inline => HashSet::new(),
        Kind::Map(_) | Kind::Parallel(_) => {
            let others = machine.states.iter().filter(|other| !std::ptr::eq(*other, state));
            outer.iter().copied().chain(others.flat_map(assigned_by)).collect()
        }
        _ => HashSet::new(),
    }
}

fn shadows(state: &State, place: &Place, name: &str) -> Diagnostic {
    Diagnostic::new(
        Rule::VariableShadowsOuter,
        state.name_span,
        place.field("Assign"),
        format!(
            "`{name}` is a variable of an outer scope, which states in here can read but not assign"
        ),
    )
    .hint("choose another name, and hand the value out as the state's output")
}

fn unassigned(state: &State, place: &Place, name: &str) -> Diagnostic {
    Diagnostic::new(
        Rule::UnassignedVariable,
        state.name_span,
        place.clone(),
        format!(
            "`{}` reads the variable `${name}`, but no state that it can see assigns it",
            state.name
        ),
    )
    .hint(format!(
        "a field of the input is `$.{name}` in JSONPath and `$states.input.{name}` in JSONata"
    ))
}

fn assigned_by(state: &State) -> impl Iterator<Item = &str> {
    let rules = match &state.kind {
        Kind::Choice(choice) => choice.rules.as_slice(),
        _ => &[],
    };
    let assigns = state
        .assign
        .iter()
        .chain(rules.iter().filter_map(|rule| rule.assign.as_ref()))
        .chain(state.catch().iter().filter_map(|catcher| catcher.assign.as_ref()));
    assigns.flat_map(|assign| assign.names.iter().map(String::as_str))
}

type Into<'i> = &'i mut dyn FnMut(&str);

fn read_by(state: &State, into: Into<'_>) {
    match &state.flow {
        DataFlow::JsonPath(flow) => read_by_paths(flow, into),
        DataFlow::Jsonata(flow) => {
            template(flow.arguments.as_ref(), into);
            template(flow.output.as_ref(), into);
        }
    }
    assign(state.assign.as_ref(), into);
    match &state.kind {
        Kind::Task(task) => {
            operand(task.timeout.as_ref(), into);
            operand(task.heartbeat.as_ref(), into);
            payload(task.credentials.as_ref(), into);
        }
        Kind::Choice(choice) => {
            for rule in &choice.rules {
                condition(&rule.condition, into);
                assign(rule.assign.as_ref(), into);
                template(rule.output.as_ref(), into);
            }
        }
        Kind::Wait(wait) => match &wait.until {
            WaitUntil::Seconds(seconds) => operand(Some(seconds), into),
            WaitUntil::Timestamp(moment) => operand(Some(moment), into),
        },
        Kind::Fail(fail) => {
            text(fail.error.as_ref(), into);
            text(fail.cause.as_ref(), into);
        }
        Kind::Map(map) => read_by_map(map, into),
        Kind::Pass(_) | Kind::Succeed | Kind::Parallel(_) => {}
    }
    for catcher in state.catch() {
        read_by_catcher(catcher, into);
    }
}

fn read_by_paths(flow: &JsonPathFlow, into: Into<'_>) {
    for path in [&flow.input_path, &flow.output_path] {
        if let OptionalPath::Path(path) = path {
            path.variables(into);
        }
    }
    for template in [&flow.parameters, &flow.result_selector].into_iter().flatten() {
        template.variables(into);
    }
}

fn read_by_map(map: &Map, into: Into<'_>) {
    match &map.items {
        Items::Whole => {}
        Items::Path(path) => path.variables(into),
        Items::Jsonata(items) => items.variables(into),
    }
    payload(map.item_selector.as_ref(), into);
    operand(map.max_concurrency.as_ref(), into);
    operand(map.tolerated_failure_count.as_ref(), into);
    operand(map.tolerated_failure_percentage.as_ref(), into);
    if let Some(reader) = &map.item_reader {
        payload(reader.arguments.as_ref(), into);
        operand(reader.config.max_items.as_ref(), into);
    }
    if let Some(batcher) = &map.item_batcher {
        operand(batcher.max_items.as_ref(), into);
        operand(batcher.max_input_bytes.as_ref(), into);
        payload(batcher.batch_input.as_ref(), into);
    }
    if let Some(writer) = &map.result_writer {
        payload(writer.arguments.as_ref(), into);
    }
}

fn read_by_catcher(catcher: &Catcher, into: Into<'_>) {
    assign(catcher.assign.as_ref(), into);
    template(catcher.output.as_ref(), into);
}

fn condition(found: &Condition, into: Into<'_>) {
    match found {
        Condition::And(all) | Condition::Or(all) => {
            all.iter().for_each(|inner| condition(inner, into));
        }
        Condition::Not(inner) => condition(inner, into),
        Condition::Type { variable, .. } | Condition::Matches { variable, .. } => {
            variable.variables(into);
        }
        Condition::Compare { variable, comparison } => {
            variable.variables(into);
            if let Comparand::Path(_, path) = &comparison.with {
                path.variables(into);
            }
        }
        Condition::Jsonata(expression) => expression.variables(into),
        Condition::Constant(_) => {}
    }
}

fn assign(found: Option<&Assign>, into: Into<'_>) {
    payload(found.map(|assign| &assign.payload), into);
}

fn payload(found: Option<&Payload>, into: Into<'_>) {
    match found {
        Some(Payload::JsonPath(template)) => template.variables(into),
        Some(Payload::Jsonata(template)) => template.variables(into),
        None => {}
    }
}

fn template(found: Option<&jsonata::Template>, into: Into<'_>) {
    if let Some(template) = found {
        template.variables(into);
    }
}

fn operand<T>(found: Option<&Operand<T>>, into: Into<'_>) {
    match found {
        Some(Operand::Path(path)) => path.variables(into),
        Some(Operand::Jsonata(expression)) => expression.variables(into),
        Some(Operand::Literal(_)) | None => {}
    }
}

fn text(found: Option<&Text>, into: Into<'_>) {
    match found {
        Some(Text::Expression(expression)) => expression.variables(into),
        Some(Text::Jsonata(expression)) => expression.variables(into),
        Some(Text::Literal(_)) | None => {}
    }
}
