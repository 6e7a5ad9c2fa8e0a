//! Python handlers, by the client that is built in.

use everstep_retry::Class;
use serde_json::{Value, json};

use crate::fixture::{Fixture, call, doing, python};
use everstep_runners::{Function, Outcome};

#[track_caller]
fn check(error: &everstep_runners::Error, class: Class, payload: &Value) {
    assert_eq!((&error.payload, error.class), (payload, class));
    assert_eq!(error.error_type, payload["errorType"].as_str().unwrap_or("Lambda.Unknown"));
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_return() {
    let fixture = Fixture::python(|_| {});
    assert_eq!(fixture.result(json!({ "a": [1, "é"] })).await, json!({ "a": [1, "é"] }));
    assert_eq!(fixture.result(doing("nothing", 0)).await, Value::Null);
    assert_eq!(fixture.result(doing("threads", 0)).await, json!("left one"));
    // One process has served them all.
    assert_eq!(fixture.result(doing("pid", 0)).await[1], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_raise() {
    let fixture = Fixture::python(|_| {});
    let (error, log) = fixture.error_and_log(doing("raise", 0)).await;
    let path = crate::fixture::code("python").join("app.py").display().to_string();
    let trace = error.payload["stackTrace"].as_array().unwrap();
    assert_eq!(trace.len(), 2, "{trace:?}");
    assert!(trace[1].as_str().unwrap().starts_with(&format!("  File \"{path}\", line ")));
    assert!(
        trace[1]
            .as_str()
            .unwrap()
            .ends_with(", in deep\n    raise OutOfStockError(\"no widgets left\")\n")
    );
    check(
        &error,
        Class::User,
        &json!({
            "errorMessage": "no widgets left", "errorType": "OutOfStockError", "requestId": "r-1",
            "stackTrace": trace,
        }),
    );
    assert!(log[0].starts_with("[ERROR] OutOfStockError: no widgets left\rTraceback"));
    let error = fixture.error(doing("unserialisable", 0)).await;
    check(
        &error,
        Class::User,
        &json!({
            "errorMessage":
                "Unable to marshal response: Object of type object is not JSON serializable",
            "errorType": "Runtime.MarshalError", "requestId": "r-1", "stackTrace": [],
        }),
    );
    let error = fixture.error(doing("nan", 0)).await;
    assert_eq!((&*error.error_type, error.class), ("Runtime.InvalidResponse", Class::Runtime));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_exit_are_told_apart() {
    let fixture = Fixture::python(|_| {});
    for (event, how) in [
        (doing("exit", 127), "Runtime exited with error: exit status 127"),
        (doing("exit", 0), "Runtime exited without providing a reason"),
        (doing("sys.exit", 3), "Runtime exited with error: exit status 3"),
        (doing("signal", 9), "Runtime exited with error: signal: killed"),
        (doing("signal", 11), "Runtime exited with error: signal: segmentation fault"),
        (doing("signal", 6), "Runtime exited with error: signal: aborted"),
    ] {
        let error = fixture.error(event).await;
        let message = format!("RequestId: r-1 Error: {how}");
        let payload = json!({ "errorType": "Runtime.ExitError", "errorMessage": message });
        check(&error, Class::Runtime, &payload);
    }
    assert_eq!(fixture.result(json!(1)).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_ends_the_process() {
    let fixture = Fixture::python(|function| function.timeout_ms = 1_000);
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    let error = fixture.error(doing("sleep", 60)).await;
    let message = "RequestId: r-1 Error: Task timed out after 1.00 seconds";
    let payload = json!({ "errorType": "Sandbox.Timedout", "errorMessage": message });
    check(&error, Class::Timeout, &payload);
    assert!(!crate::fixture::is_alive(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_cannot_start_says_why() {
    for (handler, name, message) in [
        ("app.nope", "Runtime.HandlerNotFound", "Handler 'nope' missing on module 'app'"),
        (
            "app",
            "Runtime.MalformedHandlerName",
            "Bad handler 'app': not enough values to unpack (expected 2, got 1)",
        ),
        (
            "bad.handler",
            "Runtime.UserCodeSyntaxError",
            "Syntax error in module 'bad': invalid syntax (bad.py, line 1)",
        ),
        (
            "imp.handler",
            "Runtime.ImportModuleError",
            "Unable to import module 'imp': No module named 'nothere'",
        ),
        ("zero.handler", "ZeroDivisionError", "division by zero"),
        (
            "leave.handler",
            "Runtime.ExitError",
            "RequestId: r-1 Error: Runtime exited with error: exit status 4",
        ),
    ] {
        let fixture =
            Fixture::new(vec![Function::python("f", handler, crate::fixture::code("python"))]);
        let error = fixture.error(json!({})).await;
        assert_eq!((&*error.error_type, error.class), (name, Class::Runtime), "{handler}");
        assert_eq!(error.payload["errorMessage"], message, "{handler}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_named() {
    let mut function = python("f", |_| {});
    function.code = "/there/is/no/such/folder".into();
    let error = Fixture::new(vec![function]).error(json!({})).await;
    assert_eq!(error.error_type, "Runtime.InvalidEntrypoint");
    let message = error.payload["errorMessage"].as_str().unwrap();
    assert!(message.ends_with("no such folder: /there/is/no/such/folder"), "{message}");

    let mut function = python("f", |_| {});
    let program = "python-of-the-future".to_owned();
    function.runtime =
        everstep_runners::Runtime::Python { handler: "app.handler".to_owned(), program };
    let error = Fixture::new(vec![function]).error(json!({})).await;
    assert_eq!(error.error_type, "Runtime.InvalidEntrypoint");
    let message = error.payload["errorMessage"].as_str().unwrap();
    assert!(message.contains("cannot start python-of-the-future: No such file"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_is_lambdas() {
    let fixture = Fixture::python(|function| function.timeout_ms = 30_000);
    let mut called = call("r-7", &doing("context", 30_000));
    called.client_context = Some(r#"{"custom":{"everstep.retryCount":"1"}}"#.to_owned());
    let Outcome::Succeeded { payload } = fixture.host.invoke("f", called).await.outcome else {
        panic!()
    };
    let arn = "arn:aws:lambda:us-east-1:123456789012:function:f";
    let expected = json!(["r-7", "f", "$LATEST", "128", arn, { "everstep.retryCount": "1" }, true]);
    assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), expected);
    let mut called = call("r-8", &doing("context", 30_000));
    called.function_arn = Some(format!("{arn}:live"));
    let Outcome::Succeeded { payload } = fixture.host.invoke("f", called).await.outcome else {
        panic!()
    };
    let expected = json!(["r-8", "f", "$LATEST", "128", format!("{arn}:live"), null, true]);
    assert_eq!(serde_json::from_slice::<Value>(&payload).unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_lambdas_and_the_functions_own() {
    let fixture = Fixture::python(|function| {
        function.env = vec![("TABLE".to_owned(), "orders".to_owned())];
    });
    let environment = fixture.result(doing("environment", 0)).await;
    let mut names: Vec<&str> =
        environment.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    // What the way to the interpreter may add: a locale, a shell, a chooser of versions.
    let added = |name: &str| {
        ["LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_"].contains(&name) || name.contains("PYENV")
    };
    names.retain(|name| !added(name));
    assert_eq!(
        names,
        [
            "AWS_DEFAULT_REGION",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
            "AWS_LAMBDA_FUNCTION_NAME",
            "AWS_LAMBDA_FUNCTION_VERSION",
            "AWS_LAMBDA_LOG_GROUP_NAME",
            "AWS_LAMBDA_LOG_STREAM_NAME",
            "AWS_LAMBDA_RUNTIME_API",
            "AWS_REGION",
            "LAMBDA_TASK_ROOT",
            "LANG",
            "PATH",
            "TABLE",
            "TZ",
            "_HANDLER",
        ]
    );
    assert_eq!(environment["TABLE"], "orders");
    let folder = crate::fixture::code("python").display().to_string();
    assert_eq!(fixture.result(doing("directory", 0)).await, folder);
}
