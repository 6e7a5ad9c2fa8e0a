//! What can be done with a data directory while no server runs on it: look at all that is stored, end an execution,
//! continue without what is lost. Each takes the lock of the directory, as a server does.

use std::path::Path;
use std::sync::Arc;

use everstep_executions::{Clock as _, ExecutionId, SystemClock, offline};
use everstep_interpreter::Failure;
use everstep_shards::{Damage, Damaged, visit_rows};
use everstep_store::{Shard, Space, Store};
use everstep_store_embedded::{EmbeddedStore, OpenError, Options};

use crate::catalog;
use crate::process::{Error, Result};

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    pub executions: everstep_executions::Verified,
    pub invocations: everstep_invocations::Verified,
    /// Rows of state machines, activities, revisions and settings.
    pub catalog: u64,
}

/// Reads everything in a data directory. What cannot be read or understood, or belongs to nothing, is given to `damaged`.
///
/// # Errors
///
/// If the directory has no store, is in use, or its store cannot be opened.
pub fn verify(data: &Path, damaged: &mut dyn FnMut(Damage)) -> Result<Verified> {
    let store = open(data)?;
    let executions = everstep_executions::verify(&store, damaged);
    let invocations = everstep_invocations::verify(&*store, damaged);
    Ok(Verified { executions, invocations, catalog: verify_catalog(&*store, damaged) })
}

fn verify_catalog(store: &dyn Store, damaged: Damaged<'_>) -> u64 {
    let place = (Shard::CATALOG, Space::Catalog);
    visit_rows(store, place, damaged, &mut |(key, row), damaged| {
        if let Some(what) = catalog::damage(&key, &row) {
            damaged(Damage::new(String::from_utf8_lossy(&key), what));
        }
    })
}

/// How an execution was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Now,
    /// It was over already.
    Before,
}

/// Ends an execution as ABORTED. What follows from that is done when a server runs again.
///
/// # Errors
///
/// If the store cannot be opened, or has no such execution.
pub fn stop_execution(data: &Path, arn: &str, failure: Failure) -> Result<Stopped> {
    let (store, id) = (open(data)?, ExecutionId::of(arn));
    let summary = everstep_executions::Reader::new(store.clone()).summary(id)?;
    let Some(summary) = summary else {
        return Err(Error::new(format!("there is no execution {arn} in {}", data.display())));
    };
    if summary.stopped_ms.is_some() {
        return Ok(Stopped::Before);
    }
    offline::stop(store, id, failure, SystemClock.now_ms())?;
    Ok(Stopped::Now)
}

/// What a store has lost; nothing if it has lost nothing.
///
/// # Errors
///
/// If the store cannot be opened for another reason.
pub fn find_loss(data: &Path) -> Result<Option<String>> {
    match EmbeddedStore::open(data, &existing()) {
        Ok(_) => Ok(None),
        Err(OpenError::Behind { store, mark, .. }) => Ok(Some(format!(
            "commits {} to {mark} were acknowledged, and are missing",
            store.saturating_add(1)
        ))),
        Err(OpenError::Lost { what, .. }) => Ok(Some(format!(
            "{what}; work that was acknowledged may be missing, and nobody can tell how much"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Makes a store usable that has lost acknowledged work: what can be read is kept, and nothing waits for the rest.
///
/// # Errors
///
/// If even that cannot be read.
pub fn accept_loss(data: &Path) -> Result<()> {
    EmbeddedStore::open(data, &Options { accept_loss: true, ..existing() })?;
    Ok(())
}

fn existing() -> Options {
    Options { create: false, ..Options::default() }
}

fn open(data: &Path) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(EmbeddedStore::open(data, &existing())?))
}

#[cfg(test)]
mod tests {
    use everstep_executions::{
        Cancelled, Engine, Message, Parts, Revision, Settings, Silent, Start, Task, TaskRunner,
    };
    use everstep_interpreter::Payload;
    use everstep_store::{Batch, Scan};
    use serde_json::json;

    use super::*;

    struct Nobody;

    impl TaskRunner for Nobody {
        fn dispatch(&self, _: Task) {}

        fn cancel(&self, _: Cancelled) {}
    }

    const GOOD: &str = "arn:aws:states:us-east-1:1:execution:m:good";
    const BAD: &str = "arn:aws:states:us-east-1:1:execution:m:bad";

    /// A directory with two executions that have ended.
    fn used(data: &Path) {
        let store: Arc<dyn Store> =
            Arc::new(EmbeddedStore::open(data, &Options::default()).expect("a store"));
        let (runner, observer) = (Arc::new(Nobody), Arc::new(Silent));
        let settings = Settings::default();
        let engine =
            Engine::open(Parts { store, runner, observer, settings }, Arc::new(SystemClock));
        let engine = engine.expect("it opens");
        let definition = json!({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}});
        let revision = Revision::new("arn:m", "r", &definition.to_string());
        let prepared = engine.prepare(revision).expect("valid");
        for arn in [GOOD, BAD] {
            let start = Start::new(arn, prepared.clone(), Payload::new(json!({})));
            let start = Box::new(start);
            let started = engine.ask(|reply| Message::Start { start, reply, watcher: None });
            started.expect("it starts");
        }
        engine.shut_down();
    }

    fn change(data: &Path, change: impl FnOnce(&dyn Store, &mut Batch)) {
        let store = open(data).expect("a store");
        let mut batch = Batch::new(ExecutionId::of(BAD).shard(store.shards()));
        change(&*store, &mut batch);
        let (sender, receiver) = std::sync::mpsc::channel();
        store.commit(batch, Box::new(move |done| drop(sender.send(done))));
        receiver.recv().expect("an answer").expect("it is written");
    }

    fn found(data: &Path) -> (Verified, Vec<String>) {
        let mut damages = Vec::new();
        let verified = verify(data, &mut |damage| damages.push(damage.to_string()));
        damages.sort();
        (verified.expect("it can be opened"), damages)
    }

    #[test]
    fn a_good_store_is_good() {
        let directory = tempfile::tempdir().expect("a directory");
        used(directory.path());
        let (verified, damages) = found(directory.path());
        assert_eq!(damages, [""; 0]);
        let steps = (verified.executions.executions, verified.executions.steps);
        assert_eq!((steps, verified.catalog), ((2, 2), 1));
    }

    #[test]
    fn what_is_damaged_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        used(directory.path());
        change(directory.path(), |store, batch| {
            let shard = batch.shard;
            let scan = Scan::between(&[], &[], 10);
            let journal = store.scan(shard, Space::Journal, scan).expect("readable");
            let own = ExecutionId::of(BAD);
            let step = journal.iter().find(|(key, _)| key[8..24] == *own.bytes());
            batch.put(Space::Journal, step.expect("a step").0.clone(), b"odd".to_vec());
            batch.put(Space::Journal, vec![7; 28], b"odd".to_vec());
            batch.put(Space::Executions, vec![8; 16], b"odd".to_vec());
            batch.put(Space::Wakes, vec![0; 17], Vec::new());
            batch.put(Space::InvocationOrders, vec![0; 3], Vec::new());
            batch.put(Space::Invocations, vec![9; 17], b"odd".to_vec());
        });
        let (_, damages) = found(directory.path());
        let shard = ExecutionId::of(BAD).shard(16).0;
        let begins = [
            format!("{BAD}: the store is damaged: a step of an execution cannot be read"),
            "invocation 09090909".to_owned(),
            format!("shard {shard} executions row 0808080808080808"),
            format!("shard {shard} invocation-orders row 000000: its key cannot be read"),
            format!("shard {shard} journal row 0707"),
            format!("shard {shard} wakes row 0000"),
        ];
        assert_eq!(damages.len(), begins.len(), "{damages:#?}");
        for (damage, expected) in damages.iter().zip(begins) {
            assert!(damage.starts_with(&expected), "{damage}\n{expected}");
        }
    }
}
