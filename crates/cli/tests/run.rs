//! `everstep run`: mocked runs are pinned whole; commands are real processes.
//!
//! Nothing here measures time: virtual clocks are exact, and processes are witnessed by the files
//! they write, within a deadline.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use support::{check, check_input, pin, root, run};

const RUN: &str = "testdata/cli/run";
/// Far more than anything here takes.
const DEADLINE: Duration = Duration::from_secs(30);

fn order(name: &str, more: &str) {
    check(
        &format!("run-order-{name}"),
        &format!(
            "run examples/order/order.asl.json --input {{\"orderId\":\"o-1\"}} \
             --mock examples/order/mocks.json --skip-waits --seed 1 --test-case {name}{more}"
        ),
    );
}

#[test]
fn every_failure_path_of_the_order() {
    for case in [
        "happy",
        "out-of-stock",
        "reservation-error",
        "reservation-recovers",
        "rate-limit",
        "rate-limit-lasts",
        "payment-error",
        "charge-unexpected",
        "fulfilment-fails",
        "release-fails",
        "refund-fails",
    ] {
        order(case, "");
    }
}

fn shipping(name: &str, parcels: &str, more: &str) {
    check(
        &format!("run-shipping-{name}"),
        &format!(
            "run {RUN}/shipping.asl.yaml --mock {RUN}/shipping-mocks.json --skip-waits --seed 1 \
             --start-time 2026-01-31T09:00:00Z --input {{\"parcels\":[{parcels}]}} {more}"
        ),
    );
}

#[test]
fn maps_waits_and_choices() {
    let two = r#"{"id":1},{"id":2}"#;
    shipping("packed", two, "--test-case packed");
    shipping("set-aside", two, "--test-case set-aside");
    shipping("jammed", two, "--test-case jammed");
    shipping("none", "", "--test-case packed");
    shipping("not-enough", r#"{},{},{}"#, "--test-case not-enough");
    shipping("no-answer", two, "--test-case no-answer");
}

#[test]
fn forms_of_the_result() {
    let two = r#"{"id":1},{"id":2}"#;
    shipping("json", two, "--test-case jammed --json --quiet");
    shipping("history", two, "--test-case packed --history --quiet");
    shipping("quiet", two, "--test-case packed --quiet");
    shipping("quiet-failed", two, "--test-case jammed --quiet");
    shipping("both", two, "--test-case packed --json --history");
}

#[test]
fn children_of_distributed_maps() {
    let run = format!(
        "run {RUN}/distributed.asl.json --mock {RUN}/distributed-mocks.json --skip-waits --seed 1 \
         --input [1,2,3] --test-case"
    );
    check("run-distributed", &format!("{run} one-fails"));
    check("run-distributed-failed", &format!("{run} two-fail"));
}

#[test]
fn dialects() {
    let deadline = format!("run {RUN}/deadline.asl.json --skip-waits");
    check("run-timed-out", &deadline);
    let choice = r#"{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [
        {"Variable": "$.x", "IsPresent": true, "Next": "B"}]}, "B": {"Type": "Succeed"}}}"#;
    check_input("run-dialect-spec", "run -", choice);
    check_input("run-dialect-aws", "run - --dialect aws", choice);
}

/// The same seed draws the same; another one something else.
#[test]
fn seeds() {
    let uuid = r#"{"StartAt": "A", "States": {"A": {"Type": "Pass",
        "Parameters": {"id.$": "States.UUID()"}, "End": true}}}"#;
    let output = |seed: &str| run(&format!("run - --quiet --skip-waits {seed}"), uuid).stdout;
    // Random numbers are drawn from the moment too.
    let start = "--start-time 2026-01-31T09:00:00Z";
    let first = output(&format!("--seed 1 {start}"));
    assert_eq!(first, output(&format!("--seed 1 {start}")));
    assert_ne!(first, output(&format!("--seed 2 {start}")));
}

#[test]
fn what_cannot_be_run() {
    let order = "run examples/order/order.asl.json";
    let mock = "--mock examples/order/mocks.json";
    check("run-no-answers", order);
    check("run-input-not-json", &format!("{order} --input {{\"a\":}}"));
    check("run-input-missing", &format!("{order} --input @nothing.json"));
    check_input("run-input-stdin-not-json", &format!("{order} --input -"), "{\n  \"a\": nope\n}");
    check_input("run-two-stdins", "run - --input -", "{}");
    check("run-input-comment", &format!("{order} --input {{}}//none"));
    check("run-choose-case", &format!("{order} {mock}"));
    check("run-unknown-case", &format!("{order} {mock} --test-case payment-eror"));
    check("run-unknown-machine", &format!("{order} {mock} --machine orders --test-case happy"));
    check("run-unknown-function", &format!("{order} --function charge-custmer=x"));
    check("run-function-without-command", &format!("{order} --function charge-customer"));
    check("run-broken", "run testdata/cli/definitions/broken.asl.json");
    check("run-bad-start-time", &format!("{order} --skip-waits --start-time tomorrow"));
}

/// A directory of its own for a test.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// The complaint about a mock file for a machine with the one state `Call`.
fn bad_mock(text: &str, expected: &str) {
    let file = directory("mocks").join("mocks.json");
    fs::write(&file, text).unwrap();
    let output =
        everstep(&["run", "testdata/cli/run/call.asl.json", "--mock"]).arg(&file).output().unwrap();
    let seen = String::from_utf8(output.stderr).unwrap();
    let seen = seen.replace(&format!("{}:", file.display()), "");
    assert_eq!((output.status.code(), seen.trim_end()), (Some(2), expected), "{text}");
}

#[test]
fn mistakes_in_mock_files() {
    bad_mock("{", "error: 1:1: not a mock file: this object is not closed");
    bad_mock("[]", "error: 1:1: a mock file is an array, not an object");
    bad_mock("{}", "error: 1:1: a mock file needs the field `MockedResponses`");
    bad_mock(
        r#"{"StateMachine": {}}"#,
        "error: 1:2: a mock file has no field `StateMachine`; did you mean `StateMachines`?",
    );
    let with = |case: &str, response: &str| {
        format!(
            "{{\"StateMachines\": {{\"m\": {{\"TestCases\": {{\"c\":\n{case}}}}}}},\n\
             \"MockedResponses\": {{\"R\":\n{response}}}}}"
        )
    };
    let good = r#"{"0": {"Return": 1}}"#;
    for (case, response, expected) in [
        (r#"{"Cal": "R"}"#, good, "2:2: the definition has no state `Cal`; did you mean `Call`?"),
        (
            r#"{"Call": "r"}"#,
            good,
            "2:10: unknown response `r`: `MockedResponses` does not have it; did you mean `R`?",
        ),
        (r#"{"Call": 1}"#, good, "2:10: `Call` is a number, not the name of a response"),
        ("{}", "{}", "4:1: response `R` answers no call"),
        (
            "{}",
            r#"{"first": {"Return": 1}}"#,
            "4:2: `first` in response `R` is neither a call such as \"0\" nor a range such as \"1-2\"",
        ),
        (
            "{}",
            r#"{"1": {"Return": 1}}"#,
            "4:2: response `R` has nothing for call \"0\"; calls count from \"0\"",
        ),
        (
            "{}",
            r#"{"0-2": {"Return": 1}, "2": {"Return": 1}}"#,
            "4:24: response `R` has two answers for call \"2\"",
        ),
        ("{}", r#"{"0": {}}"#, "4:7: call \"0\" of response `R` has neither `Return` nor `Throw`"),
        (
            "{}",
            r#"{"0": {"Return": 1, "Throw": {"Error": "E"}}}"#,
            "4:21: call \"0\" of response `R` has both `Return` and `Throw`; keep one",
        ),
        (
            "{}",
            r#"{"0": {"Throw": {"Eror": "E"}}}"#,
            "4:18: `Throw` of call \"0\" of response `R` has no field `Eror`; did you mean `Error`?",
        ),
        (
            "{}",
            r#"{"0": {"Throw": {"Cause": "E"}}}"#,
            "4:17: `Throw` of call \"0\" of response `R` needs the field `Error`",
        ),
        ("{}", r#"{"0": {"Throw": {"Error": 1}}}"#, "4:27: `Error` is a number, not a string"),
    ] {
        bad_mock(&with(case, response), &format!("error: {expected}"));
    }
}

fn everstep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everstep"));
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
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

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
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

/// A command that says who it is and what it has started, and then takes its time.
fn lingering(directory: &Path) -> String {
    let file = directory.join("pids");
    format!("sleep 600 & echo $$ $! > {0}.new; mv {0}.new {0}; wait", file.display())
}

fn pids(directory: &Path) -> Vec<String> {
    // A command may be ended before it has said anything.
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
        ("slow", 1, "States.Timeout: no result within 1 s"),
        ("silent", 0, "States.Timeout: no heartbeat for 1 s"),
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
        thread::sleep(Duration::from_millis(10));
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
