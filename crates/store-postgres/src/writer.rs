//! The thread that commits: everything that waits becomes one statement, which is one transaction.
//!
//! A commit whose outcome is unknown (the connection broke, no answer came in time, the server warned) is
//! settled and repeated: the shards are claimed anew, after which the first attempt has happened or never will;
//! nobody else has written meanwhile, or the claim would have failed; and a statement says what rows are in the
//! end, not how they change, so that it may happen twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use everstep_store::group::{Pending, Place, expected, judge};
use everstep_store::{Batch, Error, Result, Shard, Space};
use uuid::Uuid;

use crate::changes::{Changes, Columns, Trace, number};
use crate::claim;
use crate::connect::{Backoff, Purpose};
use crate::fault::Fault;
use crate::session::Session;
use crate::statement;
use crate::wait::wait;
use crate::{Shared, failure};

/// How long a statement may take, beside a second for each megabyte.
const LIMIT: Duration = Duration::from_secs(10);
const MEGABYTE: usize = 1024 * 1024;
/// Attempts of one commit that may end with a warning.
const WARNINGS_MAX: u32 = 3;

/// Rows that are known without a read, and the largest of them.
const KNOWN_MAX: usize = 4096;
const KNOWN_BYTES_MAX: usize = 256;

type Outcome<T> = std::result::Result<T, Fault>;

pub(crate) struct Writer {
    shared: Arc<Shared>,
    session: Option<Session>,
    /// The claims that this node may have: more than one while it is unknown whether the last was taken.
    claims: Vec<Uuid>,
    /// Rows of the last commit that was acknowledged.
    traces: Vec<Trace>,
    /// Rows that batches had expectations of. This node is the only one that writes, or it is fenced.
    known: HashMap<(Shard, Space, Vec<u8>), Option<Vec<u8>>>,
    /// Set once a claim was lost.
    fenced: Option<Error>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, session: Session, claim: Uuid) -> Self {
        Self {
            shared,
            session: Some(session),
            claims: vec![claim],
            traces: Vec::new(),
            known: HashMap::new(),
            fenced: None,
        }
    }

    /// Runs until the queue is closed and empty; then gives the shards free.
    pub(crate) fn run(mut self) {
        let shared = self.shared.clone();
        shared.queue.serve(|group| self.write(group));
        if !shared.is_abandoned() {
            self.release();
        }
    }

    /// Makes a group durable, and says what became of each of its batches.
    fn write(&mut self, group: &mut [Pending]) -> Result<Vec<Result<()>>> {
        if let Some(error) = &self.fenced {
            return Err(error.clone());
        }
        let batches = || group.iter().map(|pending| &pending.batch);
        let mut answers = self.judge(batches())?;
        let accepted = batches().zip(&answers).filter(|(_, answer)| answer.is_ok());
        let changes = Changes::merge(accepted.map(|(batch, _)| batch));
        if !changes.is_empty() {
            let held = self.commit(&changes)?;
            self.remember(&changes);
            for (batch, answer) in batches().zip(&mut answers) {
                if answer.is_ok()
                    && !batch.writes.is_empty()
                    && !held.contains(&number(batch.shard))
                {
                    *answer = Err(self.fence());
                }
            }
        }
        Ok(answers)
    }

    /// Judges with the rows that are known, after reading the others at once.
    fn judge<'g>(
        &mut self,
        group: impl Iterator<Item = &'g Batch> + Clone,
    ) -> Result<Vec<Result<()>>> {
        let missing: Vec<Place<'g>> = expected(group.clone())
            .into_iter()
            .filter(|(shard, space, key)| !self.known.contains_key(&(*shard, *space, key.to_vec())))
            .collect();
        let read = if missing.is_empty() { Vec::new() } else { self.read(&missing)? };
        let read: HashMap<Place<'g>, Option<Vec<u8>>> = missing.into_iter().zip(read).collect();
        let answers = judge(group, |place: Place<'_>| {
            let (shard, space, key) = place;
            let known = || self.known.get(&(shard, space, key.to_vec())).cloned();
            Ok::<_, Error>(read.get(&place).cloned().or_else(known).flatten())
        });
        for ((shard, space, key), value) in read {
            if value.as_ref().is_none_or(|value| value.len() <= KNOWN_BYTES_MAX) {
                self.known.insert((shard, space, key.to_vec()), value);
            }
        }
        answers
    }

    /// The values of rows, in their order.
    fn read(&mut self, places: &[Place<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.attempt(LIMIT, async |session, _| read_rows(session, places).await)
    }

    /// Commits, and returns the shards whose claims held.
    fn commit(&mut self, changes: &Changes<'_>) -> Result<Vec<i16>> {
        let columns = changes.columns();
        let sql = statement::commit(columns.shape);
        let seconds = u64::try_from(changes.bytes() / MEGABYTE).unwrap_or(u64::MAX);
        let limit = LIMIT + Duration::from_secs(seconds);
        self.traces.iter_mut().for_each(|trace| trace.expect(changes));
        let held = self.attempt(limit, async |session, claim| {
            commit_columns(session, &sql, &columns, claim).await
        })?;
        self.traces = changes.traces();
        Ok(held)
    }

    /// What was written counts for what is known.
    fn remember(&mut self, changes: &Changes<'_>) {
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        if self.known.is_empty() {
            return;
        }
        for (shard, space, key, value) in changes.rows() {
            let key = (shard, space, key.to_vec());
            match value {
                Some(value) if value.len() > KNOWN_BYTES_MAX => {
                    self.known.remove(&key);
                }
                value => {
                    if let Some(known) = self.known.get_mut(&key) {
                        *known = value.map(<[u8]>::to_vec);
                    }
                }
            }
        }
    }

    /// Runs something on the connection for commits until it has an outcome, however often that takes, for as
    /// long as the store has patience.
    fn attempt<T>(
        &mut self,
        mut limit: Duration,
        run: impl AsyncFn(&Session, Uuid) -> Outcome<T>,
    ) -> Result<T> {
        let mut trouble = Trouble::default();
        loop {
            let fault = match self.try_once(limit, &run)? {
                Ok(value) => {
                    self.shared.health.restored();
                    return Ok(value);
                }
                Err(fault) => fault,
            };
            match fault {
                Fault::Mixed(_) => self.shared.stop_preparing(),
                Fault::Refused(why) => return Err(self.failed(&why)),
                Fault::Lost(why) => {
                    self.session = None;
                    limit *= 2;
                    self.wait(&mut trouble, &why)?;
                }
                Fault::Passing(why) => self.wait(&mut trouble, &why)?,
            }
        }
    }

    /// One attempt, with a connection and claims that are in order. The outer error is final.
    fn try_once<T>(
        &mut self,
        limit: Duration,
        run: &impl AsyncFn(&Session, Uuid) -> Outcome<T>,
    ) -> Result<Outcome<T>> {
        let session = match self.session.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => match self.recover()? {
                Ok(session) => session,
                Err(fault) => return Ok(Err(fault)),
            },
        };
        session.take_warning();
        let claim = *self.claims.last().expect("there is always a claim");
        let outcome = wait(run(&session, claim), Some(Instant::now() + limit));
        let late = || Err(Fault::Lost(format!("no answer within {} s", limit.as_secs())));
        let outcome = outcome.unwrap_or_else(late);
        let warning = session.take_warning();
        self.session = Some(session);
        Ok(match (outcome, warning) {
            // Such as that the wait for a standby was cancelled: it is unknown whether this would survive.
            (Ok(_), Some(warning)) => Err(Fault::Lost(format!("the server warned: {warning}"))),
            (outcome, _) => outcome,
        })
    }

    /// A new connection, with the shards claimed anew.
    fn recover(&mut self) -> Result<Outcome<Session>> {
        let next = Uuid::new_v4();
        let recovery = Recovery {
            shared: self.shared.clone(),
            mine: self.claims.clone(),
            next,
            traces: self.traces.clone(),
        };
        // From now on it may have been taken.
        self.claims.push(next);
        let recovered = self.shared.run(recovery.run())?;
        if recovered.is_ok() {
            self.claims = vec![next];
        }
        Ok(recovered)
    }

    /// Waits before the next attempt, unless patience is at its end.
    fn wait(&self, trouble: &mut Trouble, why: &str) -> Result<()> {
        let since = *trouble.since.get_or_insert_with(Instant::now);
        trouble.warnings += u32::from(why.starts_with("the server warned"));
        self.shared.health.interrupted(why);
        if since.elapsed() > self.shared.patience || trouble.warnings > WARNINGS_MAX {
            return Err(self.failed(why));
        }
        if self.shared.is_abandoned() {
            return Err(self.failed("the store was abandoned"));
        }
        thread::sleep(trouble.backoff.next());
        Ok(())
    }

    fn failed(&self, why: &str) -> Error {
        failure::commit(&self.shared.connections.address, why)
    }

    /// The shards are another's.
    fn fence(&mut self) -> Error {
        if let Some(error) = &self.fenced {
            return error.clone();
        }
        let by = self.session.as_ref().and_then(|session| {
            wait(claim::owner_name(session), Some(Instant::now() + LIMIT)).flatten()
        });
        let error = failure::fenced(&self.shared.connections.address, by.as_deref());
        self.fenced.insert(error).clone()
    }

    fn release(&mut self) {
        let Some(session) = self.session.take().filter(|session| !session.is_closed()) else {
            return;
        };
        let (me, claims) = (self.shared.connections.node, self.claims.clone());
        // If it fails, the next server finds out that this one is gone.
        let _ = wait(claim::release(&session, me, &claims), Some(Instant::now() + LIMIT));
    }
}

/// A panic of a callback ends the thread: nobody may wait for it any longer.
impl Drop for Writer {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.queue.fail(failure::stopped(&self.shared.connections.address));
        }
    }
}

#[derive(Default)]
struct Trouble {
    since: Option<Instant>,
    warnings: u32,
    backoff: Backoff,
}

/// What it takes to continue on a new connection.
struct Recovery {
    shared: Arc<Shared>,
    mine: Vec<Uuid>,
    next: Uuid,
    traces: Vec<Trace>,
}

impl Recovery {
    /// The outer error is final.
    async fn run(self) -> Result<Outcome<Session>> {
        match self.try_run().await {
            Ok(session) => Ok(Ok(session)),
            Err(Stop::Fault(fault)) => Ok(Err(fault)),
            Err(Stop::Final(error)) => Err(error),
        }
    }

    async fn try_run(&self) -> std::result::Result<Session, Stop> {
        let Shared { connections, meta, .. } = &*self.shared;
        let connected = connections.connect(Purpose::Commit).await;
        let session = connected.map_err(|error| Fault::Passing(error.to_string()))?;
        let found = crate::schema::prepare(&session, meta.shards).await?;
        if found.cluster != meta.cluster {
            let (found, expected) = (found.cluster.to_string(), meta.cluster.to_string());
            return Err(Stop::Final(failure::other_cluster(
                &connections.address,
                &found,
                &expected,
            )));
        }
        let taken = claim::take_again(&session, &self.mine, connections.node, self.next).await?;
        if taken < self.shared.owned() {
            let by = claim::owner_name(&session).await;
            return Err(Stop::Final(failure::fenced(&connections.address, by.as_deref())));
        }
        self.check_last_commit(&session).await?;
        Ok(session)
    }

    /// The last commit that was acknowledged must be there: if it is not, a standby without it was promoted, and
    /// what is in memory does not follow from what is stored.
    async fn check_last_commit(&self, session: &Session) -> std::result::Result<(), Stop> {
        let places: Vec<Place<'_>> =
            self.traces.iter().map(|it| (it.shard, it.space, it.key.as_slice())).collect();
        let rows = read_rows(session, &places).await?;
        let is_there = self.traces.iter().zip(&rows).all(|(it, row)| it.is_left_by(row.as_deref()));
        match is_there {
            true => Ok(()),
            false => Err(Stop::Final(failure::behind(&self.shared.connections.address))),
        }
    }
}

enum Stop {
    Fault(Fault),
    Final(Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

async fn commit_columns(
    session: &Session,
    sql: &statement::Sql,
    columns: &Columns<'_>,
    claim: Uuid,
) -> Outcome<Vec<i16>> {
    let claims = vec![claim; columns.shards.len()];
    let rows = session.rows(sql, &columns.parameters(&claims)).await?;
    let held = rows.first().and_then(|row| row.try_get(0).ok());
    held.ok_or_else(|| Fault::Lost("the answer to a commit cannot be read".to_owned()))
}

/// The values of rows, in their order; one statement for each space.
async fn read_rows(session: &Session, places: &[Place<'_>]) -> Outcome<Vec<Option<Vec<u8>>>> {
    let mut values = vec![None; places.len()];
    for space in Space::ALL {
        let at: Vec<usize> = (0..places.len()).filter(|at| places[*at].1 == space).collect();
        if at.is_empty() {
            continue;
        }
        let shards: Vec<i16> = at.iter().map(|at| number(places[*at].0)).collect();
        let keys: Vec<&[u8]> = at.iter().map(|at| places[*at].2).collect();
        let rows = session.rows(&statement::get_many(space), &[&shards, &keys]).await?;
        for (at, row) in at.into_iter().zip(rows) {
            values[at] = row.try_get(0).map_err(Fault::from)?;
        }
    }
    Ok(values)
}
