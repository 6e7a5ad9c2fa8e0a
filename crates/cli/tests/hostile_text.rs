//! Names, causes, errors and output that would control a terminal: they reach it as visible text only.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use support::{everstep, until};

/// Clears the screen, rings, deletes, sets colours in one byte, reorders, goes back on its line.
const HOSTILE: &str = "a\u{1b}[2J\u{7}\u{7f}\u{9b}31m\u{202e}b\rc";

/// A name of a state may also have a line end, and look like two lines.
fn state() -> String {
    format!("{HOSTILE}\n+ forged")
}

fn failing() -> Value {
    let (state, first) = (state(), format!("{HOSTILE} first"));
    json!({
        "Comment": HOSTILE,
        "StartAt": first,
        "States": {
            first: { "Type": "Pass", "Result": { HOSTILE: HOSTILE }, "Next": state },
            state: { "Type": "Fail", "Error": HOSTILE, "Cause": HOSTILE },
        },
    })
}

fn passing() -> Value {
    json!({
        "StartAt": "P",
        "States": { "P": { "Type": "Pass", "Result": { HOSTILE: HOSTILE }, "End": true } },
    })
}

/// A target that is not there, an unknown field, and a state that is never reached.
fn invalid() -> Value {
    json!({
        "StartAt": state(),
        "States": {
            state(): { "Type": "Pass", HOSTILE: 1, "Next": format!("{HOSTILE}?") },
            HOSTILE: { "Type": HOSTILE },
        },
    })
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn assert_visible(what: &str, text: &str) {
    let controls = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || letter == '\u{202e}'
    };
    assert!(!text.contains(controls), "{what}: {text:?}");
    let forged = text.lines().any(|line| line.starts_with("+ forged"));
    assert!(!forged, "{what}: {text}");
}

/// Nothing unsafe on either stream, and that it was there at all.
#[track_caller]
fn check(what: &str, output: &Output) -> String {
    let (data, story) = (text_of(&output.stdout), text_of(&output.stderr));
    assert_visible(what, &data);
    assert_visible(what, &story);
    let all = data.clone() + &story;
    let shown = ["\\u{1b}", "\\u{9b}", "\\u001b", "\\u009b", "␛"];
    assert!(shown.iter().any(|shown| all.contains(shown)), "{what}: {all}");
    data
}

/// The same, and it is JSON that has the name as it is.
#[track_caller]
fn check_json(what: &str, output: &Output) {
    let value: Value = serde_json::from_str(&check(what, output)).unwrap();
    assert!(has(&value), "{what}: {value}");
}

fn has(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(HOSTILE) || text.contains("\\u001b[2J"),
        Value::Array(values) => values.iter().any(has),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| name.contains(HOSTILE) || has(value))
        }
        _ => false,
    }
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, definition) in
            [("failing", failing()), ("passing", passing()), ("invalid", invalid())]
        {
            fs::write(folder.definition(name), definition.to_string()).unwrap();
        }
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn definition(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.asl.json"))
    }
}

fn file(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn what_is_said_about_definitions_is_visible() {
    let folder = Folder::new();
    let (failing, invalid) = (folder.definition("failing"), folder.definition("invalid"));
    let (failing, invalid) = (file(&failing), file(&invalid));
    let run = |arguments: &[&str]| everstep(arguments).output().unwrap();
    check("validate", &run(&["validate", invalid]));
    check_json("validate as JSON", &run(&["validate", invalid, "--format", "json"]));
    check_json("validate as SARIF", &run(&["validate", invalid, "--format", "sarif"]));
    check("explain", &run(&["explain", failing]));
    check("explain a state", &run(&["explain", failing, &state()]));
    check("explain an unknown state", &run(&["explain", failing, HOSTILE]));
    check_json("explain as JSON", &run(&["explain", failing, &state(), "--json"]));
    for format in ["svg", "mermaid", "dot"] {
        let picture = run(&["graph", failing, "--format", format]);
        assert_visible(format, &text_of(&picture.stdout));
    }
}

#[test]
fn what_runs_say_is_visible() {
    let folder = Folder::new();
    let (failing, passing) = (folder.definition("failing"), folder.definition("passing"));
    let run = |arguments: &[&str]| everstep(arguments).output().unwrap();
    check("run", &run(&["run", file(&failing)]));
    check("run quietly", &run(&["run", file(&failing), "--quiet"]));
    check_json("the output of run", &run(&["run", file(&passing)]));
    check_json("run as JSON", &run(&["run", file(&failing), "--json"]));
    check_json("the history of run", &run(&["run", file(&failing), "--history"]));
}

/// `everstep dev` or `serve`, whose lines are in a file.
struct Engine {
    folder: Folder,
    child: Child,
    url: String,
}

impl Engine {
    fn start(command: &str) -> Self {
        let folder = Folder::new();
        let error = json!({ "errorType": HOSTILE, "errorMessage": HOSTILE }).to_string();
        fs::write(folder.path().join("error.json"), error).unwrap();
        fs::write(folder.path().join("line"), format!("{HOSTILE}\n")).unwrap();
        let fail = "cat line >&2; cat error.json; exit 1";
        let config = json!({
            "version": 1,
            "functions": {
                "fail": { "runtime": "command", "command": ["sh", "-c", fail], "retry": "none" },
                "echo": { "runtime": "command", "command": ["sh", "-c", "cat line >&2; cat"] },
            },
            "stateMachines": {
                "failing": { "definition": "failing.asl.json" },
                "passing": { "definition": "passing.asl.json" },
            },
        });
        fs::write(folder.path().join("everstep.yaml"), config.to_string()).unwrap();
        let mut started = Command::new(env!("CARGO_BIN_EXE_everstep"));
        let stderr = File::create(folder.path().join("log.txt")).unwrap();
        started.args([command, "--listen", "127.0.0.1:0", "--data"]);
        started.arg(folder.path().join(".data")).stderr(stderr).stdin(Stdio::null());
        match command {
            "dev" => started.arg(folder.path()),
            _ => started.arg("--functions").arg(folder.path()),
        };
        let mut engine = Self { child: started.spawn().unwrap(), folder, url: String::new() };
        until("it does not listen", || engine.log().contains("everstep listens on "));
        let log = engine.log();
        engine.url = log.split("listens on ").nth(1).unwrap().split(',').next().unwrap().to_owned();
        engine
    }

    fn log(&self) -> String {
        text_of(&fs::read(self.folder.path().join("log.txt")).unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Output {
        everstep(arguments).env("EVERSTEP_ENDPOINT", &self.url).output().unwrap()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_a_server_knows_is_visible() {
    let engine = Engine::start("dev");
    let run = |arguments: &[&str]| engine.run(arguments);
    let start = ["executions", "start", "failing", "--name", "e-1", "--wait"];
    check("start and wait", &run(&start));
    check("watch", &run(&["executions", "watch", "e-1"]));
    check("show", &run(&["executions", "show", "e-1"]));
    check("history", &run(&["executions", "history", "e-1"]));
    check("the whole history", &run(&["executions", "history", "e-1", "--full"]));
    check_json("show as JSON", &run(&["executions", "show", "e-1", "--json"]));
    check("the definition", &run(&["machines", "show", "failing", "--definition"]));
    let input = json!({ HOSTILE: HOSTILE }).to_string();
    let start = ["executions", "start", "passing", "--name", "e-2", "--wait", "--input", &input];
    check_json("the output", &run(&start));
    check("invoke", &run(&["invoke", "fail", "--payload", &input]));
    check_json("the result", &run(&["invoke", "echo", "--payload", &input]));
    check("invoke and wait", &run(&["invoke", "fail", "--payload", &input, "--async", "--wait"]));
    check("dead letters", &run(&["deadletters", "list"]));
    check("invocations", &run(&["invocations", "list"]));
    let letters = run(&["deadletters", "list", "--json"]);
    check_json("dead letters as JSON", &letters);
    let letters: Value = serde_json::from_slice(&letters.stdout).unwrap();
    let id = letters["invocations"][0]["invocationId"].as_str().unwrap();
    check("an invocation", &run(&["invocations", "show", id]));
    check("a dead letter", &run(&["deadletters", "show", id]));
    until("its end is not logged", || engine.log().contains("gave up after"));
    assert!(engine.log().contains("\\u{1b}[2J"), "{}", engine.log());
    assert_visible("the log of dev", &engine.log());
}

#[test]
fn what_functions_write_is_visible_in_the_log() {
    let engine = Engine::start("serve");
    engine.run(&["invoke", "echo", "--payload", "1"]);
    until("the line is not logged", || engine.log().contains("\\u{1b}[2J"));
    assert_visible("the log of serve", &engine.log());
}
