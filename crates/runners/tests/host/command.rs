//! Plain commands.

use everstep_retry::Class;
use everstep_runners::{Function, Outcome, Runtime};
use serde_json::{Value, json};

use crate::fixture::{Fixture, code};

fn fixture(what: &str) -> Fixture {
    let argv = vec!["./echo.sh".to_owned(), what.to_owned()];
    let mut function = Function::new("f", Runtime::Command { argv }, code("command"));
    function.timeout_ms = if what == "sleep" { 300 } else { 60_000 };
    Fixture::new(vec![function])
}

async fn check(what: &str, expected: Result<Value, (&str, Class, &str)>) {
    let outcome = fixture(what).outcome("f", &json!({ "a": 1 })).await;
    match (outcome, expected) {
        (Outcome::Succeeded { payload }, Ok(value)) => {
            assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), value, "{what}");
        }
        (Outcome::Failed { error }, Err((name, class, message))) => {
            assert_eq!((&*error.error_type, error.class), (name, class), "{what}");
            let found = error.payload["errorMessage"].as_str().unwrap();
            assert!(found.contains(message), "{what}: {found}");
        }
        (outcome, _) => panic!("{what}: {outcome:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_answer() {
    check("echo", Ok(json!({ "a": 1 }))).await;
    check("silent", Ok(Value::Null)).await;
    check("env", Ok(json!(["r-1", "1"]))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_fail() {
    check("words", Err(("Runtime.InvalidResponse", Class::Runtime, "is not JSON"))).await;
    check("fail", Err(("Command.Failed", Class::User, "the disk is full"))).await;
    check("mute", Err(("Command.Failed", Class::User, "exit status 4"))).await;
    check("named", Err(("OutOfStockError", Class::User, "no widgets"))).await;
    let signal = "Runtime exited with error: signal: segmentation fault";
    check("signal", Err(("Runtime.ExitError", Class::Runtime, signal))).await;
    check("sleep", Err(("Sandbox.Timedout", Class::Timeout, "after 0.30 seconds"))).await;
    let large = "Response payload size exceeded";
    check("large", Err(("Function.ResponseSizeTooLarge", Class::DataLimitExceeded, large))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_not_there_is_named() {
    let argv = vec!["./no-such-command".to_owned()];
    let fixture =
        Fixture::new(vec![Function::new("f", Runtime::Command { argv }, code("command"))]);
    let error = fixture.error(json!({})).await;
    assert_eq!(error.error_type, "Runtime.InvalidEntrypoint");
    let message = error.payload["errorMessage"].as_str().unwrap();
    assert!(message.contains("cannot start ./no-such-command"), "{message}");
}
