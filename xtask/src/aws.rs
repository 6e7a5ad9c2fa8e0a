//! `cargo xtask aws`: the API as the AWS SDKs and the AWS command line see it, against a real server.
//!
//! All suites are run by pytest, from an environment in cargo's target directory; nothing is installed into
//! the tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::test::provide;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only this suite
    #[arg(long)]
    only: Option<Suite>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Every operation and every error it declares, through boto3
    Boto3,
    /// The aws command line
    Awscli,
    /// The SDK for JavaScript
    Javascript,
    /// Clients whose server is killed again and again
    Kill,
    /// Callers that mean harm
    Hostile,
    /// The tutorials, followed as a reader would
    Tutorials,
}

/// Where suites are run.
pub(crate) struct Place {
    /// The suites.
    tests: PathBuf,
    /// For what is installed.
    work: PathBuf,
    server: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let place = Place::prepare()?;
    let python = place.python()?;
    let wanted = |suite: &Suite| arguments.only.is_none_or(|only| only == *suite);
    let mut failed = 0;
    for suite in Suite::value_variants().iter().copied().filter(wanted) {
        failed += usize::from(!place.run(suite, &python)?);
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Place {
    pub(crate) fn prepare() -> Result<Self> {
        succeed(cargo().args(["build", "--quiet", "--package", "everstep-cli"]))?;
        Self::with(built()?.join("everstep"))
    }

    /// With a server as users run it.
    pub(crate) fn released() -> Result<Self> {
        succeed(cargo().args(["build", "--quiet", "--release", "--package", "everstep-cli"]))?;
        Self::with(built()?.with_file_name("release").join("everstep"))
    }

    /// With a server that is built already.
    pub(crate) fn with(server: PathBuf) -> Result<Self> {
        let work = built()?.join("aws");
        fs::create_dir_all(&work)?;
        Ok(Self { tests: crate::root().join("tests/aws"), work, server })
    }

    /// Whether what pytest finds in a folder of tests holds; pytest says what it does.
    pub(crate) fn pytest(
        &self,
        folder: &str,
        options: &[&str],
        told: &[(&str, &Path)],
    ) -> Result<bool> {
        let mut command = Command::new(self.python()?);
        command.args(["-m", "pytest"]).args(options);
        command.current_dir(crate::root().join("tests").join(folder)).envs(told.iter().copied());
        command.env("EVERSTEP", &self.server).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command.status().with_context(|| format!("{command:?}"))?.success())
    }

    /// The Python of an environment that has what the tests require; made anew when that has changed.
    fn python(&self) -> Result<PathBuf> {
        let environment = self.work.join("venv");
        let python = environment.join("bin/python");
        let wanted = self.tests.join("requirements.txt");
        if same(&wanted, &environment.join("requirements.txt")) {
            return Ok(python);
        }
        provide(&["python3", "-c", "import ensurepip"], "python3-venv")?;
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        let mut install = Command::new(&python);
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        succeed(install.arg("--requirement").arg(&wanted))?;
        // Last, so that what was interrupted is done again.
        fs::copy(&wanted, environment.join("requirements.txt"))?;
        Ok(python)
    }

    /// The folder with the JavaScript tests and their packages.
    fn javascript(&self) -> Result<PathBuf> {
        let (source, folder) = (self.tests.join("js"), self.work.join("js"));
        let lock = "package-lock.json";
        let installed = folder.join("node_modules").join(".installed");
        provide(&["node", "--version"], "nodejs")?;
        provide(&["npm", "--version"], "npm")?;
        fs::create_dir_all(&folder)?;
        for file in ["package.json", lock, "sfn.test.js", "sqs.test.js"] {
            fs::copy(source.join(file), folder.join(file))?;
        }
        if !same(&source.join(lock), &installed) {
            let quiet = ["ci", "--no-audit", "--no-fund", "--silent"];
            succeed(Command::new("npm").args(quiet).current_dir(&folder))?;
            fs::copy(source.join(lock), &installed)?;
        }
        Ok(folder)
    }

    /// Runs a suite and says in a line how it went; whether it passed.
    fn run(&self, suite: Suite, python: &Path) -> Result<bool> {
        let mut command = Command::new(python);
        command.args(["-m", "pytest"]).args(suite.files()).current_dir(&self.tests);
        command.env("EVERSTEP", &self.server).env("PYTHONDONTWRITEBYTECODE", "1");
        match suite {
            Suite::Awscli => _ = command.env("EVERSTEP_AWS_CLI", command_line()?),
            Suite::Tutorials => {
                provide(&["jq", "--version"], "jq")?;
                command.env("EVERSTEP_AWS_CLI", command_line()?);
            }
            Suite::Javascript => _ = command.env("EVERSTEP_JAVASCRIPT", self.javascript()?),
            _ => {}
        }
        let output = command.output().with_context(|| format!("{command:?}"))?;
        let passed = output.status.success();
        let said = String::from_utf8_lossy(&output.stdout);
        if !passed {
            println!("{said}\n{}", String::from_utf8_lossy(&output.stderr));
        }
        let verdict = if passed { "ok    " } else { "FAILED" };
        let name = format!("{suite:?}").to_lowercase();
        let counted = said.trim_end().lines().next_back().unwrap_or_default();
        println!("{verdict} {name}: {counted}");
        Ok(passed)
    }
}

impl Suite {
    /// What pytest collects: boto3 is all that no other suite is.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Boto3 => &[
                "--ignore=test_cli.py",
                "--ignore=test_javascript.py",
                "--ignore=test_kill.py",
                "--ignore=test_sqs_cli.py",
                "--ignore=test_sqs_kill.py",
                "--ignore=test_hostile.py",
                "--ignore=test_tutorials.py",
            ],
            Self::Awscli => &["test_cli.py", "test_sqs_cli.py"],
            Self::Javascript => &["test_javascript.py"],
            Self::Kill => &["test_kill.py", "test_sqs_kill.py"],
            Self::Hostile => &["test_hostile.py"],
            Self::Tutorials => &["test_tutorials.py"],
        }
    }
}

/// Debian's, which the suite installs for itself: what else is on the PATH may be any version.
fn command_line() -> Result<&'static str> {
    const DEBIAN: &str = "/usr/bin/aws";
    provide(&[DEBIAN, "--version"], "awscli")?;
    Ok(DEBIAN)
}

/// The folder that cargo builds this program and the server in.
pub(crate) fn built() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.parent().context("no folder has this program")?.to_owned())
}

fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(crate::root());
    cargo
}

pub(crate) fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}
