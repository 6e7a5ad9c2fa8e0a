//! The sections of a configuration, over all its files.

use std::path::Path;

use crate::azure;
use crate::document::{self, Document};
use crate::function::function;
use crate::machine::state_machine;
use crate::model::{Config, Defaults, Destination, Target};
use crate::origin::{Given, Origin};
use crate::queue::queue;
use crate::reader::{Cx, Field, Fields, Setting};
use crate::retry;
use crate::rule::Rule;
use crate::target::{Kind, Names};
use crate::trigger::trigger;

pub(crate) fn config(cx: &Cx<'_>, entry: &Path) -> Option<Config> {
    let documents = document::all(cx, entry);
    let names = Names::default();
    let mut config = Config::default();
    let roots: Vec<Fields<'_>> =
        documents.iter().filter_map(|document| root(cx, document)).collect();
    if let Some(entry) = roots.first() {
        config.defaults = defaults(entry);
    }
    // Names first: a target may stand before what it names.
    for fields in &roots {
        sections(fields, &names, &mut config);
    }
    for fields in &roots {
        functions(fields, &names, &mut config);
        fields.finish(not_here);
    }
    names.check(cx);
    names.chains.check(cx, "if nothing ends it, it ends after 1,000 steps");
    names.poison.check(cx, "a message that cannot be processed would move without end");
    (!roots.is_empty()).then_some(config)
}

fn root<'a>(cx: &'a Cx<'a>, document: &'a Document<'a>) -> Option<Fields<'a>> {
    let name = document.file.source.name();
    let fields = document.field().settings(name)?;
    if let Some(field) = fields.get("version") {
        field.integer(1..=1);
    }
    // Read when the files were.
    fields.get("include");
    if let Some(field) = fields.get("alarms") {
        let found = field.at_name(Rule::NotSupported, "alarms are not supported yet");
        cx.report(found.hint("remove `alarms`"));
    }
    if document.file.index == 0
        && let Some(field) = fields.get("compat")
        && let Some(strict) = field.word(&[("strict", true), ("lenient", false)])
    {
        cx.strict.set(strict);
    }
    Some(fields)
}

fn not_here(name: &str) -> Option<String> {
    let entry = ["defaults", "hostJson", "compat"].contains(&name);
    entry.then(|| format!("`{name}` stands in the file that includes the others"))
}

fn defaults(fields: &Fields<'_>) -> Defaults {
    let mut defaults = Defaults::default();
    if let Some(fields) = fields.get("defaults").and_then(|field| field.settings("`defaults`")) {
        defaults.policy = default(&fields, "retry", retry::policy);
        defaults.timeout_ms = default(&fields, "timeout", Setting::positive_duration);
        defaults.concurrency = default(&fields, "concurrency", |field| field.count(0));
        defaults.max_event_age_ms = default(&fields, "maxEventAge", Setting::positive_duration);
        fields.finish_plain();
    }
    if let Some(field) = fields.get("hostJson") {
        azure::host_json(&field, &mut defaults);
    }
    defaults
}

fn default<'a, T>(
    fields: &Fields<'a>,
    name: &'static str,
    read: impl FnOnce(&Field<'a>) -> Option<T>,
) -> Option<Given<T>> {
    let field = fields.get(name)?;
    let value = read(&field)?;
    Some(Given { value, origin: Origin::Defaults(field.line()) })
}

/// The entries of a section whose names are free.
fn entries<'a>(
    fields: &Fields<'a>,
    section: &'static str,
    kind: Kind,
    names: &Names,
) -> Vec<Field<'a>> {
    let section = fields.get(section).and_then(|field| {
        let owner = format!("`{}`", field.name);
        field.settings(owner)
    });
    let entries = section.iter().flat_map(Fields::each);
    entries.filter(|entry| names.define(kind, entry)).collect()
}

fn sections(fields: &Fields<'_>, names: &Names, config: &mut Config) {
    for entry in entries(fields, "queues", Kind::Queue, names) {
        config.queues.extend(queue(&entry, names));
    }
    for entry in entries(fields, "destinations", Kind::Destination, names) {
        if let Some(target) = destination(&entry, names) {
            names.define_destination(&entry.name, target.clone());
            let (name, line) = (entry.name.clone().into_owned(), entry.line());
            config.destinations.push(Destination { name, line, target });
        }
    }
    // Before those that functions ask for, which have their names.
    for entry in entries(fields, "triggers", Kind::Trigger, names) {
        config.triggers.extend(trigger(&entry, names));
    }
}

/// A target by itself, or as the only field of an object.
fn destination(entry: &Field<'_>, names: &Names) -> Option<Target> {
    let field = if entry.node.as_str().is_some() {
        entry.clone()
    } else {
        let fields = entry.settings(format!("destination `{}`", entry.name))?;
        let field = fields.require("target");
        fields.finish_plain();
        field?
    };
    if field.node.as_str().is_some_and(|text| text.starts_with("destination:")) {
        let message = "a destination cannot name another one";
        field.cx.report(field.report(Rule::InvalidTarget, message));
        return None;
    }
    names.target(&field)
}

fn functions(fields: &Fields<'_>, names: &Names, config: &mut Config) {
    for entry in entries(fields, "functions", Kind::Function, names) {
        if let Some((function, triggers)) = function(&entry, names, &config.defaults) {
            config.functions.push(function);
            config.triggers.extend(triggers);
        }
    }
    for entry in entries(fields, "stateMachines", Kind::StateMachine, names) {
        config.state_machines.extend(state_machine(&entry, names));
    }
}
