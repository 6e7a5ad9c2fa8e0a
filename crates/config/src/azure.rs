//! Azure's files: `host.json` and `function.json`. Their retry policies are taken over; what has no
//! meaning here is named.

use std::path::PathBuf;

use everstep_retry::Policy;
use everstep_schedule::Zone;

use crate::document;
use crate::model::{Defaults, Missed, Overlap, Timer, Trigger};
use crate::origin::{Given, Origin};
use crate::reader::{Field, Fields, Setting as _};
use crate::retry;
use crate::rule::Rule;
use crate::target::{Kind, Names};
use crate::trigger;

/// Settings that change nothing about what runs, or how often.
const HARMLESS: [&str; 7] = [
    "version",
    "logging",
    "extensionBundle",
    "managedDependency",
    "scriptFile",
    "entryPoint",
    "$schema",
];

/// What `host.json` says where `defaults` does not.
pub(crate) fn host_json(field: &Field<'_>, defaults: &mut Defaults) {
    let load = |path: PathBuf| document::load_azure(field.cx.cx, &path, field);
    let Some(document) = field.path().and_then(load) else {
        return;
    };
    let Some(fields) = document.field().settings("host.json") else { return };
    for field in fields.each() {
        match &*field.name {
            "retry" => {
                let origin = Origin::HostJson(field.line());
                let policy = retry::policy(&field).map(|value| Given { value, origin });
                defaults.policy = defaults.policy.take().or(policy);
            }
            // -1 is for ever, which no attempt should be.
            "functionTimeout" if field.node.as_str() != Some("-1") => {
                let origin = Origin::HostJson(field.line());
                let timeout = field.positive_duration().map(|value| Given { value, origin });
                defaults.timeout_ms = defaults.timeout_ms.take().or(timeout);
            }
            name if HARMLESS.contains(&name) => {}
            name => ignored(&field, &format!("`{name}` of host.json has no effect here")),
        }
    }
}

fn ignored(field: &Field<'_>, message: &str) {
    field.cx.report(field.at_name(Rule::IgnoredSetting, message));
}

/// The policy of a function's `function.json`, if it has one, and its timers.
pub(crate) fn function_json(
    field: &Field<'_>,
    function: &str,
    names: &Names,
) -> Option<(Option<Given<Policy>>, Vec<Trigger>)> {
    let path = field.path()?;
    let document = document::load_azure(field.cx.cx, &path, field)?;
    let fields = document.field().settings("function.json")?;
    let (mut policy, mut triggers, mut disabled) = (None, Vec::new(), None);
    for field in fields.each() {
        match &*field.name {
            "retry" => {
                let origin = Origin::FunctionJson(field.line());
                policy = retry::policy(&field).map(|value| Given { value, origin });
            }
            "bindings" => triggers = bindings(&field, function, names),
            "disabled" if field.node.to_value() == serde_json::Value::Bool(false) => {}
            "disabled" => disabled = Some(field),
            name if HARMLESS.contains(&name) => {}
            name => ignored(&field, &format!("`{name}` of function.json has no effect here")),
        }
    }
    if let Some(field) = disabled {
        disable(&field, &mut triggers);
    }
    Some((policy, triggers))
}

/// What starts the function is disabled. Without that it has no effect: it can still be invoked.
fn disable(field: &Field<'_>, triggers: &mut [Trigger]) {
    if triggers.is_empty() {
        let message = "`disabled` of function.json has no effect here";
        let found = field.at_name(Rule::IgnoredSetting, message);
        return field.cx.report(found.hint("`concurrency: 0` keeps a function from running"));
    }
    let is_disabled = field.boolean().unwrap_or(false);
    triggers.iter_mut().for_each(|trigger| trigger.enabled = !is_disabled);
}

fn bindings(field: &Field<'_>, function: &str, names: &Names) -> Vec<Trigger> {
    let mut triggers = Vec::new();
    for binding in field.elements().unwrap_or_default() {
        let Some(fields) = binding.settings("a binding") else { continue };
        let Some(kind) = fields.require("type") else { continue };
        let Some(name) = kind.plain() else { continue };
        if name == "timerTrigger" {
            triggers.extend(timer(&fields, &binding, function, names));
            continue;
        }
        let message = if name.ends_with("Trigger") {
            format!(
                "`{name}` does not start the function: this kind of trigger is not supported yet"
            )
        } else {
            format!("the binding `{name}` has no effect here")
        };
        let found = kind.report(Rule::IgnoredSetting, message);
        kind.cx.report(if name.ends_with("Trigger") {
            found.hint("invoke it, or name it as a target")
        } else {
            found
        });
    }
    triggers
}

/// A timer, which has the name of its function.
fn timer(
    fields: &Fields<'_>,
    binding: &Field<'_>,
    function: &str,
    names: &Names,
) -> Option<Trigger> {
    let schedule = fields.require("schedule").and_then(|field| {
        // `%SCHEDULE%` is a setting of the application.
        let written = field.text()?;
        trigger::timer::schedule(&field, written.as_str(), Zone::utc())
    });
    let run_on_startup = fields.get("runOnStartup").map_or(Some(false), |field| field.boolean());
    let monitor = fields.get("useMonitor").map_or(Some(true), |field| field.boolean());
    for harmless in ["name", "direction"] {
        fields.get(harmless);
    }
    fields.finish_plain();
    if !names.derive(Kind::Trigger, function, binding) {
        return None;
    }
    let timer = Timer {
        schedule: schedule?,
        missed: if monitor? { Missed::One } else { Missed::Skip },
        overlap: Overlap::default(),
        run_on_startup: run_on_startup?,
        input: None,
    };
    Some(trigger::of_function(function.to_owned(), function, binding, timer))
}
