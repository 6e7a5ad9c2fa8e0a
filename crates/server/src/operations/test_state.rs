//! `TestState`: one state by itself. A task that is not mocked is really called.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use everstep_api::protocol::{Error, Name};
use everstep_executions::{Job, Mailbox, Message, Report, Task};
use everstep_interpreter::test_state::{Call, Code, Request, RequestError, Tested, test_state};
use everstep_interpreter::{Dialect, Failure, Identity, Payload, reported_by_code};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Answer, configuration};
use crate::args::Args;
use crate::dispatch::dispatch;
use crate::service::Service;

/// A state that is tested may take so long, with all its calls.
const TIME_MAX: Duration = Duration::from_secs(300);

pub(super) async fn run(service: &Arc<Service>, args: Args<'_>) -> Answer {
    if let Some(role) = args.text("roleArn") {
        configuration::role(args, role)?;
    }
    let identity = identity(service, args);
    let arn = identity.execution_arn.clone();
    let mut request = Request {
        dialect: service.environment.dialect,
        limits: service.environment.limits,
        now_ms: service.now_ms(),
        seed: uuid::Uuid::new_v4().as_u64_pair().0,
        ..crate::test_state::request(args.body(), identity)
    };
    let deadline = Instant::now() + TIME_MAX;
    loop {
        let asked = request.clone();
        let tested = service.definition_turns.run(move || test_state(&asked)).await?;
        match tested.map_err(|error| refused(args, error))? {
            Tested::Done(response) => return Ok(response.to_value()),
            Tested::Calls(call) => {
                request.answer = Some(called(service, &arn, call, deadline).await);
            }
        }
    }
}

fn refused(args: Args<'_>, error: RequestError) -> Error {
    let name = match error.code {
        Code::InvalidDefinition => Name::InvalidDefinition,
        Code::InvalidExecutionInput => Name::InvalidExecutionInput,
        Code::ValidationException => Name::ValidationException,
    };
    args.error(name, error.message)
}

/// Whom the state believes to be in.
fn identity(service: &Service, args: Args<'_>) -> Identity {
    let name = uuid::Uuid::new_v4().to_string();
    Identity {
        execution_arn: service.arn(&format!("express:TestState:{name}")).into(),
        execution_name: name.into(),
        role_arn: args.text("roleArn").unwrap_or_default().into(),
        machine_arn: service.arn("stateMachine:TestState").into(),
        machine_name: "TestState".into(),
        token_key: service.token_key,
    }
}

async fn called(
    service: &Arc<Service>,
    arn: &str,
    call: Call,
    deadline: Instant,
) -> Result<Payload, Failure> {
    let Call { resource, parameters, credentials } = call;
    let (sender, receiver) = oneshot::channel();
    let mailbox = Arc::new(Outcome {
        dialect: service.environment.dialect,
        sender: Mutex::new(Some(sender)),
    });
    let job = Job::Call { resource, parameters, credentials };
    dispatch(service, Task::alone(arn, "TestState", job, mailbox));
    match tokio::time::timeout_at(deadline, receiver).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Failure::new("States.TaskFailed", "the task ended without a result")),
        Err(_) => Err(Failure { error: Some("States.Timeout".into()), cause: None }),
    }
}

/// Receives the outcome of the call.
struct Outcome {
    dialect: Dialect,
    sender: Mutex<Option<oneshot::Sender<Result<Payload, Failure>>>>,
}

impl Mailbox<Message> for Outcome {
    fn post(&self, message: Message) {
        let Message::Report { report, reply, .. } = message else { return };
        let outcome = match report {
            Report::Succeeded { output } => Some(Ok(output)),
            Report::Failed { failure, .. } | Report::MapRunFailed { failure } => Some(Err(failure)),
            Report::Raised { failure } => Some(Err(reported_by_code(failure, self.dialect))),
            _ => None,
        };
        if let Some(outcome) = outcome
            && let Some(sender) = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            let _ = sender.send(outcome);
        }
        if let Some(reply) = reply {
            reply(Ok(()));
        }
    }
}
