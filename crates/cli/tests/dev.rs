//! `everstep dev` at work: what it loads again and why, what it says, and how it ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// More than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder and a server for it, killed when it is dropped.
struct Dev {
    folder: tempfile::TempDir,
    child: Child,
    url: String,
    told: Receiver<String>,
}

impl Dev {
    fn start(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let (child, told) = spawn("dev", folder.path());
        let mut dev = Self { folder, child, url: String::new(), told };
        let line = dev.until("everstep listens on ");
        dev.url = line.split([' ', ',']).nth(3).unwrap().to_owned();
        dev
    }

    /// Stops as a service manager does, and starts again, this time with `serve`.
    fn serve_instead(&mut self) {
        self.signal("-TERM");
        assert!(self.child.wait().unwrap().success());
        (self.child, self.told) = spawn("serve", self.folder.path());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The next line that has this in it.
    fn until(&self, wanted: &str) -> String {
        let mut passed = Vec::new();
        loop {
            match self.told.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(wanted) => return line,
                Ok(line) => passed.push(line),
                Err(error) => panic!("'{wanted}' is not told ({error}), but {passed:#?}"),
            }
        }
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everstep"));
        let output = command.args(arguments).env("EVERSTEP_ENDPOINT", &self.url).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

fn spawn(command: &str, folder: &Path) -> (Child, Receiver<String>) {
    let mut everstep = Command::new(env!("CARGO_BIN_EXE_everstep"));
    everstep.args([command, "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("kept"));
    if command == "dev" {
        everstep.arg(folder)
    } else {
        everstep.arg("--functions").arg(folder)
    };
    let mut child = everstep.stderr(Stdio::piped()).spawn().unwrap();
    let (lines, told) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
    });
    (child, told)
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const HELLO: &str = "def handler(event, context):\n    return 'hello'\n";

/// Keeps count in its process, and writes a file each time.
const COUNTING: &str = "\
calls = []
def handler(event, context):
    calls.append(event)
    with open('out.json', 'w') as out:
        out.write('\"' + 'x' * len(calls) + '\"')
    return len(calls)
";

const TWO: &str = "\
version: 1
functions:
  app: { runtime: python3.11, handler: app.handler, onSuccess: 'file:done.py' }
stateMachines:
  old: { definition: machine.asl.json }
  new: { definition: machine.asl.json }
";

const ONE: &str = "\
version: 1
functions:
  app: { runtime: python3.11, handler: app.handler }
stateMachines:
  new: { definition: machine.asl.json }
";

const MACHINE: &str = r#"{ "StartAt": "Done", "States": { "Done": { "Type": "Succeed" } } }"#;

#[test]
fn what_functions_write_is_not_loaded() {
    let dev =
        Dev::start(&[("everstep.yaml", TWO), ("app.py", COUNTING), ("machine.asl.json", MACHINE)]);
    assert_eq!(dev.run(&["invoke", "app", "--async", "--wait"]), "1");
    assert_eq!(dev.run(&["invoke", "app", "--async", "--wait"]), "2");
    let begun = Instant::now();
    while fs::read_to_string(dev.path("done.py")).unwrap_or_default().lines().count() < 2 {
        assert!(begun.elapsed() < PATIENCE, "the records do not arrive");
        std::thread::yield_now();
    }
    assert!(dev.path("out.json").exists());
    dev.write("app.py", HELLO);
    let line = dev.until("reloaded");
    assert!(line.starts_with("reloaded, app.py changed: 1 function, 2 state machines"), "{line}");
    assert_eq!(dev.run(&["invoke", "app"]), "\"hello\"");
}

#[test]
fn code_is_taken_up_although_something_else_is_wrong() {
    let dev =
        Dev::start(&[("everstep.yaml", ONE), ("app.py", COUNTING), ("machine.asl.json", MACHINE)]);
    assert_eq!(dev.run(&["invoke", "app"]), "1");
    dev.write("machine.asl.json", "{}");
    let line = dev.until("state machine 'new' has errors");
    assert!(line.ends_with(": its previous version keeps running"), "{line}");
    let line = dev.until("reloaded, machine.asl.json changed");
    assert!(line.contains("1 function, 0 of 1 state machine from "), "{line}");
    assert_eq!(dev.run(&["invoke", "app"]), "2");
    dev.run(&["executions", "start", "new", "--wait"]);
    dev.write("everstep.yaml", "version: 2\n");
    let line = dev.until("not reloaded");
    assert_eq!(line, "not reloaded, everstep.yaml changed: the previous version keeps running");
    dev.write("app.py", HELLO);
    let line = dev.until("not reloaded");
    let expected = "the previous version keeps running, with the new code";
    assert_eq!(line, format!("not reloaded, app.py changed: {expected}"));
    assert_eq!(dev.run(&["invoke", "app"]), "\"hello\"");
    dev.write("machine.asl.json", MACHINE);
    dev.write("everstep.yaml", ONE);
    dev.until("reloaded, everstep.yaml");
}

const MIXED: &str = "\
version: 1
stateMachines:
  bad: { definition: bad.asl.json }
  good: { definition: good.asl.json }
";

/// What the specification takes and the service would refuse.
const GOOD: &str = r#"{ "StartAt": "A", "States": {
  "A": { "Type": "Pass", "End": true }, "Unreachable": { "Type": "Pass", "End": true } } }"#;

#[test]
fn one_bad_machine_keeps_no_other_from_being_served() {
    let mut dev = Dev::start(&[
        ("everstep.yaml", MIXED),
        ("bad.asl.json", r#"{ "StartAt": "B", "States": {} }"#),
        ("good.asl.json", GOOD),
    ]);
    let line = dev.until("dialect spec: ");
    assert!(line.contains("to change that: --dialect aws"), "{line}");
    dev.until("0 functions, 1 of 2 state machines from ");
    dev.run(&["executions", "start", "good", "--wait"]);
    dev.serve_instead();
    dev.until("state machine 'bad' has errors: it is not served");
    dev.until("0 functions, 1 of 2 state machines from ");
}

#[test]
fn a_machine_that_is_left_behind_is_told() {
    let mut dev =
        Dev::start(&[("everstep.yaml", TWO), ("app.py", HELLO), ("machine.asl.json", MACHINE)]);
    dev.write("everstep.yaml", ONE);
    dev.until("reloaded, everstep.yaml changed");
    let expected = "state machine 'old' is no longer in everstep.yaml but still exists; to delete it: \
                    everstep machines delete old";
    assert_eq!(dev.until("state machine"), expected);
    dev.run(&["executions", "start", "old"]);
    dev.serve_instead();
    assert_eq!(dev.until("state machine '"), expected);
}

/// Waits for a file.
const PATIENT: &str = "\
version: 1
functions:
  patient: { runtime: command, command: [sh, patient.sh], timeout: 60 }
";
const PATIENT_SH: &str = "echo begun >&2; while [ ! -e enough ]; do sleep 0.05; done; echo 1\n";

fn stopped_at_work() -> Dev {
    let dev = Dev::start(&[("everstep.yaml", PATIENT), ("patient.sh", PATIENT_SH)]);
    dev.run(&["invoke", "patient", "--async"]);
    dev.until("begun");
    dev.signal("-INT");
    let line = dev.until("Ctrl-C");
    assert_eq!(
        line,
        "stopping: waiting up to 10 s for 1 running call; press Ctrl-C again to stop now"
    );
    dev
}

#[test]
fn calls_may_come_to_their_end() {
    let mut dev = stopped_at_work();
    dev.write("enough", "");
    assert_eq!(dev.child.wait().unwrap().code(), Some(0));
}

#[test]
fn who_cannot_wait_asks_again() {
    let mut dev = stopped_at_work();
    dev.signal("-INT");
    assert_eq!(dev.child.wait().unwrap().code(), Some(130));
}
