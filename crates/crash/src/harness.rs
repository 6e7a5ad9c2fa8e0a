//! An engine on a directory, or on a database.

use std::path::Path;
use std::sync::Arc;

use everstep_executions::{
    Engine, Message, Observer, Parts, Prepared, Reply, Revision, Settings, Silent, Start, Started,
    SystemClock, TaskRunner,
};
use everstep_history::Payload;
use everstep_store::Store;
use everstep_store_embedded::{EmbeddedStore, Options};
use everstep_store_postgres::{Address, PostgresStore};
use serde_json::Value;

const ROLE: &str = "arn:aws:iam::000000000000:role/r";

/// The store of a directory, or of a database if it is the URL of one.
pub fn store(place: &Path) -> Result<Arc<dyn Store>, String> {
    match place.to_str().filter(|text| Address::is_url(text)) {
        Some(url) => {
            let address = Address::read(url).map_err(|error| error.to_string())?;
            let opened = PostgresStore::open(address, everstep_store_postgres::Options::default());
            Ok(Arc::new(opened.map_err(|error| error.to_string())?))
        }
        None => {
            let opened = EmbeddedStore::open(place, &Options::default());
            Ok(Arc::new(opened.map_err(|error| error.to_string())?))
        }
    }
}

/// An engine on a store.
pub fn engine(
    store: Arc<dyn Store>,
    runner: Arc<dyn TaskRunner>,
    observer: Arc<dyn Observer>,
) -> Result<Engine, String> {
    let parts = Parts { store, runner, observer, settings: Settings::default() };
    Engine::open(parts, Arc::new(SystemClock)).map_err(|error| error.to_string())
}

/// An engine without an observer.
pub fn quiet_engine(store: Arc<dyn Store>, runner: Arc<dyn TaskRunner>) -> Result<Engine, String> {
    engine(store, runner, Arc::new(Silent))
}

#[must_use]
pub fn machine_arn(machine: &str) -> String {
    format!("arn:aws:states:us-east-1:000000000000:stateMachine:{machine}")
}

#[must_use]
pub fn execution_arn(machine: &str, name: &str) -> String {
    format!("arn:aws:states:us-east-1:000000000000:execution:{machine}:{name}")
}

pub fn prepare(
    engine: &Engine,
    machine: &str,
    definition: &Value,
) -> everstep_executions::Result<Arc<Prepared>> {
    engine.prepare(Revision::new(&machine_arn(machine), ROLE, &definition.to_string()))
}

/// The message that starts an execution.
#[must_use]
pub fn start(
    prepared: &Arc<Prepared>,
    name: &str,
    input: Payload,
    reply: Reply<Started>,
) -> Message {
    let arn = execution_arn(&prepared.revision.machine_name, name);
    let start = Box::new(Start::new(&arn, prepared.clone(), input));
    Message::Start { start, reply, watcher: None }
}
