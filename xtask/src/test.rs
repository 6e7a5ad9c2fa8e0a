//! `cargo xtask test`: everything that must hold, in the order in which it fails fastest.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Recorded behaviour and other test data that is not part of the repository: used where it is there.
const SHARED: &str = "../shared";

pub(crate) fn run() -> Result<ExitCode> {
    provide(&["python3", "--version"], "python3")?;
    provide(&["node", "--version"], "nodejs")?;
    step("format", &["fmt", "--all", "--check"])?;
    step("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    step("tests", &["test", "--workspace", "--quiet"])?;
    xtask(&["tidy"])?;
    xtask(&["simulate", "--seeds", "300"])?;
    xtask(&["aws"])?;
    xtask(&["functions"])?;
    let shared = crate::root().join(SHARED);
    let with = |task: &str, data: &str| -> Result<()> {
        let data = shared.join(data);
        if !data.exists() {
            println!("\n--- {task}: no {}, skipped", data.display());
            return Ok(());
        }
        xtask(&[task, &data.display().to_string()])
    };
    with("jsonpath", "jsonpath/cases.json")?;
    with("jsonata", "jsonata-suite")?;
    with("definitions", "machines")?;
    with("definitions", "conformance/execution")?;
    with("conformance", "conformance")?;
    println!("\neverything holds");
    Ok(ExitCode::SUCCESS)
}

/// Installs what tests need, where a command shows that it is missing and this is Debian.
pub(crate) fn provide(shown_by: &[&str], package: &str) -> Result<()> {
    let program = shown_by[0];
    let found = Command::new(program).args(&shown_by[1..]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    println!("--- installing {package}");
    for arguments in [&["update", "-qq"][..], &["install", "-y", "-qq", package][..]] {
        let status = Command::new("apt-get").args(arguments).status();
        let status = status
            .with_context(|| format!("{package} is missing and apt-get cannot install it"))?;
        if !status.success() {
            bail!("apt-get could not install {package}: install what gives {program} by hand");
        }
    }
    Ok(())
}

fn xtask(arguments: &[&str]) -> Result<()> {
    let all = ["run", "--quiet", "--package", "xtask", "--"].iter().chain(arguments).copied();
    step(arguments[0], &all.collect::<Vec<_>>())
}

fn step(name: &str, arguments: &[&str]) -> Result<()> {
    println!("\n--- {name}: cargo {}", arguments.join(" "));
    let mut command = Command::new("cargo");
    // Property tests draw the same cases each time, so that no change fails by the luck of the draw;
    // `PROPTEST_CASES=10000 cargo test` looks further.
    command.current_dir(crate::root()).args(arguments).env("PROPTEST_RNG_SEED", "2016");
    let status = command.status()?;
    if !status.success() {
        bail!("{name} failed: cargo {}", arguments.join(" "));
    }
    Ok(())
}
