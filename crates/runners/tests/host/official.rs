//! The official clients: what comes of calls is the same as with the ones that are built in. What they send
//! is compared in `tests/wire`.
//!
//! `cargo xtask functions` prepares them and names their places.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use everstep_runners::{Bootstrap, Error, Function, Outcome, Runtime};
use serde_json::{Value, json};

use crate::fixture::{Fixture, code, doing, is_alive, until};

/// A virtual environment with `awslambdaric`.
const PYTHON: &str = "EVERSTEP_TEST_AWSLAMBDARIC";
/// A folder with `node_modules/aws-lambda-ric`.
const NODE: &str = "EVERSTEP_TEST_AWS_LAMBDA_RIC";
/// Where an engine that is killed works.
const DIRECTORY: &str = "EVERSTEP_TEST_DIRECTORY";
/// The handler in `tests/functions/rust`, built.
const RUST: &str = "EVERSTEP_TEST_RUST_HANDLER";

fn place(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set")).into()
}

fn python(bootstrap: Bootstrap, handler: &str) -> Fixture {
    let program = place(PYTHON).join("bin/python").display().to_string();
    let runtime = Runtime::Python { handler: handler.to_owned(), program };
    let mut function = Function::new("f", runtime, code("python"));
    function.timeout_ms = 60_000;
    function.bootstrap = bootstrap;
    Fixture::new(vec![function])
}

/// What was sent, in a form that can be compared.
fn reported(outcome: Outcome) -> Result<Value, Value> {
    match outcome {
        Outcome::Succeeded { payload } => Ok(serde_json::from_slice(&payload).unwrap()),
        Outcome::Failed { error } => {
            let Error { error_type, class, payload, .. } = *error;
            let keys: Vec<_> = payload.as_object().unwrap().keys().cloned().collect();
            Err(json!([error_type, format!("{class:?}"), keys, payload]))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs awslambdaric: cargo xtask functions"]
async fn both_python_clients_say_the_same() {
    let official = python(Bootstrap::Official, "app.handler");
    let builtin = python(Bootstrap::Builtin, "app.handler");
    for event in [
        json!({ "a": [1, 2.5, "é", null] }),
        doing("nothing", 0),
        doing("raise", 0),
        doing("nan", 0),
        doing("unserialisable", 0),
        doing("context", 60_000),
        doing("large", 7_000_000),
        doing("exit", 3),
        doing("sys.exit", 4),
        doing("signal", 11),
    ] {
        let [official, builtin] = [&official, &builtin].map(|fixture| fixture.outcome("f", &event));
        let (official, builtin) = tokio::join!(official, builtin);
        assert_eq!(reported(builtin), reported(official), "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs awslambdaric: cargo xtask functions"]
async fn both_python_clients_fail_to_start_in_the_same_way() {
    for handler in ["app.nope", "app", "bad.x", "imp.x", "none.x", "zero.x", "leave.x", "a/b.c"] {
        let official = python(Bootstrap::Official, handler);
        let builtin = python(Bootstrap::Builtin, handler);
        let event = json!({});
        let [official, builtin] = [&official, &builtin].map(|fixture| fixture.outcome("f", &event));
        let (official, builtin) = tokio::join!(official, builtin);
        assert_eq!(
            without_trace(reported(builtin)),
            without_trace(reported(official)),
            "{handler}"
        );
    }
}

/// Frames of the import machinery are not the same in all versions.
fn without_trace(reported: Result<Value, Value>) -> Result<Value, Value> {
    reported.map_err(|mut reported| {
        if let Some(trace) = reported.pointer_mut("/3/stackTrace").and_then(Value::as_array_mut) {
            let last = trace.pop();
            trace.clear();
            trace.extend(last);
        }
        reported
    })
}

/// The functions, with the official client where `npm install` would have put it.
fn node_code(folder: &Path) {
    for file in fs::read_dir(code("node")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let modules = place(NODE).join("node_modules");
    std::os::unix::fs::symlink(modules, folder.join("node_modules")).unwrap();
}

fn node(folder: &Path, bootstrap: Bootstrap, handler: &str) -> Function {
    let mut function = Function::node("f", handler, folder);
    (function.timeout_ms, function.memory_mib) = (60_000, 512);
    function.bootstrap = bootstrap;
    function
}

/// From version 4 on, the client knows no callbacks, and leaves uncaught exceptions to Node.js.
fn is_new() -> bool {
    !place(NODE).join("node_modules/aws-lambda-ric/bin").exists()
}

/// What `tests/wire` lists as different, and the frames of the clients, left out.
fn without_differences(reported: Result<Value, Value>) -> Result<Value, Value> {
    reported.map_err(|mut reported| {
        let is_unhandled = reported[0] == "Runtime.UnhandledPromiseRejection";
        let payload = reported[3].as_object_mut().unwrap();
        payload.shift_remove("everstep.className");
        let keys = payload.keys().cloned().collect::<Vec<_>>();
        if let Some(trace) = payload.get_mut("trace").and_then(Value::as_array_mut) {
            let is_others = |line: &str| line.contains("aws-lambda-ric") || line.contains("node:");
            trace.retain(|line| !line.as_str().is_some_and(is_others));
            trace.truncate(if is_unhandled { 1 } else { usize::MAX });
        }
        reported[2] = json!(keys);
        reported
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs aws-lambda-ric: cargo xtask functions"]
async fn calls_of_aws_lambda_ric_end_as_those_of_the_client_built_in() {
    let folder = tempfile::tempdir().unwrap();
    node_code(folder.path());
    // It is found without being asked for.
    let [official, builtin] = [Bootstrap::Auto, Bootstrap::Builtin]
        .map(|bootstrap| Fixture::new(vec![node(folder.path(), bootstrap, "promised.handler")]));
    let lasting = [
        json!({ "a": [1, 2.5, "é", null] }),
        doing("nothing", 0),
        doing("throw", 0),
        doing("throw string", 0),
        doing("reject plain", 0),
        doing("nan", 0),
        doing("context", 60_000),
    ];
    compare(&official, &builtin, &lasting).await;
    let pid = official.result(doing("pid", 0)).await.as_u64().unwrap();
    assert_eq!(official.events.started(), 1);
    let program = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(program.contains("aws-lambda-ric"), "{program}");
    let ends = [doing("exit", 3), doing("exit", 0), doing("signal", "SIGKILL")];
    compare(&official, &builtin, &ends).await;
    if !is_new() {
        let told_at_the_end = ["bigint", "never", "exception later", "rejection later"];
        compare(&official, &builtin, &told_at_the_end.map(|what| doing(what, 0))).await;
    }
    let pid = official.result(doing("pid", 0)).await.as_u64().unwrap();
    drop(official);
    until("its process ends with the host", || !is_alive(pid)).await;
}

async fn compare(official: &Fixture, builtin: &Fixture, events: &[Value]) {
    for event in events {
        let [official, builtin] = [official, builtin].map(|fixture| fixture.outcome("f", event));
        let (official, builtin) = tokio::join!(official, builtin);
        let [official, builtin] =
            [official, builtin].map(|outcome| without_differences(reported(outcome)));
        assert_eq!(builtin, official, "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs aws-lambda-ric: cargo xtask functions"]
async fn aws_lambda_ric_fails_to_start_as_the_client_built_in() {
    let folder = tempfile::tempdir().unwrap();
    node_code(folder.path());
    for handler in ["index.nope", "index.text", "index", "bad.x", "none.x", "zero.x"] {
        let [official, builtin] = [Bootstrap::Official, Bootstrap::Builtin]
            .map(|bootstrap| Fixture::new(vec![node(folder.path(), bootstrap, handler)]));
        let event = json!({});
        let (official, builtin) = tokio::join!(official.error(event.clone()), builtin.error(event));
        assert_eq!(
            (&builtin.error_type, builtin.class),
            (&official.error_type, official.class),
            "{handler}"
        );
        let [official, builtin] = [official, builtin].map(|error| {
            error.payload["errorMessage"].as_str().unwrap().lines().next().unwrap().to_owned()
        });
        assert_eq!(builtin, official, "{handler}");
    }
}

/// Not a test: what the test below starts, and kills.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "is started by another test"]
async fn an_engine_with_aws_lambda_ric() {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    let function = node(&directory.join("code"), Bootstrap::Official, "promised.handler");
    let fixture = Fixture::at(&directory, vec![function], |_| {});
    println!("\npid {}", fixture.result(doing("pid", 0)).await);
    std::future::pending::<()>().await;
}

/// Left to itself it would ask for events of an engine that is not there, again and again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs aws-lambda-ric: cargo xtask functions"]
async fn aws_lambda_ric_ends_with_an_engine_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("code");
    fs::create_dir(&folder).unwrap();
    node_code(&folder);
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "official::an_engine_with_aws_lambda_ric", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pid = lines.find_map(|line| line.strip_prefix("pid ")?.parse().ok()).unwrap();
    assert!(is_alive(pid));
    engine.kill().unwrap();
    engine.wait().unwrap();
    until("the process has ended", || !is_alive(pid)).await;
}

fn rust() -> Fixture {
    let path = place(RUST);
    let (file, handler) = (path.file_name().unwrap().into(), "bootstrap".to_owned());
    let runtime = Runtime::Binary { file, handler };
    let mut function = Function::new("f", runtime, path.parent().unwrap());
    function.timeout_ms = 60_000;
    Fixture::new(vec![function])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a binary: cargo xtask functions"]
async fn rust_handlers_run() {
    let fixture = rust();
    assert_eq!(fixture.result(json!({ "a": "é" })).await, json!({ "a": "é" }));
    let context = fixture.result(doing("context", 0)).await;
    assert_eq!(context, json!(["r-1", "f", 128, {}]));
    let mut called = crate::fixture::call("r-2", &doing("context", 0));
    called.client_context = Some(r#"{"custom":{"everstep.retryCount":"1"}}"#.to_owned());
    let Outcome::Succeeded { payload } = fixture.invoked("f", called).await else { panic!() };
    let expected = json!(["r-2", "f", 128, { "everstep.retryCount": "1" }]);
    assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), expected);
    let error = fixture.error(doing("fail", 0)).await;
    assert!(error.error_type.contains("Box<dyn core::error::Error"), "{}", error.error_type);
    assert_eq!(error.payload["errorMessage"], "no widgets left");
    let error = fixture.error(doing("diagnostic", 0)).await;
    assert_eq!(error.error_type, "OutOfStockError");
    // A panic is caught by the client, and the process lives on.
    let error = fixture.error(doing("panic", 0)).await;
    let message = error.payload["errorMessage"].as_str().unwrap();
    assert!(message.starts_with("Lambda panicked: "), "{message}");
    assert_eq!(fixture.events.started(), 1);
    for (event, how) in [
        (doing("exit", 3), "Runtime exited with error: exit status 3"),
        (doing("abort", 0), "Runtime exited with error: signal: aborted"),
    ] {
        let error = fixture.error(event).await;
        assert_eq!(error.error_type, "Runtime.ExitError");
        assert_eq!(error.payload["errorMessage"], format!("RequestId: r-1 Error: {how}"));
    }
}
