//! Tasks that call this very service: executions that start executions, and all its other operations. What happens
//! when is `everstep_drivers::nested`; here its requests are performed.
//!
//! - `calls`: which calls have a driver now.

mod calls;

use std::sync::Arc;

use everstep_api::arn::{Arn, Kind as ArnKind};
use everstep_api::protocol::{Common, Error, Operation, check, timestamp};
use everstep_asl::model::{Kind, Pattern, Resource};
use everstep_drivers::nested::{
    Busy, Called, Cancel, CancelInput, CancelRequest, Driver, Input, PARENT, Refusal, Request,
};
use everstep_executions::{
    Cancelled, Clock, Error as Engine, ExecutionId, Job, Message, Reader, Report, Standing,
    Summary, Task, request_id,
};
use everstep_interpreter::{Attempt, Effect, Execution, Failure, Payload, attempt_name, effects};
use serde_json::{Value, json};

pub(crate) use calls::{Calls, Open};

use crate::args::Args;
use crate::map_run;
use crate::operations::describe_execution::description;
use crate::operations::start_execution::{begin, execution_arn, label};
use crate::operations::target;
use crate::pause::until;
use crate::sdk::{self, Integration};
use crate::service::Service;

/// What a task asks of the service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    operation: Operation,
    integration: Integration,
    pattern: Pattern,
}

/// What a resource asks of this service, if it does.
pub(crate) fn call(resource: &Resource) -> Option<Call> {
    let Resource::Service { service, action, sdk, pattern, .. } = resource else { return None };
    let integration = match (service.as_str(), action.as_str(), sdk) {
        ("states", "startExecution", false) => Integration::Optimised,
        ("sfn", _, true) if !waits(*pattern) => Integration::Sdk,
        _ => return None,
    };
    Some(Call { operation: sdk::operation(action)?, integration, pattern: *pattern })
}

/// Whether the task ends with what it has started.
fn waits(pattern: Pattern) -> bool {
    matches!(pattern, Pattern::Sync | Pattern::Sync2)
}

/// Does what a task asks for. Cancellations of the task are not confirmed while it is open.
pub(crate) async fn run(service: Arc<Service>, task: Task, call: Call, _open: Open) {
    let Job::Call { parameters, .. } = &task.job else { return };
    let mut body = match sdk::request(call.operation, parameters) {
        Ok(body) => body,
        Err(failure) => return task.fail(failure),
    };
    if call.operation == Operation::StartExecution && body["name"].is_null() {
        body["name"] = task.request_id().into();
    }
    let clock = service.clock.clone();
    let shell = Shell { service, task, call, body, child_arn: String::new() };
    shell.drive(&*clock).await;
}

struct Shell {
    service: Arc<Service>,
    task: Task,
    call: Call,
    body: Value,
    /// The execution that was started.
    child_arn: String,
}

impl Shell {
    async fn drive(mut self, clock: &dyn Clock) {
        let (mut driver, mut request) = Driver::open();
        loop {
            // Nothing comes if the engine stops: the task will be dispatched again.
            let Some(input) = self.perform(request).await else { return };
            let mut next = driver.handle(input, clock.now_ms());
            while next.is_none() {
                let Some(due_ms) = driver.next_due_ms() else { return };
                let now_ms = until(due_ms, clock).await;
                next = driver.handle(Input::TimePassed, now_ms);
            }
            let Some(next) = next else { return };
            request = next;
        }
    }

    async fn perform(&mut self, request: Request) -> Option<Input> {
        match request {
            Request::Call => self.call().await.map(Input::Called),
            Request::Submit(output) => self.submit(output).await.map(Input::Submitted),
            Request::Watch(child) => self.watch(child).await.map(Input::Watched),
            Request::Describe(child) => self.describe(child).map(Input::Described),
            Request::Stop(child) => {
                let service = &self.service;
                let stopped = match is_started_by(service, child, &self.task.attempt_name()) {
                    true => stop(service, child).await,
                    false => Ok(()),
                };
                Some(Input::Stopped(stopped))
            }
            Request::Finish(result) => {
                match result {
                    Some(Ok(output)) => self.task.succeed(output),
                    Some(Err(failure)) => self.task.fail(failure),
                    None => {}
                }
                None
            }
        }
    }

    async fn call(&mut self) -> Option<Result<Called, Refusal>> {
        let service = self.service.clone();
        let operation = self.call.operation;
        let called = if operation == Operation::StartExecution {
            self.start(&service).await
        } else {
            let answered = service.call(operation, &self.body).await;
            answered.map(|answer| (answer, None))
        };
        match called {
            Ok((answer, child)) => {
                let output = Payload::new(sdk::response(operation, &answer));
                Some(Ok(Called { output, child }))
            }
            Err(error) if error.name() == Common::Throttling.as_str() => Some(Err(Refusal::Busy)),
            Err(error) if error.name() == Common::ServiceUnavailable.as_str() => None,
            Err(error) => Some(Err(Refusal::Failed(sdk::failure(self.call.integration, &error)))),
        }
    }

    /// Starts an execution, and says which one the task then waits for.
    async fn start(&mut self, service: &Service) -> Result<(Value, Option<ExecutionId>), Error> {
        check(self.call.operation, &self.body)?;
        let args = Args::new(self.call.operation, &self.body);
        let waits = waits(self.call.pattern);
        if waits {
            refuse_express(service, args)?;
        }
        let begun = begin(service, args, Some(&self.task.attempt_name()), None).await?;
        let answer = json!({ "executionArn": begun.arn, "startDate": timestamp(begun.started_ms) });
        self.child_arn = begun.arn;
        Ok((answer, waits.then(|| ExecutionId::of(&self.child_arn))))
    }

    async fn submit(&self, output: Payload) -> Option<Result<(), Refusal>> {
        let (id, attempt) = (self.task.execution, self.task.attempt);
        let report = Report::Submitted { output };
        let reported = self
            .service
            .ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) })
            .await;
        match reported {
            Ok(()) => Some(Ok(())),
            Err(Engine::Busy) => Some(Err(Refusal::Busy)),
            Err(Engine::Settled | Engine::NoSuchTask | Engine::NotFound) => {
                Some(Err(Refusal::Settled))
            }
            Err(_) => None,
        }
    }

    async fn watch(&self, id: ExecutionId) -> Option<Result<(), Refusal>> {
        let pending = self.service.request(|reply| Message::Watch { id, reply });
        match pending.await {
            Ok(Ok(_)) => Some(Ok(())),
            Ok(Err(Engine::Busy)) => Some(Err(Refusal::Busy)),
            Ok(Err(Engine::NotFound)) => {
                let cause = format!("Execution Does Not Exist: '{}'", self.child_arn);
                let failure = Failure::new("States.TaskFailed", cause);
                Some(Err(Refusal::Failed(failure)))
            }
            _ => None,
        }
    }

    /// How the task ends; nothing within if the execution runs again.
    fn describe(&self, id: ExecutionId) -> Option<Option<Result<Payload, Failure>>> {
        let summary = self.service.reader.summary(id).ok()??;
        if summary.standing == Standing::Running {
            return Some(None);
        }
        result(&self.service, self.call.pattern, &summary).map(Some)
    }
}

/// Nothing is stored of an EXPRESS execution, so a task could not wait for one after a crash.
fn refuse_express(service: &Service, args: Args<'_>) -> Result<(), Error> {
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

/// Recorded of the service: a success is the description of the execution, in which `.sync:2` has JSON
/// in place of its text; a failure has that description as its cause, with the text. That a failure of
/// `.sync:2` has text too is a guess.
fn result(
    service: &Service,
    pattern: Pattern,
    summary: &Summary,
) -> Option<Result<Payload, Failure>> {
    let description = description(service, summary, true).ok()?;
    let mut output = sdk::response(Operation::DescribeExecution, &description);
    if summary.standing != Standing::Succeeded {
        return Some(Err(Failure::new("States.TaskFailed", output.to_string())));
    }
    if pattern == Pattern::Sync2 {
        for member in ["Input", "Output"] {
            let parsed = output[member].as_str().and_then(|text| serde_json::from_str(text).ok());
            if let Some(parsed) = parsed {
                output[member] = parsed;
            }
        }
    }
    Some(Ok(Payload::new(output)))
}

/// Stops the execution that a task waited for. `cancelled` is held until that is durable: a crash before
/// brings it back.
pub(crate) async fn cancel(service: Arc<Service>, cancelled: Cancelled) {
    // What cannot be read or written now is taken up after the next start.
    let _ = map_run::cancel(&service, &cancelled).await;
    let (mut cancel, mut request) = Cancel::open();
    loop {
        let input = match request {
            CancelRequest::Find => CancelInput::Found(find_child(&service, &cancelled).await),
            CancelRequest::Stop(child) => CancelInput::Stopped(stop(&service, child).await),
            CancelRequest::Finish => break,
        };
        let mut next = cancel.handle(input, service.now_ms());
        while next.is_none() {
            let Some(due_ms) = cancel.next_due_ms() else { break };
            let now_ms = until(due_ms, &*service.clock).await;
            next = cancel.handle(CancelInput::TimePassed, now_ms);
        }
        request = next.unwrap_or(CancelRequest::Finish);
    }
    drop(cancelled);
}

async fn find_child(service: &Service, cancelled: &Cancelled) -> Option<ExecutionId> {
    let (reader, parent, attempt) =
        (service.reader.clone(), cancelled.execution, cancelled.attempt);
    let found = tokio::task::spawn_blocking(move || child(&reader, parent, attempt)).await;
    let id = ExecutionId::of(&found.ok()?.ok()??);
    let token = attempt_name(&cancelled.execution_arn, cancelled.attempt);
    is_started_by(service, id, &token).then_some(id)
}

/// Whether the task of this token has started an execution.
fn is_started_by(service: &Service, id: ExecutionId, token: &str) -> bool {
    let summary = service.reader.summary(id).ok().flatten();
    summary.is_some_and(|summary| label(&summary, PARENT) == Some(token))
}

async fn stop(service: &Service, id: ExecutionId) -> Result<(), Busy> {
    let cause = "The task that waited for this execution was cancelled";
    let failure = Failure { error: None, cause: Some(cause.into()) };
    match service.ask(|reply| Message::Stop { id, failure, reply }).await {
        Err(Engine::Busy) => Err(Busy),
        _ => Ok(()),
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
    let asked = reader.find_event(&summary, |event| {
        execution.apply(&event);
        let is_scheduled = event.scheduled() == Some(attempt);
        is_scheduled.then(|| effects(&execution, &[event]).pop())
    })?;
    Ok(asked.flatten().and_then(|effect| child_of(&effect, &summary.arn)))
}

fn is_awaited_start(resource: &Resource) -> bool {
    call(resource)
        .is_some_and(|call| call.operation == Operation::StartExecution && waits(call.pattern))
}

/// By the machine and the name that the task gave, or by the name that was made for it.
fn child_of(effect: &Effect, parent_arn: &str) -> Option<String> {
    let Effect::ScheduleTask { attempt, resource, parameters, .. } = effect else { return None };
    if !is_awaited_start(resource) {
        return None;
    }
    let body = sdk::request(Operation::StartExecution, parameters).ok()?;
    let arn = Arn::parse(body["stateMachineArn"].as_str()?).ok()?;
    let ArnKind::StateMachine { name: machine, label: None, .. } = arn.kind else { return None };
    let machine_arn = format!("{}:stateMachine:{machine}", arn.place);
    let made = || request_id(&attempt_name(parent_arn, *attempt));
    let name = body["name"].as_str().map_or_else(made, str::to_owned);
    Some(execution_arn(&machine_arn, false, &name))
}
