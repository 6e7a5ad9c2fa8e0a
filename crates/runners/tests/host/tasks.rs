//! Tasks of executions, as the engine dispatches them.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use everstep_asl::model::Resource;
use everstep_client::{Client, Credentials};
use everstep_executions::{Job, Mailbox, Message, Report, Task, TaskRunner};
use everstep_interpreter::Payload;
use everstep_runners::{Acceptor, Call, RemoteLambda, Tasks};
use serde_json::{Value, json};

use crate::fixture::{Fixture, doing, is_alive, python, until};
use crate::http::Stub;

const ARN: &str = "arn:aws:lambda:eu-west-1:999999999999:function:f";
const INVOKE: &str = "arn:aws:states:::lambda:invoke";
const EXECUTION: &str = "arn:aws:states:us-east-1:123456789012:execution:m:e";

#[derive(Default)]
struct Reports(Mutex<Vec<Report>>);

impl Mailbox<Message> for Reports {
    fn post(&self, message: Message) {
        if let Message::Report { report, .. } = message {
            self.0.lock().unwrap().push(report);
        }
    }
}

fn client() -> Arc<Client> {
    Arc::new(Client::new(everstep_client::Options::default()).unwrap())
}

fn task(resource: &str, parameters: Value) -> (Task, Arc<Reports>) {
    let reports = Arc::new(Reports::default());
    let resource = Arc::new(Resource::classify(resource));
    let parameters = Payload::new(parameters);
    let job = Job::Call { resource, parameters, credentials: None };
    (Task::alone(EXECUTION, "S", job, reports.clone()), reports)
}

async fn report(tasks: &Tasks, resource: &str, parameters: Value) -> Report {
    let (task, reports) = task(resource, parameters);
    tasks.dispatch(task);
    until("the task is over", || !reports.0.lock().unwrap().is_empty()).await;
    reports.0.lock().unwrap().remove(0)
}

async fn output(tasks: &Tasks, resource: &str, parameters: Value) -> Value {
    match report(tasks, resource, parameters).await {
        Report::Succeeded { output } => output.value().clone(),
        other => panic!("{other:?}"),
    }
}

async fn failure(tasks: &Tasks, resource: &str, parameters: Value) -> (String, String) {
    match report(tasks, resource, parameters).await {
        Report::Failed { failure, .. } | Report::Raised { failure } => {
            (failure.name().to_owned(), failure.cause.as_deref().unwrap_or_default().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_called_by_either_resource() {
    let fixture = Fixture::python(|_| {});
    let tasks = Tasks::new(fixture.host.clone(), client());
    assert_eq!(output(&tasks, ARN, json!({ "a": 1 })).await, json!({ "a": 1 }));
    let wrapped = output(&tasks, INVOKE, json!({ "FunctionName": "f", "Payload": [1] })).await;
    let id = task(ARN, json!(0)).0.request_id();
    assert_eq!(wrapped["Payload"], json!([1]));
    assert_eq!(wrapped["ExecutedVersion"], "$LATEST");
    assert_eq!(wrapped["StatusCode"], 200);
    assert_eq!(wrapped["SdkHttpMetadata"]["HttpStatusCode"], 200);
    assert_eq!(wrapped["SdkResponseMetadata"]["RequestId"], id);
    let sdk = "arn:aws:states:::aws-sdk:lambda:invoke";
    let wrapped = output(&tasks, sdk, json!({ "FunctionName": ARN, "Payload": [1] })).await;
    assert_eq!(wrapped["Payload"], "[1]");
    let text = json!({ "FunctionName": "f", "Payload": "{\"a\":1}" });
    assert_eq!(output(&tasks, INVOKE, text).await["Payload"], json!({ "a": 1 }));
    let nothing = json!({ "FunctionName": "f", "Payload": null });
    assert_eq!(output(&tasks, INVOKE, nothing).await["Payload"], json!({}));
    let context = "eyJjdXN0b20iOnsiYSI6ImIifX0=";
    let parameters = json!({
        "FunctionName": "f:live", "Payload": doing("context", 60_000), "ClientContext": context
    });
    let wrapped = output(&tasks, INVOKE, parameters).await;
    assert_eq!(wrapped["Payload"][0], id);
    assert_eq!(wrapped["Payload"][5], json!({ "a": "b" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_those_of_step_functions() {
    let none = python("none", |function| function.concurrency_max = Some(0));
    let fixture = Fixture::new(vec![python("f", |_| {}), none]);
    let tasks = Tasks::new(fixture.host.clone(), client());
    let id = task(ARN, json!(0)).0.request_id();
    let (error, cause) = failure(&tasks, ARN, doing("raise", 0)).await;
    assert_eq!(error, "OutOfStockError");
    // The function's own text, with the spaces of Python.
    let begin =
        r#"{"errorMessage": "no widgets left", "errorType": "OutOfStockError", "requestId": ""#;
    assert!(cause.starts_with(&format!("{begin}{id}\", \"stackTrace\": [")), "{cause}");
    let parameters = json!({ "FunctionName": "f", "Payload": doing("raise", 0) });
    let (_, cause) = failure(&tasks, INVOKE, parameters).await;
    let begin = r#"{"errorMessage":"no widgets left","errorType":"OutOfStockError","requestId":""#;
    assert!(cause.starts_with(&format!("{begin}{id}\",\"stackTrace\":[")), "{cause}");
    let parameters = json!({ "FunctionName": "f", "Payload": "text" });
    let (error, cause) = failure(&tasks, INVOKE, parameters).await;
    assert_eq!(error, "Lambda.InvalidRequestContentException");
    assert!(cause.starts_with("Could not parse request body into json: expected"), "{cause}");
    let (error, cause) = failure(&tasks, ARN, doing("exit", 3)).await;
    let payload = json!({
        "errorType": "Runtime.ExitError",
        "errorMessage": format!("RequestId: {id} Error: Runtime exited with error: exit status 3"),
    });
    assert_eq!((error, cause), ("Runtime.ExitError".to_owned(), payload.to_string()));
    let parameters = json!({ "FunctionName": "f", "Payload": doing("large", 7_000_000) });
    let (error, cause) = failure(&tasks, INVOKE, parameters).await;
    assert_eq!(error, "States.DataLimitExceeded");
    assert!(cause.starts_with("The state/task 'lambda' returned a result with a size"), "{cause}");
    let (error, cause) = failure(&tasks, INVOKE, json!({ "FunctionName": "absent" })).await;
    assert_eq!(error, "Lambda.ResourceNotFoundException");
    let arn = "arn:aws:lambda:us-east-1:123456789012:function:absent:$LATEST";
    let expected = format!(
        "Function not found: {arn} (Service: AWSLambda; Status Code: 404; Error Code: \
         ResourceNotFoundException; Request ID: {id}; Proxy: null)"
    );
    assert_eq!(cause, expected);
    let (error, _) = failure(&tasks, INVOKE, json!({ "FunctionName": "none" })).await;
    assert_eq!(error, "Lambda.TooManyRequestsException");
    let (error, cause) = failure(&tasks, "arn:aws:states:::sqs:sendMessage", json!({})).await;
    assert_eq!(error, "States.Runtime");
    assert!(cause.contains("arn:aws:states:::sqs:sendMessage"), "{cause}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_log_comes_with_the_result() {
    let fixture = Fixture::python(|_| {});
    let tasks = Tasks::new(fixture.host.clone(), client());
    let quiet = json!({ "FunctionName": "f", "Payload": doing("say", 0) });
    assert_eq!(output(&tasks, INVOKE, quiet.clone()).await.get("LogResult"), None);
    let mut loud = quiet;
    loud["LogType"] = json!("Tail");
    let wrapped = output(&tasks, INVOKE, loud).await;
    let id = task(ARN, json!(0)).0.request_id();
    let expected = format!("START RequestId: {id} Version: $LATEST\nsaid\nEND RequestId: {id}\n");
    let expected = STANDARD.encode(expected);
    assert_eq!(wrapped["LogResult"], expected);
    assert_eq!(wrapped["SdkHttpMetadata"]["HttpHeaders"]["X-Amz-Log-Result"], expected);
}

/// Takes all, and keeps them.
#[derive(Default)]
struct Taken(Mutex<Vec<(String, Call)>>);

impl Acceptor for Taken {
    fn accept(
        &self,
        function: &str,
        call: Call,
        accepted: Box<dyn FnOnce(Result<(), String>) + Send>,
    ) {
        self.0.lock().unwrap().push((function.to_owned(), call));
        accepted(Ok(()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_nobody_waits_for_are_handed_on() {
    let fixture = Fixture::python(|_| {});
    let taken = Arc::new(Taken::default());
    let tasks = Tasks::new(fixture.host.clone(), client()).with_acceptor(taken.clone());
    let parameters = json!({ "FunctionName": "f", "Payload": 7, "InvocationType": "Event" });
    let wrapped = output(&tasks, INVOKE, parameters).await;
    assert_eq!((&wrapped["StatusCode"], &wrapped["Payload"]), (&json!(202), &json!("")));
    let (function, call) = taken.0.lock().unwrap()[0].clone();
    assert_eq!((&*function, &call.payload[..]), ("f", &b"7"[..]));
    let parameters = json!({ "FunctionName": "f", "InvocationType": "DryRun" });
    assert_eq!(output(&tasks, INVOKE, parameters).await["StatusCode"], 204);
    assert_eq!(fixture.events.started(), 0);
}

/// Whoever is dropped with its answer stops its code: the engine cancels so.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_early_takes_its_code_along() {
    let fixture = Fixture::python(|_| {});
    let tasks = Tasks::new(fixture.host.clone(), client());
    let pid = output(&tasks, ARN, doing("pid", 0)).await[0].as_u64().unwrap();
    until("it is idle", || fixture.host.standing("f").unwrap().idle == 1).await;
    let (sleeping, reports) = task(ARN, doing("sleep", 60));
    let id = sleeping.request_id();
    tasks.dispatch(sleeping);
    until("it is busy", || fixture.host.standing("f").unwrap().idle == 0).await;
    fixture.host.cancel(&id);
    until("the process has ended", || !is_alive(pid)).await;
    assert!(reports.0.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_are_posted_to() {
    let fixture = Fixture::new(Vec::new());
    let tasks = Tasks::new(fixture.host.clone(), client());
    let stub = Stub::serve("200 OK", "[1]").await;
    assert_eq!(output(&tasks, &stub.url, json!({ "a": 1 })).await, json!([1]));
    let stub = Stub::serve("503 Service Unavailable", "").await;
    let (error, _) = failure(&tasks, &stub.url, json!(1)).await;
    assert_eq!(error, "States.Http.StatusCode.503");
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_are_not_here_are_called_there() {
    let fixture = Fixture::python(|_| {});
    let credentials = Credentials {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: "secret".to_owned(),
        session_token: None,
    };
    let tasks = |stub: &Stub| {
        let remote = RemoteLambda::new(client(), &stub.url, "eu-west-1", Some(credentials.clone()));
        Tasks::new(fixture.host.clone(), client()).with_remote(remote)
    };
    let head = "200 OK\r\nX-Amz-Executed-Version: 3\r\nX-Amz-Log-Result: c2FpZA==";
    let stub = Stub::serve(head, "{\"b\":2}").await;
    let parameters = json!({
        "FunctionName": "there", "Qualifier": "live", "Payload": { "a": 1 }, "LogType": "Tail"
    });
    let wrapped = output(&tasks(&stub), INVOKE, parameters).await;
    assert_eq!(
        (&wrapped["Payload"], &wrapped["ExecutedVersion"]),
        (&json!({ "b": 2 }), &json!("3"))
    );
    let asked = stub.asked.lock().unwrap()[0].clone();
    let line = "POST /2015-03-31/functions/there/invocations?Qualifier=live HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    assert!(asked.contains("authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{asked}");
    assert!(asked.contains("x-amz-invocation-type: RequestResponse"), "{asked}");
    assert!(asked.contains("x-amz-log-type: Tail"), "{asked}");
    assert_eq!(wrapped["LogResult"], "c2FpZA==");
    assert!(asked.ends_with("{\"a\":1}"), "{asked}");

    let raised = r#"{"errorMessage": "no", "errorType": "OutOfStockError"}"#;
    let stub = Stub::serve("200 OK\r\nX-Amz-Function-Error: Unhandled", raised).await;
    let there = ARN.replace("function:f", "function:there");
    let expected = ("OutOfStockError".to_owned(), raised.to_owned());
    assert_eq!(failure(&tasks(&stub), &there, json!(1)).await, expected);

    let missing = r#"{"Message":"Function not found: x"}"#;
    let stub = Stub::serve("404 Not Found\r\nx-amzn-ErrorType: ResourceNotFoundException", missing);
    let (error, cause) = failure(&tasks(&stub.await), &there, json!(1)).await;
    assert_eq!(error, "Lambda.ResourceNotFoundException");
    assert!(cause.starts_with("Function not found: x (Service: AWSLambda; Status"), "{cause}");
    // What is here is not asked for there.
    assert_eq!(output(&tasks(&Stub::serve("500 No", "").await), ARN, json!(1)).await, 1);
}
