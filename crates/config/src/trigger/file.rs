//! Folders: which files become events, and where they go.

use std::path::PathBuf;

use super::model::{Folder, OnExhausted};
use crate::reader::{Field, Fields, Setting};
use crate::rule::Rule;

const STABLE_MS: u64 = 2000;
const INTERVAL_MS: u64 = 1000;

pub(super) fn folder(fields: &Fields<'_>) -> Option<Folder> {
    let directory = fields.require("directory").and_then(|field| field.path());
    let pattern = fields.get("pattern").map(|field| pattern(&field));
    let stable_ms = fields.get("stableFor").map_or(Some(STABLE_MS), |field| field.duration());
    let interval_ms =
        fields.get("interval").map_or(Some(INTERVAL_MS), |field| field.positive_duration());
    let inside = |name: &'static str| match fields.get(name) {
        Some(field) => inside(&field, directory.as_ref()),
        None => directory.as_ref().map(|directory| directory.join(name)),
    };
    let (done, failed) = (inside("done"), inside("failed"));
    let on_exhausted =
        fields.get("onExhausted").map_or(Some(OnExhausted::default()), |field| field.word(ENDS));
    Some(Folder {
        pattern: pattern.map_or(Some(None), |pattern| pattern.map(Some))?,
        stable_ms: stable_ms?,
        interval_ms: interval_ms?,
        done: done?,
        failed: failed?,
        on_exhausted: on_exhausted?,
        directory: directory?,
    })
}

const ENDS: &[(&str, OnExhausted)] = &[
    ("deadLetter", OnExhausted::DeadLetter),
    ("block", OnExhausted::Block),
    ("skip", OnExhausted::Skip),
];

/// A name inside the folder: a file is moved there, and that must be one step.
fn inside(field: &Field<'_>, directory: Option<&PathBuf>) -> Option<PathBuf> {
    let name = field.plain()?;
    if name.contains('/') || [".", ".."].contains(&name) {
        let message = format!("`{}` must be the name of a folder inside `directory`", field.name);
        field.cx.report(field.report(Rule::InvalidName, message));
        return None;
    }
    directory.map(|directory| directory.join(name))
}

fn pattern(field: &Field<'_>) -> Option<String> {
    let pattern = field.plain()?;
    if pattern.contains('/') {
        let message = format!("`{}` is about names of files, not about folders", field.name);
        field.cx.report(field.report(Rule::UnknownValue, message).hint("write `*.csv`"));
        return None;
    }
    Some(pattern.to_owned())
}
