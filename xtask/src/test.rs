//! `cargo xtask test`: everything that must hold, in the order in which it fails fastest.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// Recorded behaviour and other test data that is not part of the repository: used where it is there.
const SHARED: &str = "../shared";

pub(crate) fn run() -> Result<ExitCode> {
    provide(&["python3", "--version"], "python3")?;
    provide(&["node", "--version"], "nodejs")?;
    let mut steps = Steps::default();
    steps.cargo("format", &["fmt", "--all", "--check"])?;
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    steps.cargo("lints", &lints)?;
    steps.cargo("tests", &["test", "--workspace", "--quiet", "--no-fail-fast"])?;
    steps.xtask(&["tidy"])?;
    steps.xtask(&["simulate", "--seeds", "300"])?;
    steps.xtask(&["aws"])?;
    steps.xtask(&["functions"])?;
    steps.xtask(&["hostile", "--short"])?;
    steps.xtask(&["kills", "--count", "10"])?;
    steps.shared("jsonpath", "jsonpath/cases.json")?;
    steps.shared("jsonata", "jsonata-suite")?;
    steps.shared("definitions", "machines")?;
    steps.shared("definitions", "conformance/execution")?;
    steps.shared("conformance", "conformance")?;
    Ok(steps.conclude())
}

/// The steps that have run. One that fails does not keep the next from running.
#[derive(Default)]
struct Steps {
    passed: usize,
    failed: Vec<String>,
}

impl Steps {
    fn cargo(&mut self, name: &str, arguments: &[&str]) -> Result<()> {
        println!("\n--- {name}: cargo {}", arguments.join(" "));
        let mut command = Command::new("cargo");
        // Property tests draw the same cases each time, so that no change fails by the luck of the draw;
        // `PROPTEST_CASES=10000 cargo test` looks further.
        command.current_dir(crate::root()).args(arguments).env("PROPTEST_RNG_SEED", "2016");
        if command.status()?.success() {
            self.passed += 1;
        } else {
            self.failed.push(format!("{name}: cargo {}", arguments.join(" ")));
        }
        Ok(())
    }

    fn xtask(&mut self, arguments: &[&str]) -> Result<()> {
        let all = ["run", "--quiet", "--package", "xtask", "--"].iter().chain(arguments).copied();
        self.cargo(arguments[0], &all.collect::<Vec<_>>())
    }

    fn shared(&mut self, task: &str, data: &str) -> Result<()> {
        let data = crate::root().join(SHARED).join(data);
        if !data.exists() {
            println!("\n--- {task}: no {}, skipped", data.display());
            return Ok(());
        }
        self.xtask(&[task, &data.display().to_string()])
    }

    fn conclude(self) -> ExitCode {
        println!();
        for step in &self.failed {
            println!("FAILED {step}");
        }
        println!("steps: {} passed, {} failed", self.passed, self.failed.len());
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
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
