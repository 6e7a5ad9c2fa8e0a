//! `functions`: how each runs, what is retried, and where results and failures go.

use everstep_retry::Policy;
use everstep_source::document::Content;

use crate::model::{
    Bootstrap, Defaults, Edge, Function, Idempotent, InputType, InterruptedAttempts, RetryMetadata,
    Target, Trigger,
};
use crate::origin::{Given, Origin};
use crate::reader::{Field, Fields, Setting};
use crate::rule::Rule;
use crate::runtime;
use crate::sam::{self, EventInvokeConfig};
use crate::target::{Kind, Names};
use crate::text::Text;
use crate::{azure, retry};

/// As the States Language has it for a task.
const TIMEOUT_MS: u64 = 60_000;
/// Lambda's, and only where the policy is Lambda's too.
const EVENT_AGE_MS: u64 = 6 * 3_600_000;
const IDLE_TIMEOUT_MS: u64 = 600_000;
const INTERRUPTIONS_MAX: u32 = 5;
/// Processes of a function that does not say how many.
const CONCURRENCY: u32 = 16;

/// A function, and the triggers that its own files and blocks ask for.
pub(crate) fn function(
    field: &Field<'_>,
    names: &Names,
    defaults: &Defaults,
) -> Option<(Function, Vec<Trigger>)> {
    let fields = field.settings(format!("function `{}`", field.name))?;
    let owner = field.name.as_ref();
    let code = runtime::code(&fields);
    let mut handling = Handling::read(&field.name, &fields, names);
    let events = fields.get("Events").map(|field| sam::events(&field, owner, names));
    let env = fields.get("env").map_or(Some(Vec::new()), |field| env(&field));
    let timeout_ms = own(&fields, "timeout", Setting::positive_duration);
    let concurrency = own(&fields, "concurrency", |field| field.count(0));
    let memory_mib = setting(&fields, "memory", |field| field.count(1));
    let most = concurrency.as_ref().or(defaults.concurrency.as_ref());
    let min_instances = setting(&fields, "minInstances", |field| min_instances(field, most));
    let idle_timeout_ms = setting(&fields, "idleTimeout", Setting::duration);
    let max_invocations = setting(&fields, "maxInvocations", |field| field.count(1));
    let bootstrap = setting(&fields, "bootstrap", |field| field.word(BOOTSTRAPS));
    let retry_metadata = setting(&fields, "retryMetadata", |field| field.word(METADATA));
    let idempotent = setting(&fields, "idempotent", |field| field.word(IDEMPOTENT));
    let interrupted = setting(&fields, "interruptedAttempts", |field| field.word(INTERRUPTED));
    let max_interruptions = setting(&fields, "maxInterruptions", |field| field.count(0));
    let compensate = setting(&fields, "compensate", |field| {
        let name = field.plain()?;
        names.refer(Kind::Function, name, field);
        Some(name.to_owned())
    });
    fields.finish(|name| {
        let hint = "triggers have a section of their own, and name the function as their target";
        (name == "triggers").then(|| hint.to_owned())
    });
    let (code, policy) = (code?, handling.policy(defaults));
    let mut triggers = std::mem::take(&mut handling.triggers);
    triggers.extend(events.unwrap_or_default());
    let function = Function {
        name: field.name.clone().into_owned(),
        line: field.line(),
        runtime: code.runtime,
        handler: code.handler,
        code_dir: code.dir,
        inline_code: code.inline,
        command: code.command,
        url: code.url,
        env: env?,
        timeout_ms: timeout_ms
            .or(defaults.timeout_ms.clone())
            .unwrap_or(Given::built_in(TIMEOUT_MS)),
        memory_mib,
        concurrency: some(concurrency.or(defaults.concurrency.clone())),
        min_instances: min_instances.unwrap_or(0),
        idle_timeout_ms: idle_timeout_ms.unwrap_or(IDLE_TIMEOUT_MS),
        max_invocations,
        bootstrap: bootstrap.unwrap_or_default(),
        max_event_age_ms: handling.max_event_age_ms(defaults, &policy),
        policy,
        on_success: handling.on_success,
        on_failure: handling.on_failure,
        dead_letter: handling.dead_letter,
        next: handling.next,
        retry_metadata: retry_metadata.unwrap_or_default(),
        idempotent: idempotent.unwrap_or_default(),
        interrupted_attempts: interrupted.unwrap_or_default(),
        max_interruptions: max_interruptions.unwrap_or(INTERRUPTIONS_MAX),
        compensate,
    };
    Some((function, triggers))
}

const BOOTSTRAPS: &[(&str, Bootstrap)] = &[
    ("auto", Bootstrap::Auto),
    ("official", Bootstrap::Official),
    ("builtin", Bootstrap::Builtin),
];
const METADATA: &[(&str, RetryMetadata)] =
    &[("none", RetryMetadata::None), ("unum", RetryMetadata::Unum)];
const IDEMPOTENT: &[(&str, Idempotent)] =
    &[("none", Idempotent::None), ("result", Idempotent::Result)];
const INTERRUPTED: &[(&str, InterruptedAttempts)] =
    &[("count", InterruptedAttempts::Count), ("repeat", InterruptedAttempts::Repeat)];

fn setting<'a, T>(
    fields: &Fields<'a>,
    name: &'static str,
    read: impl FnOnce(&Field<'a>) -> Option<T>,
) -> Option<T> {
    fields.get(name).and_then(|field| read(&field))
}

pub(crate) fn own<'a, T>(
    fields: &Fields<'a>,
    name: &'static str,
    read: impl FnOnce(&Field<'a>) -> Option<T>,
) -> Option<Given<T>> {
    setting(fields, name, |field| {
        read(field).map(|value| Given { value, origin: Origin::Own(field.line()) })
    })
}

/// Processes that are kept are some of those that may run.
fn min_instances(field: &Field<'_>, concurrency: Option<&Given<u32>>) -> Option<u32> {
    let least = field.count(0)?;
    let (most, origin) = match concurrency {
        Some(Given { value, origin }) => (*value, origin),
        None => (CONCURRENCY, &Origin::BuiltIn),
    };
    if least > most {
        let message =
            format!("`minInstances` must be at most `concurrency`: {least} is more than {most}");
        let found = field.report(Rule::OutOfRange, message);
        field.cx.report(found.hint(format!("`concurrency` is {most} ({origin})")));
    }
    Some(least)
}

fn some<T>(given: Option<Given<T>>) -> Given<Option<T>> {
    match given {
        Some(Given { value, origin }) => Given { value: Some(value), origin },
        None => Given::built_in(None),
    }
}

fn env(field: &Field<'_>) -> Option<Vec<(String, Text)>> {
    let fields = field.settings("`env`")?;
    let values: Vec<Option<(String, Text)>> = fields
        .each()
        .map(|field| {
            let value = match &field.node.content {
                Content::Number(_) | Content::Boolean(_) => {
                    Text::from(field.node.to_value().to_string().as_str())
                }
                _ => field.text()?,
            };
            if field.name.is_empty() || field.name.contains(['=', '\0']) {
                let shown = field.name.replace('\0', "␀");
                let message = format!("`{shown}` cannot be the name of a variable");
                let found = field.at_name(Rule::InvalidName, message);
                field.cx.report(found.hint("it is not empty, and has neither `=` nor NUL in it"));
                return None;
            }
            Some((field.name.into_owned(), value))
        })
        .collect();
    values.into_iter().collect()
}

/// What is done about failures, and what about results.
struct Handling {
    retry: Option<Given<Policy>>,
    sam: EventInvokeConfig,
    function_json: Option<Given<Policy>>,
    /// Of `function.json`.
    triggers: Vec<Trigger>,
    max_event_age_ms: Option<Given<u64>>,
    on_success: Option<Given<Target>>,
    on_failure: Option<Given<Target>>,
    dead_letter: Option<Given<Target>>,
    next: Vec<Edge>,
}

impl Handling {
    fn read(owner: &str, fields: &Fields<'_>, names: &Names) -> Self {
        let retry = own(fields, "retry", retry::policy);
        let max_event_age_ms = own(fields, "maxEventAge", Setting::positive_duration);
        let on_success = own(fields, "onSuccess", |field| names.target(field));
        let on_failure = own(fields, "onFailure", |field| names.target(field));
        let block = fields.get("EventInvokeConfig");
        let mut sam = block.as_ref().map_or_else(EventInvokeConfig::default, |block| {
            sam::event_invoke_config(block, names)
        });
        let both = [
            (retry.is_some() && sam.policy.is_some(), "retry", "MaximumRetryAttempts"),
            (
                max_event_age_ms.is_some() && sam.max_event_age_ms.is_some(),
                "maxEventAge",
                "MaximumEventAgeInSeconds",
            ),
            (on_success.is_some() && sam.on_success.is_some(), "onSuccess", "OnSuccess"),
            (on_failure.is_some() && sam.on_failure.is_some(), "onFailure", "OnFailure"),
        ];
        for (_, own, theirs) in both.into_iter().filter(|(both, _, _)| *both) {
            let Some(block) = &block else { continue };
            let message = format!("{} has both `{own}` and `{theirs}`", fields.owner);
            let found = block.at_name(Rule::ExclusiveFields, message);
            block.cx.report(found.hint(format!("keep `{own}` or `{theirs}`, not both")));
        }
        fields.exclude("deadLetter", "DeadLetterQueue");
        let dead_letter = own(fields, "deadLetter", |field| names.target(field)).or_else(|| {
            setting(fields, "DeadLetterQueue", |field| sam::dead_letter_queue(field, names))
        });
        fields.exclude("next", "Next");
        let next = fields.get("next").or_else(|| fields.get("Next"));
        let json = fields.get("fromFunctionJson");
        let json = json.and_then(|field| azure::function_json(&field, owner, names));
        let (function_json, triggers) = json.unwrap_or_default();
        Self {
            retry,
            function_json,
            triggers,
            max_event_age_ms,
            on_success: on_success.or(sam.on_success.take()),
            on_failure: on_failure.or(sam.on_failure.take()),
            dead_letter,
            next: next.map(|field| edges(&field, owner, names)).unwrap_or_default(),
            sam,
        }
    }

    /// The most specific block, as a whole: nothing is merged.
    fn policy(&self, defaults: &Defaults) -> Given<Policy> {
        let levels = [&self.retry, &self.sam.policy, &self.function_json, &defaults.policy];
        let found = levels.into_iter().find_map(Option::as_ref);
        found.cloned().unwrap_or_else(|| Given::built_in(Policy::lambda(2)))
    }

    fn max_event_age_ms(&self, defaults: &Defaults, policy: &Given<Policy>) -> Given<Option<u64>> {
        let levels =
            [&self.max_event_age_ms, &self.sam.max_event_age_ms, &defaults.max_event_age_ms];
        let found = levels.into_iter().find_map(Option::as_ref).cloned();
        let lambda = matches!(policy.origin, Origin::BuiltIn | Origin::EventInvokeConfig(_));
        match found {
            None if lambda => Given::built_in(Some(EVENT_AGE_MS)),
            found => some(found),
        }
    }
}

/// One edge or several, in our spelling or Unum's.
fn edges(field: &Field<'_>, from: &str, names: &Names) -> Vec<Edge> {
    let list = match field.node.as_array() {
        Some(_) => field.elements().unwrap_or_default(),
        None => vec![field.clone()],
    };
    list.iter().filter_map(|field| edge(field, from, names)).collect()
}

fn edge(field: &Field<'_>, from: &str, names: &Names) -> Option<Edge> {
    let fields = field.settings("an edge")?;
    let unum = fields.has("Name");
    let (name, input_type) = if unum { ("Name", "InputType") } else { ("name", "inputType") };
    let target = fields.require(name);
    let types = [("Scalar", InputType::Scalar), ("Error", InputType::Error)];
    let input_type =
        fields.get(input_type).map_or(Some(InputType::Scalar), |field| field.word(&types));
    fields.finish_plain();
    let target = target?;
    let name = target.plain()?;
    names.refer(Kind::Function, name, &target);
    names.chains.add(from, name, &target);
    Some(Edge { name: name.to_owned(), input_type: input_type? })
}
