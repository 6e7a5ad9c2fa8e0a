//! State machines that are being deleted. What is removed when is `everstep_drivers::removal`; here its requests
//! are performed.

use std::sync::Arc;
use std::time::Duration;

use everstep_api::protocol::Error;
use everstep_drivers::removal::{Found, Input, Progress, Removal, Request};
use everstep_executions::{Error as Engine, ExecutionId, ListId, Message, Standing, Summary};

use crate::catalog::{Change, Definition, Deleting, Entry, Machine, Order, Settings};
use crate::map_run;
use crate::service::{Service, engine_error};

/// How often machines that wait for their executions are checked; a request for one checks it too.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Executions that are removed at a time.
const EXECUTIONS_AT_A_TIME: usize = 200;
/// Rows of a machine that are removed at a time; definitions are large.
const ROWS_AT_A_TIME: usize = 32;
/// Machines that are looked at in one go.
const MACHINES_AT_A_TIME: usize = 1000;

/// Removes what can be removed, until the service fails.
pub(crate) async fn look_after(service: Arc<Service>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if service.failure().is_some() {
            return;
        }
        // What fails now is retried; a store that has failed is reported elsewhere.
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

/// Removes what can be removed of a machine, within bounds; whether it is gone. One that is not being deleted
/// is not.
pub(crate) async fn is_gone(service: &Service, arn: &str) -> Result<bool, Error> {
    let (mut removal, mut request) = Removal::open();
    let mut held = None;
    loop {
        let input = match request {
            Request::Inspect => {
                drop(held.take());
                // One at a time: or a slow one might remove executions of the next machine of that name.
                held = Some(service.catalog.removing.lock().await);
                Input::Inspected(inspect(service, arn)?)
            }
            Request::ListExecutions => Input::Executions(list(service, ListId::of(arn))?),
            Request::ListMapRuns(id) => {
                let runs = map_run::of_execution(&service.reader, id).map_err(engine_error)?;
                Input::MapRuns(runs.iter().map(|run| ListId::of(&run.record.arn)).collect())
            }
            Request::ListChildren(children) => Input::Children(list(service, children)?),
            Request::Delete(executions) => Input::Deleted(delete(service, executions).await?),
            Request::DeleteRows => Input::RowsDeleted(match service.machine(arn)? {
                Some(machine) => delete_rows(service, &machine).await?,
                None => true,
            }),
            Request::Finish(progress) => return Ok(progress == Progress::Gone),
        };
        request = removal.handle(input);
    }
}

fn inspect(service: &Service, arn: &str) -> Result<Found, Error> {
    let Some(machine) = service.machine(arn)? else { return Ok(Found::Absent) };
    let running = || {
        let page = service.reader.list(ListId::of(arn), Some(Standing::Running), None, 1);
        page.map(|page| page.executions).map_err(engine_error)
    };
    let unused = machine.value.deleting && running()?.is_empty();
    Ok(if unused { Found::Unused } else { Found::InUse })
}

fn list(service: &Service, list: ListId) -> Result<Vec<ExecutionId>, Error> {
    let page = service.reader.list(list, None, None, EXECUTIONS_AT_A_TIME);
    let executions = page.map_err(engine_error)?.executions;
    Ok(executions.iter().map(Summary::id).collect())
}

/// Removes executions, all at once so that they share commits; whether all are gone.
async fn delete(service: &Service, executions: Vec<ExecutionId>) -> Result<bool, Error> {
    let ask = |id: ExecutionId| service.request(|reply| Message::Delete { id, reply });
    let mut gone = true;
    for answer in executions.into_iter().map(ask).collect::<Vec<_>>() {
        match answer.await.unwrap_or(Err(Engine::Stopped)) {
            Ok(()) | Err(Engine::NotFound) => {}
            Err(Engine::WrongStatus(_) | Engine::Busy) => gone = false,
            Err(other) => return Err(engine_error(other)),
        }
    }
    Ok(gone)
}

/// Removes some rows of a machine, its own last; whether it is gone.
async fn delete_rows(service: &Service, machine: &Entry<Machine>) -> Result<bool, Error> {
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
    Ok(done && !rest)
}
