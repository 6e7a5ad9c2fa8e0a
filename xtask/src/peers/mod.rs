//! `cargo xtask peers`: our checker beside those of others, on the same definitions.
//!
//! asl-validator, AWS's language service and moto are installed from npm and PyPI, in the versions of `tests/peers`. All are
//! asked whether a definition is right: our test definitions, the public machines beside the repository where they are there, and
//! mutants of those that all accept. Every kind of disagreement has an explanation, or the command fails.

mod corpus;
mod disagreement;
mod install;
mod mutants;
mod ours;
mod report;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use install::Installed;

/// Definitions that are not part of the repository: compared where they are there.
const MACHINES: &str = "../shared/machines";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only our test definitions and a few mutants of each kind
    #[arg(long, conflicts_with = "write")]
    short: bool,
    /// Bring docs/peers.md up to date
    #[arg(long)]
    write: bool,
    /// Print every disagreement
    #[arg(long)]
    verbose: bool,
}

/// A definition to compare by.
#[derive(Clone)]
struct Case {
    /// A row of the first table.
    source: &'static str,
    /// For a mutant, what was done to it.
    kind: Option<&'static str>,
    name: String,
    definition: Value,
}

/// What everybody says about a case.
struct Judged {
    case: Case,
    /// The rules by which we refuse it.
    ours: Vec<&'static str>,
    /// What each of the others says, in the order of [`install::PEERS`].
    theirs: Vec<Vec<String>>,
}

impl Judged {
    fn all_accept(&self) -> bool {
        self.ours.is_empty() && self.theirs.iter().all(Vec::is_empty)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let installed = Installed::prepare()?;
    let machines = crate::root().join(MACHINES);
    let machines = Some(machines).filter(|folder| !arguments.short && folder.is_dir());
    let mut judged = judge(&installed, corpus::cases(machines.as_deref())?)?;
    let accepted = judged.iter().filter(|judged| judged.all_accept()).map(|judged| &judged.case);
    let mutants = mutants::generate(&accepted.collect::<Vec<_>>(), mutants_each(arguments.short));
    judged.extend(judge(&installed, mutants)?);
    let found = disagreement::classify(&judged)?;
    let text = report::markdown(&judged, &found);
    println!("{text}");
    if arguments.verbose {
        report::print_each(&found);
    }
    if arguments.write {
        report::write(&text)?;
    }
    let unexplained = found.iter().filter(|class| class.row.is_none()).count();
    println!("{} definitions, {unexplained} kinds of disagreement unexplained", judged.len());
    Ok(if unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many mutants of a kind.
fn mutants_each(short: bool) -> usize {
    if short { 1 } else { 6 }
}

fn judge(installed: &Installed, cases: Vec<Case>) -> Result<Vec<Judged>> {
    let mut theirs: BTreeMap<usize, Vec<Vec<String>>> = installed.ask(&cases)?;
    let judge = |(id, case): (usize, Case)| {
        let ours = ours::rules(&case.definition);
        Judged { ours, theirs: theirs.remove(&id).unwrap_or_default(), case }
    };
    Ok(cases.into_iter().enumerate().map(judge).collect())
}
