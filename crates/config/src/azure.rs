//! Azure's files: `host.json` and `function.json`. Their retry policies are taken over; what has no
//! meaning here is named.

use std::path::PathBuf;

use everstep_retry::Policy;

use crate::document;
use crate::model::Defaults;
use crate::origin::{Given, Origin};
use crate::reader::{Field, Setting as _};
use crate::retry;
use crate::rule::Rule;

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

/// The policy of a function's `function.json`, if it has one.
pub(crate) fn function_json(field: &Field<'_>) -> Option<Given<Policy>> {
    let path = field.path()?;
    let document = document::load_azure(field.cx.cx, &path, field)?;
    let fields = document.field().settings("function.json")?;
    let mut policy = None;
    for field in fields.each() {
        match &*field.name {
            "retry" => {
                let origin = Origin::FunctionJson(field.line());
                policy = retry::policy(&field).map(|value| Given { value, origin });
            }
            "bindings" => bindings(&field),
            "disabled" if field.node.to_value() == serde_json::Value::Bool(false) => {}
            "disabled" => {
                let message = "`disabled` of function.json has no effect here";
                let found = field.at_name(Rule::IgnoredSetting, message);
                field.cx.report(found.hint("`concurrency: 0` keeps a function from running"));
            }
            name if HARMLESS.contains(&name) => {}
            name => ignored(&field, &format!("`{name}` of function.json has no effect here")),
        }
    }
    policy
}

fn bindings(field: &Field<'_>) {
    for binding in field.elements().unwrap_or_default() {
        let Some(fields) = binding.settings("a binding") else { continue };
        let Some(kind) = fields.require("type") else { continue };
        let Some(name) = kind.plain() else { continue };
        let message = if name.ends_with("Trigger") {
            format!("`{name}` does not start the function: triggers are not supported yet")
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
}
