//! The commands that speak to a server, with a real one: exit code, standard output and standard error
//! together, in `testdata/cli`. What is never the same twice is replaced.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use regex::Regex;
use support::{pin_scrubbed, root};

const DEFINITIONS: &str = "testdata/cli/remote";

/// `everstep serve` on a port of its own, killed when it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(data: &Path, listen: &str, more: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_everstep"))
            .args(["serve", "--listen", listen, "--data"])
            .arg(data)
            .envs(more.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let line = first_line(child.stderr.take().unwrap());
        let url = line.strip_prefix("everstep listens on ").unwrap().split(',').next().unwrap();
        Self { child, url: url.to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everstep"));
        command.args(arguments).current_dir(root()).env("EVERSTEP_ENDPOINT", &self.url);
        for name in
            ["EVERSTEP_ACCESS_KEYS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NO_COLOR"]
        {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Must succeed; its standard output.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Pins what the command does.
    fn check(&self, name: &str, arguments: &[&str]) {
        self.pin(name, arguments, &self.run(arguments));
    }

    fn pin(&self, name: &str, arguments: &[&str], output: &Output) {
        let command = format!("everstep {}", arguments.join(" "));
        pin_scrubbed(name, &command, output, |text| scrubbed(&text.replace(&self.url, "URL")));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn first_line(stderr: ChildStderr) -> String {
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    line
}

/// Times and durations. Lines that hold a duration lose their columns, and tables with such lines their width.
fn scrubbed(text: &str) -> String {
    let replace = |text: &str, pattern: &str, with: &str| {
        Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
    };
    let text = replace(text, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "YYYY-MM-DD HH:MM:SSZ");
    let text = replace(&text, r#""(\w+Date|timestamp)": [\d.]+"#, "\"$1\": TIME");
    let text = replace(&text, r"[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}", "UUID");
    let text = replace(&text, r"(?m)^.* (\d+\.\d s|\d+ ms)( .*)?$", "«$0»");
    let text = replace(&text, r"\d+\.\d s|\d+ ms", "TIME");
    let lines = text.lines().map(|line| match line.strip_prefix('«') {
        Some(line) => replace(line.trim_end_matches('»'), " +", " "),
        None => replace(line, "[─]{3,}|[═]{3,}", "───"),
    });
    lines.map(|line| line + "\n").collect()
}

fn server() -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), "127.0.0.1:0", &[]);
    (directory, server)
}

fn file(name: &str) -> String {
    format!("{DEFINITIONS}/{name}")
}

#[test]
fn machines() {
    let (_directory, server) = server();
    let (hello, broken) = (file("hello.asl.json"), file("broken.asl.json"));
    server.check("machines-list-none", &["machines", "list"]);
    server.check("machines-create", &["machines", "create", &hello]);
    server.check("machines-create-broken", &["machines", "create", &broken]);
    let refund = file("refund.asl.yaml");
    server.check("machines-create-other", &["machines", "create", &refund, "--name", "hello"]);
    server.check("machines-create-json", &["machines", "create", &refund, "--json"]);
    server.check("machines-list", &["machines", "list"]);
    server.check("machines-show", &["machines", "show", "refund"]);
    server.check("machines-show-definition", &["machines", "show", "hello", "--definition"]);
    server.check("machines-show-json", &["machines", "show", "hello", "--json"]);
    server.check("machines-show-unknown", &["machines", "show", "helo"]);
    server.check("machines-update-nothing", &["machines", "update", "hello"]);
    server.check("machines-update", &["machines", "update", "hello", &refund, "--log", "error"]);
    server.check("machines-show-updated", &["machines", "show", "hello"]);
    server.check("machines-delete", &["machines", "delete", "hello"]);
    server.check("machines-delete-unknown", &["machines", "delete", "something-else"]);
}

#[test]
fn activities() {
    let (_directory, server) = server();
    server.check("activities-list-none", &["activities", "list"]);
    server.check("activities-create", &["activities", "create", "approve"]);
    server.check("activities-list", &["activities", "list"]);
    server.check("activities-delete-unknown", &["activities", "delete", "aprove"]);
    server.check("activities-delete", &["activities", "delete", "approve"]);
    server.check("activities-create-bad-name", &["activities", "create", "a b"]);
}

#[test]
fn executions_that_succeed() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("hello.asl.json")]);
    let start = ["executions", "start", "hello", "--input", r#"{"n":1}"#, "--name", "one"];
    server.check("executions-start", &start);
    server.check("executions-watch-succeeded", &["executions", "watch", "one"]);
    let wait = ["executions", "start", "hello", "--input", r#"{"n":2}"#, "--name", "two", "--wait"];
    server.check("executions-start-wait", &wait);
    let json = ["executions", "start", "hello", "--name", "three", "--wait", "--json"];
    server.check("executions-start-wait-json", &json);
    let again = ["executions", "start", "hello", "--input", "[]", "--name", "one"];
    server.check("executions-start-again", &again);
    server
        .check("executions-start-not-json", &["executions", "start", "hello", "--input", "{n:1}"]);
    server.check("executions-list", &["executions", "list", "--limit", "2"]);
    let failed = ["executions", "list", "--machine", "hello", "--status", "failed"];
    server.check("executions-list-failed", &failed);
    server.check("executions-show", &["executions", "show", "one"]);
    server.check("executions-history", &["executions", "history", "one"]);
    let last = ["executions", "history", "one", "--reverse", "--limit", "1", "--full"];
    server.check("executions-history-last", &last);
    server.check("executions-show-unknown", &["executions", "show", "four"]);
    server.check("executions-redrive-succeeded", &["executions", "redrive", "one"]);

    // Another machine has one of that name too.
    server.done(&["machines", "create", &file("hello.asl.json"), "--name", "hi"]);
    server.done(&["executions", "start", "hi", "--name", "one", "--wait"]);
    server.check("executions-show-ambiguous", &["executions", "show", "one"]);
    server.done(&["executions", "show", "one", "--machine", "hi"]);
}

#[test]
fn an_execution_that_fails() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("refund.asl.yaml")]);
    let input = r#"{"amount":50}"#;
    let start = ["executions", "start", "refund", "--input", input, "--name", "one", "--wait"];
    server.check("executions-start-failed", &start);
    server.check("executions-watch-failed", &["executions", "watch", "one"]);
    server.check("executions-show-failed", &["executions", "show", "one"]);
    server.check("executions-history-failed", &["executions", "history", "one"]);
    server.check("executions-redrive", &["executions", "redrive", "one"]);
}

#[test]
fn an_express_execution() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("hello.asl.json"), "--type", "express"]);
    let fails = ["machines", "create", &file("refund.asl.yaml"), "--type", "express"];
    server.done(&fails);
    server.check("executions-express", &["executions", "start", "hello", "--wait"]);
    let input = r#"{"amount":50}"#;
    let fails = ["executions", "start", "refund", "--input", input, "--wait"];
    server.check("executions-express-failed", &fails);
}

/// One that is watched while it runs, while the server is killed and comes back, and until it is stopped.
#[test]
fn an_execution_that_is_watched() {
    let (directory, server) = server();
    server.done(&["activities", "create", "approve"]);
    server.done(&["machines", "create", &file("approval.asl.json")]);
    server.done(&["executions", "start", "approval", "--name", "one"]);
    server.check("executions-show-running", &["executions", "show", "one", "--json"]);
    let watch = ["executions", "watch", "one"];
    let mut watching =
        server.command(&watch).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(watching.stderr.take().unwrap());
    let mut story = String::new();
    told.read_line(&mut story).unwrap();

    let listen = server.url.strip_prefix("http://").unwrap().to_owned();
    drop(server);
    let server = Server::start(directory.path(), &listen, &[]);
    let why = ["--error", "Enough", "--cause", "nobody approves"];
    server.check("executions-stop", &[&["executions", "stop", "one"][..], &why].concat());
    told.read_to_string(&mut story).unwrap();
    let mut output = watching.wait_with_output().unwrap();
    // Whether it has looked just then is a matter of luck.
    let missed = "the server does not answer; waiting for it";
    let lines = story.lines().filter(|line| !line.contains(missed));
    output.stderr = lines.map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    server.pin("executions-watch-stopped", &watch, &output);
}

#[test]
fn nothing_answers() {
    let (_directory, server) = server();
    let gone = Server { url: server.url.clone(), child: spawned() };
    drop(server);
    gone.check("remote-nothing-answers", &["machines", "list"]);
    gone.check("remote-not-a-url", &["machines", "list", "--endpoint", "localhost"]);
}

fn spawned() -> Child {
    Command::new("true").spawn().unwrap()
}

#[test]
fn signed() {
    let directory = tempfile::tempdir().unwrap();
    let keys = [("EVERSTEP_ACCESS_KEYS", "ME:secret")];
    let server = Server::start(directory.path(), "127.0.0.1:0", &keys);
    let list = ["machines", "list"];
    let with = |variables: &[(&str, &str)]| {
        server.command(&list).envs(variables.iter().copied()).output().unwrap()
    };
    server.pin("remote-unsigned", &list, &with(&[]));
    server.pin("remote-signed-wrong", &list, &with(&[("EVERSTEP_ACCESS_KEYS", "ME:guess")]));
    assert!(with(&keys).status.success());
    let aws = [("AWS_ACCESS_KEY_ID", "ME"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    assert!(with(&aws).status.success());
    server.pin("remote-half-a-key", &list, &with(&aws[..1]));
}
