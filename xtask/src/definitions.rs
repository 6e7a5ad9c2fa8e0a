//! Definitions that are known to be good, each of which must be accepted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use everstep_asl::{Options, Source, WorkflowType, parse};
use serde_json::Value;

/// Every `.json` and `.yaml` file below `directory`: a definition, or a recorded case that holds one.
pub(crate) fn run(directory: &Path) -> Result<ExitCode> {
    let mut files = Vec::new();
    collect(directory, &mut files)?;
    let (mut passed, mut failed) = (0, 0);
    let mut advice = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let Some((text, options)) = definition(&file, text) else { continue };
        let source = Source::new(file.display().to_string(), text);
        let parsed = parse(&source, &options);
        if parsed.has_errors() {
            failed += 1;
            println!("{}", file.display());
        } else {
            passed += 1;
        }
        for diagnostic in &parsed.diagnostics {
            if diagnostic.is_error() {
                println!("  {} at {}: {}", diagnostic.code, diagnostic.place, diagnostic.message);
            } else {
                *advice.entry(diagnostic.code).or_insert(0) += 1;
            }
        }
    }
    for (rule, count) in advice {
        println!("advice: {rule} {count}");
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| ["json", "yaml", "yml"].iter().any(|x| e == *x))
        {
            files.push(path);
        }
    }
    Ok(())
}

fn definition(file: &Path, text: String) -> Option<(String, Options)> {
    let mut options = Options::default();
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    let Some(case) = is_json.then(|| serde_json::from_str::<Value>(&text).ok()).flatten() else {
        return Some((text, options));
    };
    match case.get("definition") {
        None => Some((text, options)),
        Some(definition) if definition.is_object() => {
            if case["type"] == "EXPRESS" {
                options.workflow_type = WorkflowType::Express;
            }
            Some((definition.to_string(), options))
        }
        Some(_) => None,
    }
}
