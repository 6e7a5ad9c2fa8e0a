//! `triggers`: what starts functions and state machines.

mod file;
mod http;
pub(crate) mod model;
pub(crate) mod timer;

use everstep_retry::{Class, Delay, Jitter, Policy, Rule as PolicyRule};
use everstep_target::ExecutionName;

use crate::function::own;
use crate::model::Target;
use crate::origin::Given;
use crate::reader::{Field, Fields, Setting};
use crate::retry;
use crate::rule::Rule;
use crate::target::Names;
use model::{Trigger, TriggerKind};

/// How many may be accepted and not over, by default and at most.
const BACKLOG: u32 = 1000;
const BACKLOG_MAX: u32 = 10_000;

/// Kinds that are known and not there yet.
const LATER: [&str; 9] =
    ["queue", "rabbitmq", "sqs", "nats", "redis", "postgres", "kafka", "azure-queue", "azure-blob"];

#[derive(Clone, Copy)]
enum Kind {
    Timer,
    Http,
    File,
}

const KINDS: &[(&str, Kind)] =
    &[("timer", Kind::Timer), ("http", Kind::Http), ("file", Kind::File)];

pub(crate) fn trigger(field: &Field<'_>, names: &Names) -> Option<Trigger> {
    let fields = field.settings(format!("trigger `{}`", field.name))?;
    let kind = kind(&fields)?;
    let target = fields.require("target").and_then(|field| target(&field, names));
    let enabled = fields.get("enabled").map_or(Some(true), |field| field.boolean());
    let policy = own(&fields, "retry", retry::policy);
    let max_event_age_ms = own(&fields, "maxEventAge", Setting::positive_duration);
    let max_backlog =
        fields.get("maxBacklog").map_or(Some(BACKLOG), |field| field.integer(1..=BACKLOG_MAX));
    let execution_name =
        fields.get("executionName").map(|field| execution_name(&field, target.as_ref()));
    let kind = match kind {
        Kind::Timer => timer::timer(&fields).map(TriggerKind::Timer),
        Kind::Http => http::http(&fields).map(TriggerKind::Http),
        Kind::File => file::folder(&fields).map(TriggerKind::File),
    };
    fields.finish_plain();
    let (kind, target) = (kind?, target?);
    Some(Trigger {
        name: field.name.clone().into_owned(),
        line: field.line(),
        kind,
        policy: policy.or_else(|| starting_policy(&target)),
        target,
        execution_name: execution_name.unwrap_or(Some(None))?,
        max_event_age_ms,
        max_backlog: max_backlog?,
        enabled: enabled?,
    })
}

fn kind(fields: &Fields<'_>) -> Option<Kind> {
    let field = fields.require("kind")?;
    if let Some(later) = LATER.iter().find(|later| field.node.as_str() == Some(later)) {
        let message = format!("triggers of kind `{later}` are not supported yet");
        let found = field.report(Rule::NotSupported, message);
        field.cx.report(found.hint("use timer, http or file"));
        return None;
    }
    field.word(KINDS)
}

fn target(field: &Field<'_>, names: &Names) -> Option<Target> {
    let target = names.target(field)?;
    if matches!(target, Target::Function(_) | Target::StateMachine(_)) {
        return Some(target);
    }
    let message = "a trigger starts a function or a state machine";
    let found = field.report(Rule::InvalidTarget, message);
    field.cx.report(found.hint("write function:NAME or stateMachine:NAME"));
    None
}

/// None if it is wrong.
fn execution_name(field: &Field<'_>, target: Option<&Target>) -> Option<Option<ExecutionName>> {
    let written = field.plain()?;
    let refuse = |message: String, hint: &str| {
        field.cx.report(field.report(Rule::UnknownValue, message).hint(hint));
    };
    let name = match ExecutionName::parse(written) {
        Ok(name) => name,
        Err(unknown) => {
            refuse(format!("invalid name `{written}`"), &unknown.to_string());
            return None;
        }
    };
    if !name.names_the_item() {
        refuse(
            format!("all executions would have the name `{written}`"),
            "add {messageId}: each message has its own",
        );
        return None;
    }
    if matches!(target, Some(Target::Function(_))) {
        let found = field.at_name(Rule::MisplacedField, "a function has no executions to be named");
        field
            .cx
            .report(found.hint("remove `executionName`, or write stateMachine:NAME as the target"));
        return None;
    }
    Some(Some(name))
}

/// A state machine is started for certain: what keeps it from starting is not its fault.
pub(crate) fn starting_policy(target: &Target) -> Option<Given<Policy>> {
    let Target::StateMachine(_) = target else { return None };
    let delay = Delay::Exponential {
        base_ms: 1000,
        rate: 2.0,
        max_ms: Some(300_000),
        jitter: Jitter::None,
    };
    let errors = vec![Class::ALL.to_owned()];
    let rule = PolicyRule { errors, retries_max: None, delay };
    Some(Given::built_in(Policy { rules: vec![rule], non_retryable: Vec::new() }))
}

/// A trigger that a function's own files or blocks ask for.
pub(crate) fn of_function(
    name: String,
    function: &str,
    field: &Field<'_>,
    timer: model::Timer,
) -> Trigger {
    Trigger {
        name,
        line: field.line(),
        kind: TriggerKind::Timer(timer),
        target: Target::Function(function.to_owned()),
        execution_name: None,
        policy: None,
        max_event_age_ms: None,
        max_backlog: BACKLOG,
        enabled: true,
    }
}
