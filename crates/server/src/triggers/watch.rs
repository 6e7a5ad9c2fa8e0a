//! How what a trigger has started ends.

use std::sync::Arc;

use everstep_executions::{Error as Engine, ExecutionId, Message};
use everstep_interpreter::Status;
use everstep_invocations::{Error, Finished, InvocationId, Invocations, State};
use everstep_triggers::{Busy, Input, Outcome};
use serde_json::Value;
use tokio::sync::oneshot;

use super::Event;
use crate::service::Service;

/// Waits for the end of an invocation; of the execution that it has started too, if `service` is given.
pub(super) async fn watch(
    invocations: Arc<Invocations>,
    service: Option<Arc<Service>>,
    id: InvocationId,
) -> Event {
    let finished = ask(|reply| invocations.wait(id, reply)).await;
    let outcome = match finished {
        Ok(finished) => match ended(&invocations, &finished).await {
            Ok(Outcome::Succeeded) => match service {
                Some(service) => match execution(&service, &finished).await {
                    Some(outcome) => outcome,
                    None => return Event::Input(Input::NotWatched(id)),
                },
                None => Outcome::Succeeded,
            },
            Ok(outcome) => outcome,
            Err(error) => return Event::Failed(error),
        },
        Err(Error::NotFound) => Outcome::Gone,
        Err(Error::Busy) => return Event::Input(Input::NotWatched(id)),
        Err(error) => return Event::Failed(error),
    };
    Event::Input(Input::Ended(id, outcome))
}

async fn ended(invocations: &Arc<Invocations>, finished: &Finished) -> Result<Outcome, Error> {
    match finished.state {
        State::Succeeded => return Ok(Outcome::Succeeded),
        State::Cancelled => return Ok(Outcome::Cancelled),
        _ => {}
    }
    let Some(invocation) = show(invocations, finished.id).await? else { return Ok(Outcome::Gone) };
    if let Some(into) = invocation.redriven_as {
        return Ok(Outcome::Redriven { into });
    }
    let reason = invocation.state.reason().map_or(invocation.state.name(), |reason| reason.name());
    let error = invocation.attempts.last_failure().map(|failure| failure.error_type.clone());
    Ok(Outcome::Failed { error: error.unwrap_or_else(|| reason.to_owned()) })
}

async fn show(
    invocations: &Arc<Invocations>,
    id: InvocationId,
) -> Result<Option<everstep_invocations::Invocation>, Error> {
    let invocations = invocations.clone();
    let read = tokio::task::spawn_blocking(move || invocations.show(id)).await;
    Ok(read.unwrap_or(Err(Error::Stopped))?.map(|shown| shown.invocation))
}

/// How an execution ends; none if the engine is busy.
async fn execution(service: &Service, finished: &Finished) -> Option<Outcome> {
    let response: Option<Value> =
        finished.response.as_deref().and_then(|response| serde_json::from_slice(response).ok());
    let arn = response.as_ref().and_then(|response| response["executionArn"].as_str());
    let Some(arn) = arn else { return Some(Outcome::Succeeded) };
    let id = ExecutionId::of(arn);
    match service.ask(|reply| Message::Watch { id, reply }).await {
        Ok(ended) => Some(of_execution(&ended.status)),
        Err(Engine::Busy) => None,
        // Nothing is stored of it: it is over, and its time as well.
        Err(_) => Some(Outcome::Succeeded),
    }
}

fn of_execution(status: &Status) -> Outcome {
    let failed = |error: &str| Outcome::Failed { error: error.to_owned() };
    match status {
        Status::Running | Status::Succeeded { .. } => Outcome::Succeeded,
        Status::Failed { failure } => failed(failure.error.as_deref().unwrap_or("States.Failed")),
        Status::TimedOut => failed("States.Timeout"),
        Status::Aborted { .. } => Outcome::Cancelled,
    }
}

/// Sends a dead letter back, or finds what it has become.
pub(super) async fn redrive(invocations: Arc<Invocations>, id: InvocationId) -> Event {
    let redriven = match ask(|reply| invocations.redrive_one(id, reply)).await {
        Ok(into) => Ok(Some(into)),
        Err(Error::Busy) => Err(Busy),
        Err(Error::NotFound) => Ok(None),
        Err(Error::WrongState) => match show(&invocations, id).await {
            Ok(invocation) => Ok(invocation.and_then(|invocation| invocation.redriven_as)),
            Err(error) => return Event::Failed(error),
        },
        Err(error) => return Event::Failed(error),
    };
    Event::Input(Input::Redriven(id, redriven))
}

async fn ask<T: Send + 'static>(
    send: impl FnOnce(everstep_invocations::Reply<T>),
) -> Result<T, Error> {
    let (sender, receiver) = oneshot::channel();
    send(Box::new(move |answer| {
        let _ = sender.send(answer);
    }));
    receiver.await.unwrap_or(Err(Error::Stopped))
}
