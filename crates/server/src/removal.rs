//! Machines that are being deleted: they go when none of their executions runs, and all that is stored of
//! their executions goes first, a few at a time.

use std::sync::Weak;
use std::time::Duration;

use everstep_api::protocol::Error;
use everstep_executions::{Error as Engine, ListId, Message, Standing, Summary};

use crate::catalog::{Change, Definition, Deleting, Entry, Machine, Order, Settings};
use crate::map_run;
use crate::service::{Service, engine_error};

/// How often machines that wait for their executions are looked at, unless somebody asks for them.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Executions that are removed at a time.
const EXECUTIONS_AT_A_TIME: usize = 200;
/// Rows of a machine that are removed at a time; definitions are large.
const ROWS_AT_A_TIME: usize = 32;
/// Machines that are looked at in one go.
const MACHINES_AT_A_TIME: usize = 1000;
/// So often a request that meets a machine on its way out removes executions before it answers.
const ROUNDS: usize = 5;

/// How far the removal of a machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It still has executions that run.
    Waiting,
    /// There is more to remove.
    Going,
    Gone,
}

/// Removes what can be removed, for as long as the service is there.
pub(crate) async fn look_after(service: Weak<Service>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(service) = service.upgrade() else { return };
        if service.failure().is_some() {
            return;
        }
        // What fails now is tried again; that nothing can be stored any more is told elsewhere.
        let _ = look(&service).await;
    }
}

/// Looks at all machines that are being deleted. Does a bounded part of what there is to do.
pub(crate) async fn look(service: &Service) -> Result<(), Error> {
    let found: Vec<Entry<Deleting>> =
        service.catalog.list(Deleting::PREFIX, Order::Rising, None, MACHINES_AT_A_TIME)?;
    for entry in found {
        is_gone(service, &entry.value.arn).await?;
    }
    Ok(())
}

/// Whether a machine is gone, now that somebody has asked. One that is not being deleted is not.
pub(crate) async fn is_gone(service: &Service, arn: &str) -> Result<bool, Error> {
    for _ in 0..ROUNDS {
        match step(service, arn).await? {
            Stage::Gone => return Ok(true),
            Stage::Waiting => return Ok(false),
            Stage::Going => {}
        }
    }
    Ok(false)
}

async fn step(service: &Service, arn: &str) -> Result<Stage, Error> {
    // One at a time: or a slow one might remove executions of the next machine of that name.
    let _held = service.catalog.removing.lock().await;
    let Some(machine) = service.machine(arn)? else { return Ok(Stage::Gone) };
    let list = |standing, limit| {
        let page = service.reader.list(ListId::of(arn), standing, None, limit);
        page.map(|page| page.executions).map_err(engine_error)
    };
    if !machine.value.deleting || !list(Some(Standing::Running), 1)?.is_empty() {
        return Ok(Stage::Waiting);
    }
    let executions = list(None, EXECUTIONS_AT_A_TIME)?;
    if executions.is_empty() {
        forget(service, &machine).await
    } else {
        erase(service, &executions).await
    }
}

/// Removes executions, those that their Map Runs have started first.
async fn erase(service: &Service, executions: &[Summary]) -> Result<Stage, Error> {
    for parent in executions {
        let runs = map_run::of_execution(&service.reader, parent.id()).map_err(engine_error)?;
        for run in runs {
            let list = ListId::of(&run.record.arn);
            let page = service.reader.list(list, None, None, EXECUTIONS_AT_A_TIME);
            let children = page.map_err(engine_error)?.executions;
            if !children.is_empty() {
                return Box::pin(erase(service, &children)).await;
            }
        }
    }
    erase_alone(service, executions).await
}

/// Removes executions, all at once so that they share commits.
async fn erase_alone(service: &Service, executions: &[Summary]) -> Result<Stage, Error> {
    let ask = |summary: &Summary| {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        service.engine.send(Message::Delete { id: summary.id(), reply });
        receiver
    };
    let mut stage = Stage::Going;
    for answer in executions.iter().map(ask).collect::<Vec<_>>() {
        match answer.await.unwrap_or(Err(Engine::Stopped)) {
            Ok(()) | Err(Engine::NotFound) => {}
            Err(Engine::WrongStatus(_) | Engine::Busy) => stage = Stage::Waiting,
            Err(other) => return Err(engine_error(other)),
        }
    }
    Ok(stage)
}

/// Removes the rows of a machine, its own last.
async fn forget(service: &Service, machine: &Entry<Machine>) -> Result<Stage, Error> {
    let arn = &machine.value.arn;
    let mut change = Change::new();
    let some = |prefix: &str| -> Result<Vec<String>, Error> {
        let rows: Vec<Entry<serde::de::IgnoredAny>> =
            service.catalog.list(prefix, Order::Rising, None, ROWS_AT_A_TIME)?;
        Ok(rows.into_iter().map(|row| row.key).collect())
    };
    let keys = [some(&Settings::prefix(arn))?, some(&Definition::prefix(arn))?];
    let rest = keys.iter().any(|keys| keys.len() == ROWS_AT_A_TIME);
    for key in keys.iter().flatten() {
        change.erase(key);
    }
    if rest {
        change.expect(machine);
    } else {
        change.remove(machine);
        change.erase(&Deleting::key(arn));
    }
    let done = service.catalog.commit(change).await?;
    Ok(if done && !rest { Stage::Gone } else { Stage::Going })
}
