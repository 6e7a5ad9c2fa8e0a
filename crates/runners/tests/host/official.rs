//! The official clients, and what the ones that are built in send in comparison.
//!
//! `cargo xtask functions` prepares them and names their places.

use std::path::PathBuf;

use everstep_runners::{Bootstrap, Error, Function, Outcome, Runtime};
use serde_json::{Value, json};

use crate::house::{House, code, doing};

/// A virtual environment with `awslambdaric`.
const PYTHON: &str = "EVERSTEP_TEST_AWSLAMBDARIC";
/// The handler in `tests/functions/rust`, built.
const RUST: &str = "EVERSTEP_TEST_RUST_HANDLER";

fn place(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set")).into()
}

fn python(bootstrap: Bootstrap, handler: &str) -> House {
    let program = place(PYTHON).join("bin/python").display().to_string();
    let runtime = Runtime::Python { handler: handler.to_owned(), program };
    let mut function = Function::new("f", runtime, code("python"));
    function.timeout_ms = 60_000;
    function.bootstrap = bootstrap;
    House::new(vec![function])
}

/// What was sent, in a form that can be compared.
fn said(outcome: Outcome) -> Result<Value, Value> {
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
        let [official, builtin] = [&official, &builtin].map(|house| house.outcome("f", &event));
        let (official, builtin) = tokio::join!(official, builtin);
        assert_eq!(said(builtin), said(official), "{event}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs awslambdaric: cargo xtask functions"]
async fn both_python_clients_fail_to_start_in_the_same_way() {
    for handler in ["app.nope", "app", "bad.x", "imp.x", "none.x", "zero.x", "leave.x", "a/b.c"] {
        let official = python(Bootstrap::Official, handler);
        let builtin = python(Bootstrap::Builtin, handler);
        let event = json!({});
        let [official, builtin] = [&official, &builtin].map(|house| house.outcome("f", &event));
        let (official, builtin) = tokio::join!(official, builtin);
        assert_eq!(without_trace(said(builtin)), without_trace(said(official)), "{handler}");
    }
}

/// Frames of the import machinery are not the same in all versions.
fn without_trace(said: Result<Value, Value>) -> Result<Value, Value> {
    said.map_err(|mut said| {
        if let Some(trace) = said.pointer_mut("/3/stackTrace").and_then(Value::as_array_mut) {
            let last = trace.pop();
            trace.clear();
            trace.extend(last);
        }
        said
    })
}

fn rust() -> House {
    let path = place(RUST);
    let (file, handler) = (path.file_name().unwrap().into(), "bootstrap".to_owned());
    let runtime = Runtime::Binary { file, handler };
    let mut function = Function::new("f", runtime, path.parent().unwrap());
    function.timeout_ms = 60_000;
    House::new(vec![function])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a binary: cargo xtask functions"]
async fn rust_handlers_run() {
    let house = rust();
    assert_eq!(house.result(json!({ "a": "é" })).await, json!({ "a": "é" }));
    let context = house.result(doing("context", 0)).await;
    assert_eq!(context, json!(["r-1", "f", 128, {}]));
    let mut called = crate::house::call("r-2", &doing("context", 0));
    called.client_context = Some(r#"{"custom":{"everstep.retryCount":"1"}}"#.to_owned());
    let Outcome::Succeeded { payload } = house.host.invoke("f", called).await.outcome else {
        panic!()
    };
    let expected = json!(["r-2", "f", 128, { "everstep.retryCount": "1" }]);
    assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), expected);
    let error = house.error(doing("fail", 0)).await;
    assert!(error.error_type.contains("Box<dyn core::error::Error"), "{}", error.error_type);
    assert_eq!(error.payload["errorMessage"], "no widgets left");
    let error = house.error(doing("diagnostic", 0)).await;
    assert_eq!(error.error_type, "OutOfStockError");
    // A panic is caught by the client, and the process lives on.
    let error = house.error(doing("panic", 0)).await;
    let message = error.payload["errorMessage"].as_str().unwrap();
    assert!(message.starts_with("Lambda panicked: "), "{message}");
    assert_eq!(house.events.started(), 1);
    for (event, how) in [
        (doing("exit", 3), "Runtime exited with error: exit status 3"),
        (doing("abort", 0), "Runtime exited with error: signal: aborted"),
    ] {
        let error = house.error(event).await;
        assert_eq!(error.error_type, "Runtime.ExitError");
        assert_eq!(error.payload["errorMessage"], format!("RequestId: r-1 Error: {how}"));
    }
}
