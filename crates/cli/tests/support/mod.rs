//! Runs the command and compares what it does with `testdata/cli`.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "for tests, each of which uses some of it"
)]

pub mod lines;
pub mod server;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
pub const DEADLINE: Duration = Duration::from_secs(60);
pub const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Polls until a condition holds; panics with `problem` at the deadline.
pub fn until(problem: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "{problem}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The command with these arguments, in the root of the repository, with its output captured.
pub fn everstep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everstep"));
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn run(arguments: &str, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_everstep"))
        .args(arguments.split_whitespace())
        .current_dir(root())
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that rejects its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs `everstep` with these arguments in the root of the repository.
pub fn check(name: &str, arguments: &str) {
    check_input(name, arguments, "");
}

pub fn check_input(name: &str, arguments: &str, input: &str) {
    let output = run(arguments, input);
    pin(name, &format!("everstep {arguments}"), &output);
}

/// Compares exit code, standard output and standard error with the recorded ones.
pub fn pin(name: &str, command: &str, output: &Output) {
    pin_scrubbed(name, command, output, str::to_owned);
}

/// As [`pin`], with placeholders for what differs between runs.
pub fn pin_scrubbed(name: &str, command: &str, output: &Output, scrub: impl Fn(&str) -> String) {
    let seen = format!(
        "$ {command}\n==== exit code {}\n==== stdout\n{}==== stderr\n{}",
        output.status.code().unwrap(),
        scrub(str::from_utf8(&output.stdout).unwrap()),
        scrub(str::from_utf8(&output.stderr).unwrap()),
    );
    let file = root().join("testdata/cli").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, seen).unwrap();
        return;
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        expected == seen,
        "{} is not what was seen (UPDATE_EXPECT=1 rewrites it):\n{seen}",
        file.display()
    );
}
