//! Ends a Map Run that was cancelled and has no driver, because the engine was restarted in between.

use everstep_drivers::map_run::{
    Abort, AbortInput, AbortRequest, Busy, Found, Status, children, of_execution, running,
};
use everstep_executions::{Cancelled, Error as Engine, ExecutionId, Message, Result};
use everstep_interpreter::Failure;

use crate::pause::until;
use crate::service::Service;

/// Ends the run that an attempt was to drive, if it was to drive one.
pub(crate) async fn cancel(service: &Service, cancelled: &Cancelled) -> Result<()> {
    let Some(found) = find(service, cancelled)? else { return Ok(()) };
    let turn = service.map_runs.turn(found.execution, found.run);
    // A later attempt drives the run: its children are wanted.
    let Ok(_turn) = turn.try_lock() else { return Ok(()) };
    match find(service, cancelled)? {
        Some(found) => abort(service, found).await,
        None => Ok(()),
    }
}

fn find(service: &Service, cancelled: &Cancelled) -> Result<Option<Found>> {
    let runs = of_execution(&service.reader, cancelled.execution)?;
    let wanted = |found: &Found| {
        found.record.attempt() == cancelled.attempt && found.record.status == Status::Running
    };
    Ok(runs.into_iter().find(wanted))
}

async fn abort(service: &Service, found: Found) -> Result<()> {
    let (mut abort, mut request) = Abort::open(found.clone());
    loop {
        let input = match request {
            AbortRequest::ListRunning => AbortInput::Running(running(&service.reader, &found)?),
            AbortRequest::Stop(ids) => AbortInput::Stopped(stop(service, ids).await?),
            AbortRequest::ListAll => AbortInput::Children(children(&service.reader, &found)?),
            AbortRequest::Write(notes) => {
                let id = found.execution;
                match service.ask(|reply| Message::Note { id, notes, reply }).await {
                    Ok(()) => AbortInput::Written(Ok(())),
                    Err(Engine::Busy) => AbortInput::Written(Err(Busy)),
                    Err(other) => return Err(other),
                }
            }
            AbortRequest::Finish => return Ok(()),
        };
        let mut next = abort.handle(input, service.now_ms());
        while next.is_none() {
            let Some(due_ms) = abort.next_due_ms() else { return Ok(()) };
            let now_ms = until(due_ms, &*service.clock).await;
            next = abort.handle(AbortInput::TimePassed, now_ms);
        }
        request = next.unwrap_or(AbortRequest::Finish);
    }
}

/// Stops executions, all at once so that they share commits.
async fn stop(service: &Service, ids: Vec<ExecutionId>) -> Result<std::result::Result<(), Busy>> {
    let ask = |id: ExecutionId| {
        let failure = Failure::default();
        service.request(|reply| Message::Stop { id, failure, reply })
    };
    let mut outcome = Ok(());
    for answer in ids.into_iter().map(ask).collect::<Vec<_>>() {
        match answer.await.unwrap_or(Err(Engine::Stopped)) {
            Ok(_) | Err(Engine::NotFound) => {}
            Err(Engine::Busy) => outcome = Err(Busy),
            Err(other) => return Err(other),
        }
    }
    Ok(outcome)
}
