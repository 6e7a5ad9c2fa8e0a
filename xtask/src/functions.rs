//! `cargo xtask functions`: the runners' tests, with the official Lambda clients; then functions of a real
//! server that is killed.

mod node;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::aws::Place;
use crate::test::provide;

/// The client of Python that the one built in is compared with, and what has a say in its messages.
const AWSLAMBDARIC: [&str; 2] = ["awslambdaric==4.2.2", "simplejson==4.3.0"];
/// Tests of the official client of Node.js have this in their names.
const NODE_TESTS: &str = "aws_lambda_ric";
const RUST_HANDLER: &str = "crates/runners/tests/functions/rust";

pub(crate) fn run() -> Result<ExitCode> {
    let directory = target().join("functions");
    let venv = python(&directory.join("venv"))?;
    let handler = rust(&directory.join("rust"))?;
    let node = node::client(&directory);
    let mut tests = Command::new("cargo");
    tests
        .current_dir(crate::root())
        .args(["test", "--package", "everstep-runners", "--", "--include-ignored"])
        // They are started by tests, with directories of their own.
        .args(["--skip", "::an_engine"])
        .env("EVERSTEP_TEST_AWSLAMBDARIC", venv)
        .env("EVERSTEP_TEST_RUST_HANDLER", &handler);
    match &node {
        Ok(client) => _ = tests.env("EVERSTEP_TEST_AWS_LAMBDA_RIC", client),
        Err(error) => {
            lament(error);
            tests.args(["--skip", NODE_TESTS]);
        }
    }
    finish(&mut tests)?;
    provide(&["node", "--version"], "nodejs")?;
    println!("--- pytest tests/functions");
    let told = [("EVERSTEP_TEST_RUST_HANDLER", handler.as_path())];
    let passed = Place::prepare()?.pytest("functions", &["-rP", "--durations=5"], &told)?;
    // Again where it is seen: at the end.
    if let Err(error) = &node {
        lament(error);
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn lament(error: &anyhow::Error) {
    println!(
        "\n!!! SKIPPED: {NODE_TESTS}: the official client of Node.js cannot be built: {error:#}\n"
    );
}

fn target() -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = given.unwrap_or_else(|| crate::root().join("target"));
    std::path::absolute(&target).unwrap_or(target)
}

/// A virtual environment with the official client.
fn python(venv: &Path) -> Result<PathBuf> {
    let program = venv.join("bin/python");
    if !program.exists() {
        provide(&["python3", "-c", "import ensurepip"], "python3-venv")?;
        finish(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    }
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    finish(Command::new(&program).args(quiet).args(AWSLAMBDARIC))?;
    Ok(venv.to_owned())
}

/// A handler with `lambda_runtime`, in a workspace of its own.
fn rust(target: &Path) -> Result<PathBuf> {
    let directory = crate::root().join(RUST_HANDLER);
    let mut build = Command::new("cargo");
    build.current_dir(directory).args(["build", "--quiet"]).env("CARGO_TARGET_DIR", target);
    finish(&mut build)?;
    Ok(target.join("debug/rust-handler"))
}

fn finish(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    println!("--- {program} {}", shown(command));
    let status = command.status().with_context(|| format!("{program} cannot be started"))?;
    if !status.success() {
        bail!("{program} failed: {status}");
    }
    Ok(())
}

fn shown(command: &Command) -> String {
    let args: Vec<_> = command.get_args().map(|arg| arg.display().to_string()).collect();
    args.join(" ")
}
