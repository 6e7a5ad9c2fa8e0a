//! `cargo xtask tidy`: the project's habits, each a check that names the place and what to do.

mod comments;
mod dialects;
mod differences;
mod edges;
mod licences;
mod links;
mod map;
mod purity;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

/// A place and what is wrong with it.
pub(crate) struct Finding {
    pub(crate) place: String,
    pub(crate) message: String,
}

impl Finding {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

/// What the checks look at.
pub(crate) struct Tree {
    root: PathBuf,
    /// Every file git knows or would add, relative to the root.
    files: Vec<PathBuf>,
    /// `cargo metadata`.
    metadata: serde_json::Value,
}

impl Tree {
    fn read(&self, file: &Path) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }

    /// The packages of this workspace.
    fn packages(&self) -> impl Iterator<Item = &serde_json::Value> {
        let all = self.metadata["packages"].as_array().into_iter().flatten();
        all.filter(|package| package["source"].is_null())
    }

    fn with_ending(&self, ending: &str) -> impl Iterator<Item = &Path> {
        self.files
            .iter()
            .map(PathBuf::as_path)
            .filter(move |file| file.extension().is_some_and(|extension| extension == ending))
    }
}

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: &[(&str, Check)] = &[
    ("every module opens with a //! comment, and nothing is left half done", comments::check),
    ("crates depend on each other one way", edges::check),
    ("only the table of the dialects tells them apart", dialects::check),
    ("docs/dialects.md has a row for each method of that table", differences::check),
    ("every dependency's licence is allowed in deny.toml", licences::check),
    ("links in documents lead somewhere", links::check),
    ("ARCHITECTURE.md has the crates and their edges as they are", map::check),
    ("the innermost crates read no clock, draw no randomness and do not wait", purity::check),
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Bring the generated parts of documents up to date first
    #[arg(long)]
    write: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let tree = tree()?;
    if arguments.write {
        map::write(&tree)?;
        differences::write(&tree)?;
    }
    let mut failed = 0;
    for (habit, check) in CHECKS {
        let findings = check(&tree);
        println!("{} {habit}", if findings.is_empty() { "ok    " } else { "FAILED" });
        for finding in &findings {
            println!("       {}: {}", finding.place, finding.message);
        }
        failed += usize::from(!findings.is_empty());
    }
    println!("{} passed, {failed} failed", CHECKS.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The text with another table between two marks.
fn replaced(text: &str, begin: &str, end: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{table}\n{end}{after}"))
}

fn tree() -> Result<Tree> {
    let root = crate::root();
    let listed = output(Command::new("git").current_dir(&root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let files = listed.lines().map(PathBuf::from).filter(|file| root.join(file).exists()).collect();
    let metadata = output(Command::new("cargo").current_dir(&root).args([
        "metadata",
        "--format-version=1",
        "--locked",
    ]))?;
    Ok(Tree { files, metadata: serde_json::from_str(&metadata)?, root })
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {error}");
    Ok(String::from_utf8(output.stdout)?)
}
