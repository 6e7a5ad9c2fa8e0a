//! `everstep run` with commands as functions: their input and output, failures, time limits, and that nothing of
//! them stays behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use support::{DEADLINE, POLL_INTERVAL, everstep, pin, until};

/// A directory of its own for a test.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Runs `call.asl.json` with this command; the times of day are not pinned.
fn call(name: &str, function: &str, input: &str) {
    call_with(name, function, &["--input", input]);
}

fn call_with(name: &str, function: &str, options: &[&str]) {
    let output = everstep(&["run", "testdata/cli/run/call.asl.json"])
        .args(options)
        .args(["--quiet", "--function", &format!("f={function}")])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let error = match error.split_once(" after ") {
        Some((before, after)) => {
            format!("{before} after …{}", after.trim_start_matches(|c| c != ':'))
        }
        None => error,
    };
    let output = Output { stderr: error.into_bytes(), ..output };
    pin(name, &format!("everstep run call.asl.json --function f={function}"), &output);
}

#[test]
fn commands_answer() {
    call("run-function-echo", "python3 -c 'import sys; print(sys.stdin.read())'", r#"{"a":1}"#);
    call("run-function-nothing", "true", "{}");
    call("run-function-unread", "echo 1", r#"{"a":"never read"}"#);
    call("run-function-says", "echo first >&2; echo second >&2; echo 1", "{}");
    call(
        "run-function-throws",
        r#"echo '{"errorType": "CardExpired", "errorMessage": "in May"}'; exit 1"#,
        "{}",
    );
    call("run-function-crashes", "echo about to die >&2; exit 7", "{}");
    call_with("run-function-crashes-aws", "exit 7", &["--dialect", "aws"]);
    call_with("run-function-not-json-aws", "echo hello", &["--dialect", "aws"]);
    call("run-function-killed", "kill -9 $$", "{}");
    call("run-function-not-json", "echo hello", "{}");
    call("run-function-floods", "yes | head -c 9000000", "{}");
    call("run-function-missing", "no-such-command-of-anybody 2>/dev/null", "{}");
    call(
        "run-function-environment",
        r#"echo "[\"$EVERSTEP_STATE\",\"$EVERSTEP_FUNCTION\",\"$EVERSTEP_ATTEMPT\"]""#,
        "{}",
    );
}

/// A retrier of either name takes a crash, in both dialects.
#[test]
fn crashes_have_two_names() {
    for name in ["Lambda.Unknown", "Runtime.ExitError"] {
        for dialect in ["spec", "aws"] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("crash.asl.json");
            let definition = format!(
                r#"{{"StartAt": "A", "States": {{"A": {{
                    "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f",
                    "TimeoutSeconds": 60, "End": true,
                    "Retry": [{{"ErrorEquals": ["{name}"], "MaxAttempts": 1, "IntervalSeconds": 1}}]
                }}}}}}"#
            );
            fs::write(&file, definition).unwrap();
            let function = r#"f=[ "$EVERSTEP_ATTEMPT" = 2 ] || exit 7"#;
            let file = file.to_str().unwrap();
            let options = ["--skip-waits", "--dialect", dialect, "--function", function];
            let output = everstep(&["run", file]).args(options).output().unwrap();
            assert!(output.status.success(), "{name}, {dialect}: {output:?}");
        }
    }
}

/// `lambda:invoke` hands the payload over and wraps the answer.
#[test]
fn commands_answer_invocations() {
    let arguments = ["run", "testdata/cli/run/invoke.asl.json", "--function", "pack=cat"];
    let output = everstep(&arguments).args(["--input", r#"{"id":7}"#]).output().unwrap();
    assert_eq!(str::from_utf8(&output.stdout).unwrap(), "{\"id\":7,\"packed\":true}\n");
}

/// The functions of the example, with a failure that passes.
#[test]
fn the_example_runs_with_its_functions() {
    let input =
        r#"{"orderId":"o-1","fail":{"charge-customer":{"error":"RateLimitError","times":2}}}"#;
    let function = r#"*=python3 examples/order/functions.py "$EVERSTEP_FUNCTION""#;
    let output = everstep(&["run", "examples/order/order.asl.json", "--skip-waits", "--json"])
        .args(["--quiet", "--input", input, "--function", function])
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{document:#}");
    assert_eq!(document["output"]["trackingNumber"], "tr-1");
    assert_eq!((&document["retries"], &document["states"]), (&2.into(), &4.into()));
}

/// By the shell: a program named `kill` is not on every machine.
fn send(signal: &str, pid: &str) -> bool {
    let command = format!("kill {signal} {pid}");
    let status = Command::new("sh").args(["-c", &command]).stderr(Stdio::null()).status();
    status.unwrap().success()
}

fn is_alive(pid: &str) -> bool {
    send("-0", pid)
}

/// A command that writes its process id and that of its child, and then runs for ten minutes.
fn lingering(directory: &Path) -> String {
    let file = directory.join("pids");
    format!("sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait", file.display())
}

fn pids(directory: &Path) -> Vec<String> {
    // A command may be killed before it has written anything.
    let text = fs::read_to_string(directory.join("pids")).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn gone(directory: &Path) {
    for pid in pids(directory) {
        until("a process is still there", || !is_alive(&pid));
    }
}

#[test]
fn commands_that_take_too_long_are_ended() {
    for (definition, exit_code, words) in [
        ("slow", 1, "States.Timeout: The task ran longer than TimeoutSeconds (1 s)."),
        ("silent", 0, "States.Timeout: The task sent no heartbeat for longer than"),
    ] {
        let directory = directory(definition);
        let function = format!("f={}", lingering(&directory));
        let file = format!("testdata/cli/run/{definition}.asl.json");
        let output = everstep(&["run", &file, "--function", &function]).output().unwrap();
        let story = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(exit_code), "{story}");
        assert!(story.contains(words), "{story}");
        gone(&directory);
    }
}

fn end_of(mut child: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > DEADLINE {
            child.kill().unwrap();
            panic!("it does not end");
        }
        thread::sleep(POLL_INTERVAL);
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn an_interrupt_aborts() {
    for signal in ["-INT", "-TERM"] {
        let directory = directory(&format!("interrupt{signal}"));
        let function = format!("f={}", lingering(&directory));
        let child = everstep(&["run", "testdata/cli/run/call.asl.json", "--function", &function])
            .spawn()
            .unwrap();
        until("the command has not started", || directory.join("pids").exists());
        let pid = child.id().to_string();
        assert!(send(signal, &pid));
        let (code, story) = end_of(child);
        assert_eq!(code, Some(130), "{story}");
        assert!(story.contains("ABORTED after") && story.contains("at Call"), "{story}");
        gone(&directory);
    }
}

/// Each of two commands waits for the other: only together can they end.
#[test]
fn branches_run_at_the_same_time() {
    let directory = directory("pair");
    let function = |mine: &str, other: &str| {
        let path = directory.display();
        format!(
            "touch {path}/{mine}; for i in $(seq 3000); do test -e {path}/{other} && exec echo 1; \
             sleep 0.01; done; exit 1"
        )
    };
    let output = everstep(&["run", "testdata/cli/run/pair.asl.json", "--quiet"])
        .args(["--function", &format!("a={}", function("a", "b"))])
        .args(["--function", &format!("b={}", function("b", "a"))])
        .output()
        .unwrap();
    assert_eq!(str::from_utf8(&output.stdout).unwrap(), "[1,1]\n", "{output:?}");
}

/// A branch that fails ends the other one.
#[test]
fn a_failed_branch_ends_the_others() {
    let directory = directory("abort");
    let pids = directory.join("pids");
    let wait = format!("until test -e {}; do sleep 0.01; done; exit 1", pids.display());
    let output = everstep(&["run", "testdata/cli/run/pair.asl.json"])
        .args(["--function", &format!("a={}", lingering(&directory))])
        .args(["--function", &format!("b={wait}")])
        .output()
        .unwrap();
    let story = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{story}");
    assert!(story.contains("■ Both[0] › A  stopped"), "{story}");
    gone(&directory);
}
