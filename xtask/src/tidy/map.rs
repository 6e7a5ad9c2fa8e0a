//! ARCHITECTURE.md describes the crates that exist: its table is generated from their manifests.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::{Finding, Tree, edges, replaced};

const MAP: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- crates: written by `cargo xtask tidy --write` from the manifests -->\n";
const END: &str = "<!-- /crates -->";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = undescribed(tree);
    let text = tree.read(Path::new(MAP));
    match replaced(&text, BEGIN, END, &table(tree)) {
        None => findings.push(Finding::new(MAP, format!("has no `{}`", BEGIN.trim_end()))),
        Some(expected) if expected != text => findings.push(Finding::new(
            MAP,
            "its table of crates is out of date: run `cargo xtask tidy --write`",
        )),
        Some(_) => {}
    }
    findings
}

/// Brings the table up to date.
pub(super) fn write(tree: &Tree) -> anyhow::Result<()> {
    let text = tree.read(Path::new(MAP));
    if let Some(text) = replaced(&text, BEGIN, END, &table(tree)) {
        std::fs::write(tree.root.join(MAP), text)?;
    }
    Ok(())
}

fn undescribed(tree: &Tree) -> Vec<Finding> {
    let packages = tree.packages().filter(|package| package["description"].is_null());
    packages
        .map(|package| {
            let name = package["name"].as_str().unwrap_or_default();
            Finding::new(name, "its manifest needs a description: what the crate holds")
        })
        .collect()
}

fn table(tree: &Tree) -> String {
    let mut packages: Vec<&Value> = tree.packages().collect();
    // A crate comes after those that it uses.
    packages.sort_by_key(|package| edges::depth(tree, package));
    let mut table =
        String::from("| crate | what it holds | must not know | uses |\n|---|---|---|---|\n");
    for package in packages {
        let holds = package["description"].as_str().unwrap_or_default();
        let must_not_know = package["metadata"]["everstep"]["must-not-know"].as_str();
        let uses: Vec<&str> = edges::used(package).collect();
        let uses = if uses.is_empty() { "–".to_owned() } else { uses.join(", ") };
        let name = folder(package["name"].as_str().unwrap_or_default());
        let _ =
            writeln!(table, "| `{name}` | {holds} | {} | {uses} |", must_not_know.unwrap_or("–"));
    }
    table
}

fn folder(package: &str) -> String {
    match package.strip_prefix("everstep-") {
        Some(name) => format!("crates/{name}"),
        None => package.to_owned(),
    }
}
