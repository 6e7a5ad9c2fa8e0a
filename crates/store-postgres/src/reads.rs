//! Reads: on a few connections, each with the requests of many threads under way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use everstep_store::Result;
use tokio_postgres::Row;

use crate::connect::{Backoff, Purpose};
use crate::fault::Fault;
use crate::session::{Parameters, Session};
use crate::statement::Sql;
use crate::wait::{blocking, wait};
use crate::{Shared, failure};

pub(crate) const CONNECTIONS: usize = 4;

/// How long one read may take before its connection is given up.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct Reads {
    slots: [Mutex<Option<Arc<Session>>>; CONNECTIONS],
    next: AtomicUsize,
}

impl Reads {
    pub(crate) fn new(sessions: Vec<Session>) -> Self {
        let reads = Self::default();
        for (slot, session) in reads.slots.iter().zip(sessions) {
            *lock(slot) = Some(Arc::new(session));
        }
        reads
    }

    /// Runs a statement that only reads, again and again while the database cannot be reached, for a while.
    pub(crate) fn rows(
        &self,
        shared: &Arc<Shared>,
        sql: &Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>> {
        blocking(|| self.wait_for_rows(shared, sql, parameters))
    }

    fn wait_for_rows(
        &self,
        shared: &Arc<Shared>,
        sql: &Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>> {
        let slot = &self.slots[self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS];
        let deadline = Instant::now() + shared.patience;
        let mut backoff = Backoff::default();
        loop {
            let why = match attempt(slot, shared, sql, parameters) {
                Ok(rows) => return Ok(rows),
                Err(Fault::Mixed(_)) => {
                    shared.stop_preparing();
                    continue;
                }
                Err(Fault::Refused(why)) => {
                    return Err(failure::read(&shared.connections.address, &why));
                }
                Err(Fault::Lost(why) | Fault::Passing(why)) => why,
            };
            if Instant::now() > deadline {
                return Err(failure::read(&shared.connections.address, &why));
            }
            thread::sleep(backoff.next());
        }
    }
}

fn attempt(
    slot: &Mutex<Option<Arc<Session>>>,
    shared: &Arc<Shared>,
    sql: &Sql,
    parameters: Parameters<'_>,
) -> std::result::Result<Vec<Row>, Fault> {
    let session = open(slot, shared)?;
    let answer = wait(session.rows(sql, parameters), Some(Instant::now() + LIMIT));
    let answer = answer
        .unwrap_or_else(|| Err(Fault::Lost(format!("no answer within {} s", LIMIT.as_secs()))));
    if matches!(answer, Err(Fault::Lost(_))) {
        // Unless another thread has replaced it already.
        let mut slot = lock(slot);
        if slot.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &session)) {
            *slot = None;
        }
    }
    answer
}

/// The connection of a slot. Others that want it wait while it is made.
fn open(
    slot: &Mutex<Option<Arc<Session>>>,
    shared: &Arc<Shared>,
) -> std::result::Result<Arc<Session>, Fault> {
    let mut slot = lock(slot);
    if let Some(session) = slot.as_ref().filter(|session| !session.is_closed()) {
        return Ok(session.clone());
    }
    let connecting = shared.clone();
    let session = shared.run(async move { connecting.connections.connect(Purpose::Read).await });
    let session = session.map_err(|error| Fault::Passing(error.to_string()))?;
    Ok(slot.insert(Arc::new(session)).clone())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
