//! Node.js handlers, by the client that is built in.

use everstep_retry::Class;
use everstep_runners::Function;
use serde_json::{Value, json};

use crate::fixture::{Fixture, code, doing, until};

fn fixture(handler: &str) -> Fixture {
    let mut function = Function::node("f", handler, code("node"));
    (function.timeout_ms, function.memory_mib) = (60_000, 512);
    Fixture::new(vec![function])
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_return() {
    let fixture = fixture("index.handler");
    for (event, expected) in [
        (json!({ "a": [1, "é"] }), json!({ "a": [1, "é"] })),
        (doing("callback", 7), json!(7)),
        (doing("callback then work", 8), json!(8)),
        (doing("worked", 0), json!(true)),
        (doing("never", 0), Value::Null),
        (doing("nothing", 0), Value::Null),
        (doing("nan", 0), Value::Null),
        (doing("succeed", 3), json!(3)),
        (doing("callback at once", 9), json!(9)),
    ] {
        assert_eq!(fixture.result(event.clone()).await, expected, "{event}");
    }
    assert_eq!(fixture.events.started(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_throw() {
    let fixture = fixture("index.handler");
    for (event, name, message) in [
        (doing("throw", 0), "InsufficientFundsError", "too little"),
        (doing("throw string", 0), "string", "error"),
        (doing("callback error", 0), "string", "error"),
        (doing("fail", 0), "RangeError", "far"),
        (doing("bigint", 0), "Error", "Unable to stringify response body"),
        (doing("reject plain", 0), "Error", "who am I"),
        (doing("exception later", 0), "TypeError", "Cannot read properties of null (reading 'x')"),
        (doing("rejection later", 0), "Runtime.UnhandledPromiseRejection", "Error: boom"),
    ] {
        let error = fixture.error(event.clone()).await;
        assert_eq!((&*error.error_type, error.class), (name, Class::User), "{event}");
        assert_eq!(error.payload["errorMessage"], message, "{event}");
        let trace = error.payload["trace"].as_array().unwrap();
        assert_eq!(trace.is_empty(), name == "string", "{event}: {trace:?}");
        assert!(!trace.iter().any(|line| line.to_string().contains("bootstrap.mjs")), "{trace:?}");
    }
    let error = fixture.error(doing("reject plain", 0)).await;
    assert_eq!(error.payload["everstep.className"], "Plain");
    let error = fixture.error(doing("callback error", 0)).await;
    let payload = json!({ "errorType": "string", "errorMessage": "error", "trace": [] });
    assert_eq!(error.payload, payload);
    let (_, log) = fixture.error_and_log(doing("log", 0)).await;
    assert!(log[0].ends_with("\tr-1\tINFO\thello { a: 1 }"), "{log:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_exit_are_told_apart() {
    let fixture = fixture("index.handler");
    for (event, how) in [
        (doing("exit", 5), "Runtime exited with error: exit status 5"),
        (doing("signal", "SIGKILL"), "Runtime exited with error: signal: killed"),
    ] {
        let error = fixture.error(event).await;
        let message = format!("RequestId: r-1 Error: {how}");
        let payload = json!({ "errorType": "Runtime.ExitError", "errorMessage": message });
        assert_eq!((error.payload, error.class), (payload, Class::Runtime));
    }
}

/// No caller is waiting, and the next call must not be blamed.
#[tokio::test(flavor = "multi_thread")]
async fn an_exception_between_calls_ends_the_process_only() {
    let fixture = fixture("index.handler");
    let pid = fixture.result(doing("exception between calls", 0)).await.as_u64().unwrap();
    until("the process is gone", || fixture.host.standing("f").unwrap().workers == 0).await;
    assert_ne!(fixture.result(doing("pid", 0)).await.as_u64().unwrap(), pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_cannot_start_says_why() {
    for (handler, name, message) in [
        ("index.nope", "Runtime.HandlerNotFound", "index.nope is undefined or not exported"),
        ("index.text", "Runtime.HandlerNotFound", "index.text is not a function"),
        ("index", "Runtime.MalformedHandlerName", "Bad handler"),
        ("bad.handler", "Runtime.UserCodeSyntaxError", "SyntaxError: Unexpected token ';'"),
        ("zero.handler", "TypeError", "at start"),
    ] {
        let error = fixture(handler).error(json!({})).await;
        assert_eq!((&*error.error_type, error.class), (name, Class::Runtime), "{handler}");
        assert_eq!(error.payload["errorMessage"], message, "{handler}");
    }
    for (handler, missing) in [("imp.handler", "nothere"), ("none.handler", "none")] {
        let error = fixture(handler).error(json!({})).await;
        assert_eq!(error.error_type, "Runtime.ImportModuleError");
        let message = error.payload["errorMessage"].as_str().unwrap();
        let expected = format!("Error: Cannot find module '{missing}'\nRequire stack:\n- ");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_are_found_in_modules_of_either_kind() {
    assert_eq!(fixture("esm.handler").result(json!(1)).await, json!(["/", 1]));
    assert_eq!(fixture("index.nested.handler").result(json!(1)).await, json!(["nested", 1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_is_lambdas() {
    let fixture = fixture("index.handler");
    let arn = "arn:aws:lambda:us-east-1:123456789012:function:f";
    let expected = json!(["r-1", "f", "$LATEST", "512", arn, null, true]);
    assert_eq!(fixture.result(doing("context", 60_000)).await, expected);
}
