//! `cargo xtask`: the project's own habits, as programs.

mod aws;
mod conformance;
mod definitions;
mod functions;
mod hostile;
mod jsonata;
mod jsonpath;
mod kills;
mod peers;
mod simulate;
mod test;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own habits, as programs")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Call a real server through the AWS SDKs and the AWS command line
    Aws(aws::Arguments),
    /// Replay recorded behaviour of the service
    Conformance {
        /// A directory with execution/, validation/ and teststate/
        directory: PathBuf,
        /// Only cases whose id or file name contains this
        #[arg(long)]
        only: Option<String>,
        /// Name the cases that pass or are skipped too
        #[arg(long)]
        verbose: bool,
        /// Compare each recorded execution with itself, and with lies about it
        #[arg(long, hide = true)]
        self_check: bool,
    },
    /// Check that every definition below a directory is accepted
    Definitions { directory: PathBuf },
    /// Run functions with the official Lambda clients, and on a real server that is killed
    Functions,
    /// Run definitions that mean harm on a real server, with innocent clients beside
    Hostile(hostile::Arguments),
    /// Compare paths with what Jayway JsonPath answers
    Jsonpath {
        /// A file with a document and cases
        file: PathBuf,
    },
    /// Run the official JSONata test-suite
    Jsonata {
        /// A directory with datasets/ and groups/
        directory: PathBuf,
    },
    /// Kill a real server at random moments, under one load with all that is durable
    Kills(kills::Arguments),
    /// Compare our checker with those of others, on definitions and mutants of them
    Peers(peers::Arguments),
    /// Run the engine in a simulated world, seed after seed
    Simulate(simulate::Arguments),
    /// Run everything that must hold: format, lints, tests, habits, recorded behaviour
    Test,
    /// Check the project's habits
    Tidy(tidy::Arguments),
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().task {
        Task::Aws(arguments) => aws::run(&arguments),
        Task::Conformance { directory, only, self_check: true, .. } => {
            conformance::self_check(&directory, only.as_deref())
        }
        Task::Conformance { directory, only, verbose, .. } => {
            conformance::run(&directory, only.as_deref(), verbose)
        }
        Task::Definitions { directory } => definitions::run(&directory),
        Task::Functions => functions::run(),
        Task::Hostile(arguments) => hostile::run(&arguments),
        Task::Jsonpath { file } => jsonpath::run(&file),
        Task::Jsonata { directory } => jsonata::run(&directory),
        Task::Kills(arguments) => kills::run(&arguments),
        Task::Peers(arguments) => peers::run(&arguments),
        Task::Simulate(arguments) => simulate::run(&arguments),
        Task::Test => test::run(),
        Task::Tidy(arguments) => tidy::run(&arguments),
    }
}
