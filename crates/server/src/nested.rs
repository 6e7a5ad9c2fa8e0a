//! Tasks that call this very service: executions that start executions, and all its other operations.
//!
//! An execution that a task starts is labelled with the task's token, and unless it is given a name it is
//! named after the task's request id. So a task that is asked for again after a crash finds the execution
//! that it has started, be it over or not; and whoever cancels a task finds that execution by what the
//! parent's journal says of the attempt. Nothing else need be kept.

use std::sync::{Arc, Weak};
use std::time::Duration;

use everstep_api::arn::{Arn, Kind as ArnKind};
use everstep_api::protocol::{Common, Error, Operation, check, timestamp};
use everstep_asl::model::{Kind, Pattern, Resource};
use everstep_executions::{
    Cancelled, Error as Engine, ExecutionId, Job, Message, Reader, Report, Standing, Summary, Task,
    request_id,
};
use everstep_interpreter::{
    Attempt, Effect, Event, Execution, Failure, Payload, effects, task_token,
};
use serde_json::{Value, json};

use crate::args::Args;
use crate::map_run;
use crate::operations::describe_execution::description;
use crate::operations::start_execution::{Begun, PARENT, begin, execution_arn, label};
use crate::operations::target;
use crate::sdk::{self, Integration};
use crate::service::Service;

/// What a task wants of the service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand {
    operation: Operation,
    integration: Integration,
    pattern: Pattern,
}

/// How long to wait when too much is waiting already.
const PAUSE: Duration = Duration::from_millis(100);

/// What a resource asks of this service, if it does.
pub(crate) fn errand(resource: &Resource) -> Option<Errand> {
    let Resource::Service { service, action, sdk, pattern, .. } = resource else { return None };
    let integration = match (service.as_str(), action.as_str(), sdk) {
        ("states", "startExecution", false) => Integration::Optimised,
        ("sfn", _, true) if !waits(*pattern) => Integration::Sdk,
        _ => return None,
    };
    Some(Errand { operation: sdk::operation(action)?, integration, pattern: *pattern })
}

/// Whether the task ends with what it has started.
fn waits(pattern: Pattern) -> bool {
    matches!(pattern, Pattern::Sync | Pattern::Sync2)
}

pub(crate) async fn run(service: Arc<Service>, task: Task, errand: Errand) {
    let Job::Call { parameters, .. } = &task.job else { return };
    let body = match sdk::request(errand.operation, parameters) {
        Ok(body) => body,
        Err(failure) => return task.fail(failure),
    };
    if errand.operation == Operation::StartExecution {
        start(service, task, errand, body).await;
    } else {
        call(&service, &task, errand, &body).await;
    }
}

async fn call(service: &Arc<Service>, task: &Task, errand: Errand, body: &Value) {
    loop {
        match service.call(errand.operation, body).await {
            Ok(output) => {
                return task.succeed(Payload::new(sdk::response(errand.operation, &output)));
            }
            Err(error) if is_busy(&error) => tokio::time::sleep(PAUSE).await,
            Err(error) => return fail(task, errand, &error),
        }
    }
}

/// Too much is waiting: a task tries again rather than being turned away.
fn is_busy(error: &Error) -> bool {
    error.name() == Common::Throttling.as_str()
}

/// Fails a task, unless the engine stops: then it will be asked for again.
fn fail(task: &Task, errand: Errand, error: &Error) {
    if error.name() != Common::ServiceUnavailable.as_str() {
        task.fail(sdk::failure(errand.integration, error));
    }
}

async fn start(service: Arc<Service>, task: Task, errand: Errand, mut body: Value) {
    let token = task.token();
    if body["name"].is_null() {
        body["name"] = request_id(&token).into();
    }
    let begun = match started(&service, errand, &body, &token).await {
        Ok(begun) => begun,
        Err(error) => return fail(&task, errand, &error),
    };
    let answer = json!({ "executionArn": begun.arn, "startDate": timestamp(begun.started_ms) });
    let output = Payload::new(sdk::response(Operation::StartExecution, &answer));
    if !waits(errand.pattern) {
        return task.succeed(output);
    }
    if submitted(&service, &task, output).await {
        let service = Arc::downgrade(&service);
        finish(service, &task, errand.pattern, &begun.arn).await;
    } else {
        // It was cancelled before there was anything to be stopped.
        stop(&service, &begun.arn, &token).await;
    }
}

async fn started(
    service: &Service,
    errand: Errand,
    body: &Value,
    token: &str,
) -> Result<Begun, Error> {
    check(errand.operation, body)?;
    let args = Args::new(errand.operation, body);
    if waits(errand.pattern) {
        standard(service, args)?;
    }
    loop {
        match begin(service, args, Some(token), None).await {
            Err(error) if is_busy(&error) => tokio::time::sleep(PAUSE).await,
            outcome => return outcome,
        }
    }
}

/// Nothing is kept of an EXPRESS execution that could be waited for after a crash.
fn standard(service: &Service, args: Args<'_>) -> Result<(), Error> {
    let machine = target::named(service, args, args.required("stateMachineArn"))?;
    if machine.express {
        let message = format!(
            "'{}' is an EXPRESS state machine, whose executions a task cannot wait for: start them with \
             arn:aws:states:::aws-sdk:sfn:startSyncExecution",
            machine.arn
        );
        return Err(Error::common(Common::Validation, message));
    }
    Ok(())
}

/// Says that the execution runs; whether anybody still waits for it.
async fn submitted(service: &Service, task: &Task, output: Payload) -> bool {
    let (id, attempt) = (task.execution, task.attempt);
    loop {
        let report = Report::Submitted { output: output.clone() };
        let said =
            service.ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) }).await;
        match said {
            Err(Engine::Busy) => tokio::time::sleep(PAUSE).await,
            Err(Engine::Settled | Engine::NoSuchTask | Engine::NotFound) => return false,
            _ => return true,
        }
    }
}

/// Waits for the end of an execution, and ends the task with it. Does not hold the service meanwhile.
async fn finish(service: Weak<Service>, task: &Task, pattern: Pattern, arn: &str) {
    let id = ExecutionId::of(arn);
    loop {
        let Some(pending) =
            service.upgrade().map(|service| service.request(|reply| Message::Watch { id, reply }))
        else {
            return;
        };
        match pending.await {
            Ok(Ok(_)) => {}
            Ok(Err(Engine::Busy)) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Ok(Err(Engine::NotFound)) => {
                let cause = format!("Execution Does Not Exist: '{arn}'");
                return task.fail(Failure::new("States.TaskFailed", cause));
            }
            // The engine stops: the task will be asked for again.
            _ => return,
        }
        let Some(service) = service.upgrade() else { return };
        match service.reader.summary(id) {
            // Redriven in the very moment it ended.
            Ok(Some(Summary { standing: Standing::Running, .. })) => {}
            Ok(Some(summary)) => return end(&service, task, pattern, &summary),
            _ => return,
        }
    }
}

/// Recorded of the service: a success is the description of the execution, in which `.sync:2` has JSON
/// in place of its text; a failure has that description as its cause, with the text. That a failure of
/// `.sync:2` has text too is a guess.
fn end(service: &Service, task: &Task, pattern: Pattern, summary: &Summary) {
    let Ok(description) = description(service, summary, true) else { return };
    let mut output = sdk::response(Operation::DescribeExecution, &description);
    if summary.standing != Standing::Succeeded {
        return task.fail(Failure::new("States.TaskFailed", output.to_string()));
    }
    if pattern == Pattern::Sync2 {
        for member in ["Input", "Output"] {
            let parsed = output[member].as_str().and_then(|text| serde_json::from_str(text).ok());
            if let Some(parsed) = parsed {
                output[member] = parsed;
            }
        }
    }
    task.succeed(Payload::new(output));
}

/// Stops the execution that a task waited for. `cancelled` is held until that is durable: a crash before
/// brings it back.
pub(crate) async fn cancel(service: Arc<Service>, cancelled: Cancelled) {
    while let Err(Engine::Busy) = map_run::cancel(&service, &cancelled).await {
        tokio::time::sleep(PAUSE).await;
    }
    let (reader, parent, attempt) =
        (service.reader.clone(), cancelled.execution, cancelled.attempt);
    let found = tokio::task::spawn_blocking(move || child(&reader, parent, attempt)).await;
    if let Ok(Ok(Some(arn))) = found {
        let token = task_token(&cancelled.execution_arn, cancelled.attempt);
        stop(&service, &arn, &token).await;
    }
    drop(cancelled);
}

/// Stops an execution, if it is the one that the task of this token has started.
async fn stop(service: &Service, arn: &str, token: &str) {
    let id = ExecutionId::of(arn);
    let ours = |summary: Summary| label(&summary, PARENT) == Some(token);
    if !service.reader.summary(id).ok().flatten().is_some_and(ours) {
        return;
    }
    loop {
        let cause = "The task that waited for this execution was cancelled";
        let failure = Failure { error: None, cause: Some(cause.into()) };
        match service.ask(|reply| Message::Stop { id, failure, reply }).await {
            Err(Engine::Busy) => tokio::time::sleep(PAUSE).await,
            _ => return,
        }
    }
}

/// The execution that an attempt has started and waits for, if it is one that does.
fn child(
    reader: &Reader,
    parent: ExecutionId,
    attempt: Attempt,
) -> everstep_executions::Result<Option<String>> {
    let Some(summary) = reader.summary(parent)? else { return Ok(None) };
    let prepared = reader.prepared(&summary)?;
    let mut starts = false;
    prepared.program.machine.each_state(&mut |state, _, _| {
        starts |= matches!(&state.kind, Kind::Task(task) if is_awaited_start(&task.resource));
    });
    if !starts {
        return Ok(None);
    }
    let mut execution = Execution::new(prepared.program.clone(), prepared.identity(&summary.arn));
    for event in &reader.events(parent)? {
        execution.apply(event);
        if matches!(event, Event::TaskScheduled { attempt: scheduled, .. } if *scheduled == attempt)
        {
            let asked = effects(&execution, std::slice::from_ref(event)).pop();
            return Ok(asked.and_then(|effect| child_of(&effect, &summary.arn)));
        }
    }
    Ok(None)
}

fn is_awaited_start(resource: &Resource) -> bool {
    errand(resource).is_some_and(|errand| {
        errand.operation == Operation::StartExecution && waits(errand.pattern)
    })
}

/// By the machine and the name that the task gave, or the name that was made up for it.
fn child_of(effect: &Effect, parent_arn: &str) -> Option<String> {
    let Effect::ScheduleTask { attempt, resource, parameters, .. } = effect else { return None };
    if !is_awaited_start(&Resource::classify(resource)) {
        return None;
    }
    let body = sdk::request(Operation::StartExecution, parameters).ok()?;
    let arn = Arn::parse(body["stateMachineArn"].as_str()?).ok()?;
    let ArnKind::StateMachine { name: machine, label: None, .. } = arn.kind else { return None };
    let machine_arn = format!("{}:stateMachine:{machine}", arn.place);
    let made_up = || request_id(&task_token(parent_arn, *attempt));
    let name = body["name"].as_str().map_or_else(made_up, str::to_owned);
    Some(execution_arn(&machine_arn, false, &name))
}
