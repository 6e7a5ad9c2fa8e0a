//! A service on a store in memory, with a clock that the test sets and tasks that wait for it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use everstep_api::protocol::{Error, Operation, conforms};
use everstep_executions::{Cancelled, Clock, Settings, Silent, Task, TaskRunner};
use everstep_server::{Parts, Service};
use everstep_store::{Batch, Done, MemoryStore, Row, Scan, Shard, Space, Store, after_prefix};
use serde_json::{Value, json};

pub(crate) const PLACE: &str = "arn:aws:states:us-east-1:123456789012";
pub(crate) const ROLE: &str = "arn:aws:iam::123456789012:role/r";

/// The moment at which the clock stands, in seconds.
pub(crate) const NOW: f64 = 1_700_000_000.0;

struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Keeps tasks until the test answers.
#[derive(Default)]
struct HeldTasks(Mutex<Vec<Task>>);

impl TaskRunner for HeldTasks {
    fn dispatch(&self, task: Task) {
        self.0.lock().expect("no thread panics").push(task);
    }

    fn cancel(&self, _cancelled: Cancelled) {}
}

/// A store that can break down.
pub(crate) struct Disk {
    rows: MemoryStore,
    is_broken: AtomicBool,
}

impl Disk {
    fn new() -> Self {
        Self { rows: MemoryStore::new(4), is_broken: AtomicBool::new(false) }
    }

    /// From now on nothing can be written.
    pub(crate) fn break_down(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }
}

impl Store for Disk {
    fn shards(&self) -> u16 {
        self.rows.shards()
    }

    fn commit(&self, batch: Batch, done: Done) {
        if self.is_broken.load(Ordering::SeqCst) {
            done(Err(everstep_store::Error::Failed("the disk is full".into())));
        } else {
            self.rows.commit(batch, done);
        }
    }

    fn get(
        &self,
        shard: Shard,
        space: Space,
        key: &[u8],
    ) -> everstep_store::Result<Option<Vec<u8>>> {
        self.rows.get(shard, space, key)
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> everstep_store::Result<Vec<Row>> {
        self.rows.scan(shard, space, scan)
    }
}

pub(crate) struct Fixture {
    pub(crate) service: Arc<Service>,
    pub(crate) store: Arc<Disk>,
    clock: Arc<ManualClock>,
    held: Arc<HeldTasks>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.service.shut_down();
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock(AtomicI64::new((NOW * 1000.0) as i64)));
        let held = Arc::new(HeldTasks::default());
        let store = Arc::new(Disk::new());
        let service = Service::new(Parts {
            settings: Settings {
                shards: everstep_shards::Settings { workers: 1, ..Default::default() },
                ..Settings::default()
            },
            ..Parts::new(store.clone(), clock.clone(), held.clone())
        });
        service.start(None, Arc::new(Silent)).expect("the service starts");
        Self { service, store, clock, held }
    }

    pub(crate) fn pass_seconds(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    /// Keys of the catalog that begin so.
    pub(crate) fn keys(&self, prefix: &str) -> Vec<String> {
        let to = after_prefix(prefix.as_bytes());
        let scan = Scan::between(prefix.as_bytes(), &to, usize::MAX);
        let rows = self.store.scan(Shard::CATALOG, Space::Catalog, scan).expect("readable");
        rows.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect()
    }

    async fn answer(&self, operation: &str, body: &Value) -> Result<Value, Error> {
        let operation = Operation::find(operation).expect("an operation");
        let answer = self.service.call(operation, body).await?;
        assert_eq!(conforms(operation, &answer), Ok(()), "{answer}");
        Ok(answer)
    }

    /// The answer of a request that succeeds.
    pub(crate) async fn call(&self, operation: &str, body: Value) -> Value {
        let answer = self.answer(operation, &body).await;
        answer.unwrap_or_else(|error| panic!("{operation} {body}: {error}"))
    }

    pub(crate) async fn check(&self, operation: &str, body: Value, expected: Value) {
        assert_eq!(self.call(operation, body.clone()).await, expected, "{operation} {body}");
    }

    /// A request that is refused, as `Name: message`.
    pub(crate) async fn refused(&self, operation: &str, body: Value, expected: &str) {
        match self.answer(operation, &body).await {
            Ok(answer) => panic!("{operation} {body}: {answer}"),
            Err(error) => assert_eq!(error.to_string(), expected, "{operation} {body}"),
        }
    }

    /// A machine that only passes, named `name`.
    pub(crate) async fn machine(&self, name: &str) -> String {
        self.call("CreateStateMachine", create(name)).await;
        machine_arn(name)
    }

    /// Publishes what the machine is with another role.
    pub(crate) async fn publish_changed(&self, arn: &str, role: &str) -> String {
        let role = format!("arn:aws:iam::123456789012:role/{role}");
        let body = json!({ "stateMachineArn": arn, "roleArn": role, "publish": true });
        let answer = self.call("UpdateStateMachine", body).await;
        answer["stateMachineVersionArn"].as_str().expect("a version").to_owned()
    }

    /// Answers the next task that an execution has asked for.
    pub(crate) async fn finish_a_task(&self) {
        loop {
            let task = self.held.0.lock().expect("no thread panics").pop();
            match task {
                Some(task) => return task.succeed(everstep_history::Payload::new(json!(1))),
                None => tokio::task::yield_now().await,
            }
        }
    }
}

pub(crate) fn machine_arn(name: &str) -> String {
    format!("{PLACE}:stateMachine:{name}")
}

pub(crate) fn pass() -> String {
    json!({ "StartAt": "A", "States": { "A": { "Type": "Pass", "End": true } } }).to_string()
}

/// A definition whose executions wait for a task.
pub(crate) fn task() -> String {
    let resource = "arn:aws:lambda:us-east-1:123456789012:function:f";
    let state = json!({ "Type": "Task", "Resource": resource, "End": true });
    json!({ "StartAt": "T", "States": { "T": state } }).to_string()
}

/// A request for a machine that only passes.
pub(crate) fn create(name: &str) -> Value {
    json!({ "name": name, "definition": pass(), "roleArn": ROLE })
}

/// A request with some members in place of others.
pub(crate) fn with(mut body: Value, members: Value) -> Value {
    for (name, value) in members.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}
