//! Recorded behaviour of the service, replayed: any directory laid out as
//! `execution/<category>/*.json`, `validation/…`, `teststate/…`.

mod chains;
mod compare;
mod events;
mod execution;
mod lies;
mod placeholders;
mod self_check;
mod teststate;
mod truths;
mod validation;
mod values;

pub(crate) use self_check::run as self_check;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::Value;

/// Cases that cannot be met, each with its reason: `id<TAB>reason` lines.
const DEVIATIONS: &str = include_str!("deviations.tsv");

/// What came of one case.
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

pub(crate) fn run(directory: &Path, only: Option<&str>, verbose: bool) -> Result<ExitCode> {
    let mut categories: BTreeMap<String, Counts> = BTreeMap::new();
    let mut known = 0;
    for (kind, check) in KINDS {
        for file in files(&directory.join(kind))? {
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            let case: Value =
                serde_json::from_str(&text).with_context(|| file.display().to_string())?;
            let id = case["id"].as_str().unwrap_or_default().to_owned();
            if only.is_some_and(|only| !id.contains(only) && !file.to_string_lossy().contains(only))
            {
                continue;
            }
            let category = format!("{kind}/{}", case["category"].as_str().unwrap_or("?"));
            let counts = categories.entry(category).or_default();
            let outcome = if case["provenance"] == "unconfirmed" {
                Outcome::Skipped("unconfirmed")
            } else {
                check(&case)
            };
            match outcome {
                Outcome::Passed => {
                    counts.passed += 1;
                    if verbose {
                        println!("ok      {id}");
                    }
                }
                Outcome::Skipped(reason) => {
                    counts.skipped += 1;
                    if verbose {
                        println!("skipped {id}: {reason}");
                    }
                }
                Outcome::Failed(difference) => match deviation(&id) {
                    Some(reason) => {
                        known += 1;
                        println!("known   {id}\n    {reason}");
                    }
                    None => {
                        counts.failed += 1;
                        println!("FAILED  {id}\n    {}", difference.replace('\n', "\n    "));
                    }
                },
            }
        }
    }
    Ok(summary(&categories, known))
}

type Check = fn(&Value) -> Outcome;

const KINDS: &[(&str, Check)] = &[
    ("execution", execution::check),
    ("validation", validation::check),
    ("teststate", teststate::check),
];

fn summary(categories: &BTreeMap<String, Counts>, known: usize) -> ExitCode {
    let mut total = Counts::default();
    for (category, counts) in categories {
        println!(
            "{category:40} {:5} passed {:4} failed {:4} skipped",
            counts.passed, counts.failed, counts.skipped
        );
        total.passed += counts.passed;
        total.failed += counts.failed;
        total.skipped += counts.skipped;
    }
    if known > 0 {
        println!("{known} known deviations, listed above with their reasons, are not counted");
    }
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn deviation(id: &str) -> Option<&'static str> {
    DEVIATIONS
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .find(|(known, _)| *known == id)
        .map(|(_, r)| r)
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if !directory.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
