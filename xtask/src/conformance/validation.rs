//! Requests that were refused, definitions that were judged, and what was said about them: sent to a service
//! of our own, as a client sends them.

use std::sync::Arc;

use everstep_api::protocol::{Error, Operation, conforms};
use everstep_executions::{Cancelled, Settings, Silent, SystemClock, Task, TaskRunner};
use everstep_server::{Environment, Parts, Service};
use everstep_store::MemoryStore;
use serde_json::{Value, json};

use super::Outcome;

/// The account of the recordings.
const ACCOUNT: &str = "111111111111";
const ROLE: &str = "arn:aws:iam::111111111111:role/r";

pub(super) fn check(case: &Value) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else {
        return Outcome::Failed("no runtime can be made".to_owned());
    };
    runtime.block_on(async {
        let service = match service() {
            Ok(service) => service,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let outcome = run(&service, case).await;
        service.shut_down();
        match outcome {
            Ok(()) => Outcome::Passed,
            Err(difference) => Outcome::Failed(difference),
        }
    })
}

/// No case starts an execution.
struct Nobody;

impl TaskRunner for Nobody {
    fn dispatch(&self, _task: Task) {}

    fn cancel(&self, _cancelled: Cancelled) {}
}

fn service() -> everstep_executions::Result<Arc<Service>> {
    let store = Arc::new(MemoryStore::new(1));
    let service = Service::new(Parts {
        settings: Settings {
            shards: everstep_shards::Settings { workers: 1, ..Default::default() },
            ..Settings::default()
        },
        environment: Environment {
            account: ACCOUNT.to_owned(),
            dialect: everstep_interpreter::Dialect::Aws,
            ..Environment::default()
        },
        ..Parts::new(store, Arc::new(SystemClock), Arc::new(Nobody))
    });
    service.start(None, Arc::new(Silent))?;
    Ok(service)
}

async fn run(service: &Arc<Service>, case: &Value) -> Result<(), String> {
    let operation = case["api"].as_str().and_then(Operation::find);
    let operation = operation.unwrap_or(Operation::CreateStateMachine);
    let request = request(case, operation);
    match operation {
        Operation::DescribeStateMachine => describe(service, case, request).await,
        Operation::ValidateStateMachineDefinition => {
            let answer = call(service, operation, &request).await.map_err(|e| e.to_string())?;
            compare(&case["expected"], &answer)
        }
        _ => refused(service, case, operation, request).await,
    }
}

/// The recorded request, and what a recording leaves out of it.
fn request(case: &Value, operation: Operation) -> Value {
    let text = case["definitionText"].as_str().map(str::to_owned);
    let mut request = json!({
        "definition": text.unwrap_or_else(|| case["definition"].to_string()),
    });
    if operation != Operation::UpdateStateMachine {
        request["type"] = case["type"].clone();
    }
    if operation != Operation::ValidateStateMachineDefinition {
        request["roleArn"] = ROLE.into();
    }
    if matches!(operation, Operation::CreateStateMachine | Operation::DescribeStateMachine) {
        request["name"] = "recorded".into();
    }
    for (name, value) in case["request"].as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

async fn call(service: &Arc<Service>, operation: Operation, body: &Value) -> Result<Value, Error> {
    let answer = service.call(operation, body).await?;
    debug_assert_eq!(conforms(operation, &answer), Ok(()));
    Ok(answer)
}

async fn describe(service: &Arc<Service>, case: &Value, mut request: Value) -> Result<(), String> {
    request["name"] = "recorded".into();
    let created = call(service, Operation::CreateStateMachine, &request).await;
    let created = created.map_err(|error| format!("refused: {error}"))?;
    let body = json!({ "stateMachineArn": created["stateMachineArn"] });
    let answer = call(service, Operation::DescribeStateMachine, &body).await;
    let answer = answer.map_err(|error| error.to_string())?;
    let expected = &case["expected"]["variableReferences"];
    let found = answer.get("variableReferences").cloned();
    compare(expected, &found.unwrap_or_else(|| json!({})))
}

/// A request that must be refused by the recorded name and in the recorded words.
async fn refused(
    service: &Arc<Service>,
    case: &Value,
    operation: Operation,
    request: Value,
) -> Result<(), String> {
    let error = &case["expected_error"];
    let code = error["Error"]["Code"].as_str().or(error["exception_typename"].as_str());
    let code = code.unwrap_or_default();
    let name = machine(&request).to_owned();
    if operation == Operation::UpdateStateMachine || code == "StateMachineAlreadyExists" {
        prepare(service, &name).await.map_err(|error| format!("the machine: {error}"))?;
    }
    let message = error["Error"]["Message"].as_str().or(error["exception_value"].as_str());
    // A client wraps the message: `An error occurred (X) when calling the Y operation: ...`.
    let message = message.unwrap_or_default();
    let message = message.split_once(" operation: ").map_or(message, |(_, message)| message);
    let message = placed(case, message, &name);
    match call(service, operation, &request).await {
        Ok(answer) => Err(format!("expected {code}: {message}\nfound    {answer}")),
        Err(found) => compare(&json!([code, message]), &json!([found.name(), found.message()])),
    }
}

/// The name of the machine that a request is about.
fn machine(request: &Value) -> &str {
    let arn = request["stateMachineArn"].as_str();
    let of_arn = arn.and_then(|arn| arn.split(':').nth(6));
    of_arn.or(request["name"].as_str()).unwrap_or_default()
}

/// What the recording left out of a message: names are all that cases of this kind lack.
fn placed(case: &Value, message: &str, name: &str) -> String {
    let known = case["placeholders"].as_object().into_iter().flatten();
    let names = known.filter(|(_, meaning)| *meaning == "state machine name");
    names.fold(message.to_owned(), |message, (placeholder, _)| message.replace(placeholder, name))
}

/// The machine that the recorded request came upon: another definition, two versions.
async fn prepare(service: &Arc<Service>, name: &str) -> Result<(), Error> {
    let definition = |comment: &str| {
        let states = json!({ "A": { "Type": "Pass", "End": true } });
        json!({ "Comment": comment, "StartAt": "A", "States": states }).to_string()
    };
    let created = json!({
        "name": name,
        "definition": definition("first"),
        "roleArn": ROLE,
        "publish": true,
    });
    let created = call(service, Operation::CreateStateMachine, &created).await?;
    let update = json!({
        "stateMachineArn": created["stateMachineArn"],
        "definition": definition("second"),
        "publish": true,
    });
    call(service, Operation::UpdateStateMachine, &update).await?;
    Ok(())
}

fn compare(expected: &Value, found: &Value) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("expected {expected}\nfound    {found}"))
}
