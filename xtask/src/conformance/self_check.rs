//! Whether the comparison can be trusted: it must accept every truth about a recorded execution
//! and refuse every lie.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::Value;

use super::compare::compare;
use super::lies::lies;
use super::truths::truths;

#[derive(Default)]
struct Told {
    truths: usize,
    refused: usize,
    lies: usize,
    believed: usize,
}

pub(crate) fn run(directory: &Path, only: Option<&str>) -> Result<ExitCode> {
    let mut told = Told::default();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for file in super::files(&directory.join("execution"))? {
        let name = file.display().to_string();
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let text = fs::read_to_string(&file).with_context(|| name.clone())?;
        let case: Value = serde_json::from_str(&text).with_context(|| name.clone())?;
        if !case["expected"]["status"].is_string() {
            skipped += 1;
            continue;
        }
        let wrong = told.refused + told.believed;
        check(&case, &mut told);
        if told.refused + told.believed == wrong { passed += 1 } else { failed += 1 }
    }
    println!("truths: {} accepted, {} refused", told.truths - told.refused, told.refused);
    println!("lies:   {} refused, {} accepted", told.lies - told.believed, told.believed);
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(case: &Value, told: &mut Told) {
    let id = case["id"].as_str().unwrap_or_default();
    for (what, found) in truths(case) {
        told.truths += 1;
        if let Err(difference) = compare(case, &found) {
            told.refused += 1;
            println!("REFUSED {id}\n    {what}\n    {}", difference.replace('\n', "\n    "));
        }
    }
    lies(case, &mut |what, found| {
        told.lies += 1;
        if compare(case, found).is_ok() {
            told.believed += 1;
            println!("BELIEVED {id}\n    {what}");
        }
    });
}
