//! What users have named: state machines, their versions and aliases, activities, tags.
//!
//! Each is one row of JSON in the store's catalog. A change is a read, a decision and a commit that
//! expects what was read: of two concurrent changes, one is retried.

mod activity;
mod machine;

use std::sync::Arc;

use everstep_store::{Batch, Expectation, Scan, Shard, Space, Store, after_prefix};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use activity::Activity;
pub(crate) use machine::{
    Alias, Definition, Deleting, Machine, Publication, Route, Settings, Version,
};

#[derive(Clone)]
pub(crate) struct Catalog {
    store: Arc<dyn Store>,
    /// Held by the one who removes a machine that is being deleted.
    pub(crate) removing: Arc<tokio::sync::Mutex<()>>,
}

/// Which rows of many come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Rising,
    Falling,
}

/// A row as it was read, to be changed or removed.
pub(crate) struct Entry<T> {
    pub(crate) key: String,
    pub(crate) value: T,
    read: Option<Vec<u8>>,
}

/// Rows of the catalog that are changed together.
#[derive(Clone)]
pub(crate) struct Change(Batch);

impl Catalog {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, removing: Arc::default() }
    }

    pub(crate) fn find<T: DeserializeOwned>(&self, key: &str) -> Failing<Option<Entry<T>>> {
        let row = self.store.get(Shard::CATALOG, Space::Catalog, key.as_bytes())?;
        row.map(|row| read(key.as_bytes(), row)).transpose()
    }

    /// Rows whose keys begin with `prefix`, in an order, from behind `last` on, at most `limit`.
    pub(crate) fn list<T: DeserializeOwned>(
        &self,
        prefix: &str,
        order: Order,
        last: Option<&str>,
        limit: usize,
    ) -> Failing<Vec<Entry<T>>> {
        let mut from = prefix.as_bytes().to_vec();
        let mut to = after_prefix(prefix.as_bytes());
        match (order, last) {
            (_, None) => {}
            (Order::Rising, Some(last)) => from = [last.as_bytes(), &[0]].concat(),
            (Order::Falling, Some(last)) => to = last.as_bytes().to_vec(),
        }
        let scan = Scan { reverse: order == Order::Falling, ..Scan::between(&from, &to, limit) };
        let rows = self.store.scan(Shard::CATALOG, Space::Catalog, scan)?;
        rows.into_iter().map(|(key, row)| read(&key, row)).collect()
    }

    /// All rows whose keys begin with `prefix`: for those whose number is bounded.
    pub(crate) fn all<T: DeserializeOwned>(&self, prefix: &str) -> Failing<Vec<Entry<T>>> {
        self.list(prefix, Order::Rising, None, usize::MAX)
    }

    pub(crate) fn definition(&self, machine_arn: &str, digest: &str) -> Failing<Definition> {
        let found = self.find(&Definition::key(machine_arn, digest))?;
        let missing = || Failed(format!("the definition {digest} of {machine_arn} is gone"));
        Ok(found.ok_or_else(missing)?.value)
    }

    /// Makes a change durable. `false` if something is not as it was read: look again.
    pub(crate) async fn commit(&self, change: Change) -> Failing<bool> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let store = self.store.clone();
        tokio::task::spawn_blocking(move || {
            let done = Box::new(move |outcome| {
                let _ = sender.send(outcome);
            });
            store.commit(change.0, done);
        });
        match receiver.await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(everstep_store::Error::Unexpected { .. })) => Ok(false),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Failed("the store is closed".to_owned())),
        }
    }

    /// Makes a change durable, if the store still can. Waits for it.
    pub(crate) fn commit_and_wait(&self, change: Change) {
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |outcome: Result<(), everstep_store::Error>| {
            let _ = sender.send(outcome.is_ok());
        });
        self.store.commit(change.0, done);
        // A store that has failed drops what waits for it.
        let _ = receiver.recv();
    }
}

impl Change {
    pub(crate) fn new() -> Self {
        Self(Batch::new(Shard::CATALOG))
    }

    /// Adds a row that must not be there yet.
    pub(crate) fn add<T: Serialize>(&mut self, key: &str, value: &T) {
        self.0.insert(Space::Catalog, key.as_bytes().to_vec(), written(value));
    }

    /// Writes a row, whether it is there or not.
    pub(crate) fn put<T: Serialize>(&mut self, key: &str, value: &T) {
        self.0.put(Space::Catalog, key.as_bytes().to_vec(), written(value));
    }

    /// Removes a row, whether it is there or not.
    pub(crate) fn erase(&mut self, key: &str) {
        self.0.remove(Space::Catalog, key.as_bytes().to_vec());
    }

    /// Replaces a machine that must be as it was read, and counts the change.
    pub(crate) fn touch(&mut self, machine: &mut Entry<Machine>) {
        machine.value.changes += 1;
        self.replace(machine);
    }

    /// Replaces a row that must be as it was read.
    pub(crate) fn replace<T: Serialize>(&mut self, entry: &Entry<T>) {
        self.expect(entry);
        self.0.put(Space::Catalog, entry.key.as_bytes().to_vec(), written(&entry.value));
    }

    /// Removes a row that must be as it was read.
    pub(crate) fn remove<T>(&mut self, entry: &Entry<T>) {
        self.expect(entry);
        self.0.remove(Space::Catalog, entry.key.as_bytes().to_vec());
    }

    /// The row must be as it was read.
    pub(crate) fn expect<T>(&mut self, entry: &Entry<T>) {
        self.0.expectations.push(Expectation {
            space: Space::Catalog,
            key: entry.key.as_bytes().to_vec(),
            value: entry.read.clone(),
        });
    }
}

fn written<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("names are text, so it can be written")
}

fn read<T: DeserializeOwned>(key: &[u8], row: Vec<u8>) -> Failing<Entry<T>> {
    let key = String::from_utf8_lossy(key).into_owned();
    let value = serde_json::from_slice(&row)
        .map_err(|error| Failed(format!("the catalog's row {key} cannot be read: {error}")))?;
    Ok(Entry { key, value, read: Some(row) })
}

/// What is wrong with a row of the catalog, if its kind is known here.
pub(crate) fn damage(key: &[u8], row: &[u8]) -> Option<String> {
    fn of<T: DeserializeOwned>(row: &[u8]) -> Option<String> {
        serde_json::from_slice::<T>(row).err().map(|error| format!("it cannot be read: {error}"))
    }
    let (kind, _) = std::str::from_utf8(key).ok()?.split_once('/')?;
    match kind {
        "machine" => of::<Machine>(row),
        "settings" => of::<Settings>(row),
        "definition" => of::<Definition>(row),
        "version" => of::<Version>(row),
        "alias" => of::<Alias>(row),
        "deleting" => of::<Deleting>(row),
        "activity" => of::<Activity>(row),
        _ => None,
    }
}

/// The store cannot do it: an internal failure to those who asked.
#[derive(Debug, Clone)]
pub(crate) struct Failed(pub(crate) String);

pub(crate) type Failing<T> = Result<T, Failed>;

impl From<everstep_store::Error> for Failed {
    fn from(error: everstep_store::Error) -> Self {
        Self(error.to_string())
    }
}
