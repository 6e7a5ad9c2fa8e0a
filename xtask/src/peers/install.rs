//! The others: installed once, in the versions that `tests/peers` names, and asked by its scripts.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::Case;
use crate::aws::{built, same, succeed};
use crate::test::provide;

/// Whom we compare with, as their answers and the tables name them.
pub(super) const PEERS: [&str; 3] = ["asl-validator", "language service", "moto"];

/// Where they are, outside of the tree.
pub(super) struct Installed {
    node: PathBuf,
    python: PathBuf,
}

impl Installed {
    pub(super) fn prepare() -> Result<Self> {
        let (source, work) = (crate::root().join("tests/peers"), built()?.join("peers"));
        fs::create_dir_all(&work)?;
        Ok(Self { node: node(&source, &work)?, python: python(&source, &work)? })
    }

    /// What each of the others finds in each case, by the number of the case, in the order of [`PEERS`].
    pub(super) fn ask(&self, cases: &[Case]) -> Result<BTreeMap<usize, Vec<Vec<String>>>> {
        let lines: Vec<String> = cases
            .iter()
            .enumerate()
            .map(|(id, case)| json!({ "id": id, "definition": case.definition }).to_string())
            .collect();
        let input = lines.join("\n");
        let script = crate::root().join("tests/peers/validate.py");
        let mut answers = answers(Command::new("node").arg("validate.js"), &self.node, &input)?;
        answers.extend(self::answers(
            Command::new(&self.python).arg(script),
            &crate::root(),
            &input,
        )?);
        let mut found = BTreeMap::new();
        for id in 0..cases.len() {
            found.insert(id, of_case(&answers, id)?);
        }
        Ok(found)
    }
}

type Answers = BTreeMap<(usize, String), Vec<String>>;

fn of_case(answers: &Answers, id: usize) -> Result<Vec<Vec<String>>> {
    let of = |peer: &&str| {
        let found = answers.get(&(id, (*peer).to_owned()));
        found.cloned().with_context(|| format!("{peer} says nothing about definition {id}"))
    };
    PEERS.iter().map(of).collect()
}

/// The folder with the packages and the script.
fn node(source: &Path, work: &Path) -> Result<PathBuf> {
    let lock = "package-lock.json";
    let (folder, installed) = (work.join("node"), work.join("node/node_modules/.installed"));
    provide(&["node", "--version"], "nodejs")?;
    provide(&["npm", "--version"], "npm")?;
    fs::create_dir_all(&folder)?;
    for file in ["package.json", lock, "validate.js"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    if !same(&source.join(lock), &installed) {
        let quiet = ["ci", "--no-audit", "--no-fund", "--silent"];
        succeed(Command::new("npm").args(quiet).current_dir(&folder))?;
        fs::copy(source.join(lock), &installed)?;
    }
    Ok(folder)
}

/// The Python of an environment that has moto.
fn python(source: &Path, work: &Path) -> Result<PathBuf> {
    let (environment, wanted) = (work.join("venv"), source.join("requirements.txt"));
    let python = environment.join("bin/python");
    if same(&wanted, &environment.join("requirements.txt")) {
        return Ok(python);
    }
    provide(&["python3", "-c", "import ensurepip"], "python3-venv")?;
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    succeed(install.arg("--requirement").arg(&wanted))?;
    fs::copy(&wanted, environment.join("requirements.txt"))?;
    Ok(python)
}

/// Runs a script on the cases, and reads its lines.
fn answers(command: &mut Command, folder: &Path, input: &str) -> Result<Answers> {
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let mut stdin = child.stdin.take().context("a pipe")?;
    let input = input.to_owned();
    // Both sides write: without a thread, each could wait for the other.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{command:?} failed");
    if writer.join().is_err() {
        bail!("{command:?} did not read its input");
    }
    let mut answers = Answers::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let answer: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
        let (id, peer) = (answer["id"].as_u64(), answer["peer"].as_str());
        let (id, peer) = id.zip(peer).with_context(|| line.to_owned())?;
        let problems = serde_json::from_value(answer["problems"].clone())?;
        answers.insert((usize::try_from(id)?, peer.to_owned()), problems);
    }
    Ok(answers)
}
