//! Ends a Map Run that nobody waits for and that has no driver: the engine was started again after it had
//! been cancelled.

use everstep_executions::{Cancelled, Error as Engine, ListId, Message, Result, Standing, Summary};
use everstep_interpreter::Failure;

use super::child::{ITEMS, Noted};
use super::record::{self, Found, Status};
use super::tally::Place;
use crate::operations::start_execution::label;
use crate::service::Service;

/// Children that are looked at in one go.
const CHILDREN_AT_A_TIME: usize = 500;

/// Ends the run that an attempt was to drive, if it was to drive one.
pub(crate) async fn cancel(service: &Service, cancelled: &Cancelled) -> Result<()> {
    let runs = record::of_execution(&service.reader, cancelled.execution)?;
    let wanted = |found: &Found| {
        found.record.attempt() == cancelled.attempt && found.record.status == Status::Running
    };
    match runs.into_iter().find(wanted) {
        Some(found) => end(service, found).await,
        None => Ok(()),
    }
}

async fn end(service: &Service, mut found: Found) -> Result<()> {
    let list = ListId::of(&found.record.arn);
    loop {
        let running = Some(Standing::Running);
        let page = service.reader.list(list, running, None, CHILDREN_AT_A_TIME)?;
        if page.executions.is_empty() {
            break;
        }
        stop(service, &page.executions).await?;
    }
    count(service, &mut found)?;
    found.record.status = Status::Aborted;
    found.record.stopped_ms = Some(service.now_ms());
    let (id, notes) = (found.execution, vec![record::record_note(found.run, &found.record)]);
    service.ask(|reply| Message::Note { id, notes, reply }).await
}

/// Stops executions, all at once so that they share commits.
async fn stop(service: &Service, executions: &[Summary]) -> Result<()> {
    let ask = |summary: &Summary| {
        let (id, failure) = (summary.id(), Failure::default());
        service.request(|reply| Message::Stop { id, failure, reply })
    };
    for answer in executions.iter().map(ask).collect::<Vec<_>>() {
        match answer.await.unwrap_or(Err(Engine::Stopped)) {
            // Those that are left are found again.
            Ok(_) | Err(Engine::Busy | Engine::NotFound) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// Counts how the children stand; the record has them all as they were before they began.
fn count(service: &Service, found: &mut Found) -> Result<()> {
    let (reader, list) = (&service.reader, ListId::of(&found.record.arn));
    let tallies = &mut found.record.tallies;
    for (_, noted) in record::outcomes::<Noted>(reader, found.execution, found.run)? {
        tallies.shift(Place::Pending, Place::Over(noted.outcome().standing), 1);
    }
    let mut from = None;
    loop {
        let page = reader.list(list, None, from, CHILDREN_AT_A_TIME)?;
        for child in &page.executions {
            let items = label(child, ITEMS).and_then(|items| items.parse().ok()).unwrap_or(1);
            tallies.shift(Place::Pending, Place::Over(child.standing), items);
        }
        from = page.next;
        if from.is_none() {
            return Ok(());
        }
    }
}
