//! A service on a store in memory, with a clock that is set by hand.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use everstep_api::protocol::{Operation, conforms};
use everstep_executions::{
    Cancelled, Clock, Job, Notification, Settings, Silent, Task, TaskRunner,
};
use everstep_interpreter::{Dialect, Failure};
use everstep_server::{Environment, Notifier, Parts, Service, Unsupported};
use everstep_store::{Batch, MemoryStore, Shard, Space, Store};
use serde_json::{Value, json};

pub(crate) const PLACE: &str = "arn:aws:states:us-east-1:123456789012";
pub(crate) const ROLE: &str = "arn:aws:iam::123456789012:role/r";
pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A clock that stands still until it is set.
pub(crate) struct ManualClock(pub(crate) AtomicI64);

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Functions: `echo` answers with its payload, `fail` fails until `healed` is set, others never answer.
#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) healed: AtomicBool,
    pub(crate) seen: Mutex<Vec<Task>>,
    pub(crate) notifications: Mutex<Vec<Notification>>,
}

impl TaskRunner for Functions {
    fn dispatch(&self, task: Task) {
        let Job::Call { resource, parameters, .. } = &task.job else { return };
        self.seen.lock().expect("no thread panics").push(task.clone());
        match resource.as_str().rsplit(':').next() {
            Some("echo" | "invoke.waitForTaskToken") => task.succeed(parameters.clone()),
            Some("fail") if self.healed.load(Ordering::SeqCst) => task.succeed(parameters.clone()),
            Some("fail") => task.fail(Failure::new("Broken", "on purpose")),
            Some("silent") => {}
            _ => Unsupported.dispatch(task),
        }
    }

    fn cancel(&self, _cancelled: Cancelled) {}
}

impl Notifier for Functions {
    fn notify(self: Arc<Self>, notification: Notification) {
        self.notifications.lock().expect("no thread panics").push(notification);
    }
}

pub(crate) struct Fixture {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) service: Arc<Service>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.service.shut_down();
    }
}

pub(crate) type Refusal = (String, String);

impl Fixture {
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemoryStore::new(4));
        let clock = Arc::new(ManualClock(AtomicI64::new(1_700_000_000_123)));
        let functions = Arc::<Functions>::default();
        let service = open(&store, &clock, &functions);
        Self { store, clock, functions, service }
    }

    /// As after a crash: what was in memory is gone.
    pub(crate) fn restarted(mut self) -> Self {
        self.service.shut_down();
        self.service = open(&self.store, &self.clock, &self.functions);
        self
    }

    pub(crate) fn pass(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    pub(crate) async fn call(&self, operation: Operation, body: Value) -> Result<Value, Refusal> {
        let answer = self.service.call(operation, &body).await;
        if let Ok(answer) = &answer {
            assert_eq!(conforms(operation, answer), Ok(()), "{}: {answer}", operation.name());
        }
        answer.map_err(|error| (error.name().to_owned(), error.message().to_owned()))
    }

    pub(crate) async fn ok(&self, operation: Operation, body: Value) -> Value {
        self.call(operation, body).await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// The name and the message of a refusal.
    pub(crate) async fn refused(
        &self,
        operation: Operation,
        body: Value,
        name: &str,
        message: &str,
    ) {
        let (found, text) = self.call(operation, body.clone()).await.expect_err("it is refused");
        assert_eq!(found, name, "{}: {body}", operation.name());
        assert!(text.contains(message), "{text}");
    }

    pub(crate) async fn machine(&self, name: &str, definition: Value, express: bool) -> String {
        let body = json!({
            "name": name,
            "definition": definition.to_string(),
            "roleArn": ROLE,
            "type": if express { "EXPRESS" } else { "STANDARD" },
            "publish": true,
        });
        let created = self.ok(Operation::CreateStateMachine, body).await;
        created["stateMachineArn"].as_str().expect("an ARN").to_owned()
    }

    pub(crate) async fn start(&self, machine: &str, name: &str, input: Value) -> String {
        let body = json!({ "stateMachineArn": machine, "name": name, "input": input.to_string() });
        let started = self.ok(Operation::StartExecution, body).await;
        started["executionArn"].as_str().expect("an ARN").to_owned()
    }

    pub(crate) async fn describe(&self, arn: &str) -> Value {
        self.ok(Operation::DescribeExecution, json!({ "executionArn": arn })).await
    }

    /// The description of an execution once it has this status.
    pub(crate) async fn when(&self, arn: &str, status: &str) -> Value {
        for _ in 0..5000 {
            let described =
                self.call(Operation::DescribeExecution, json!({ "executionArn": arn })).await;
            match described {
                Ok(described) if described["status"] == status => return described,
                Ok(described) if described["status"] != "RUNNING" => panic!("{described}"),
                _ => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
        panic!("{arn} is not {status} in time");
    }

    pub(crate) async fn history(&self, arn: &str) -> Vec<Value> {
        let body = json!({ "executionArn": arn, "maxResults": 1000 });
        let history = self.ok(Operation::GetExecutionHistory, body).await;
        history["events"].as_array().expect("a list").clone()
    }

    /// Puts a row into the catalog.
    pub(crate) fn put(&self, key: &str, row: &Value) {
        let mut batch = Batch::new(Shard::CATALOG);
        batch.put(Space::Catalog, key.as_bytes().to_vec(), row.to_string().into_bytes());
        let (sender, receiver) = std::sync::mpsc::channel();
        self.store.commit(batch, Box::new(move |outcome| sender.send(outcome).expect("one waits")));
        receiver.recv().expect("it is answered").expect("it is durable");
    }

    pub(crate) fn activity(&self, name: &str) -> String {
        let arn = format!("{PLACE}:activity:{name}");
        let row =
            json!({ "arn": arn, "name": name, "created_ms": 0, "encryption": null, "tags": {} });
        self.put(&format!("activity/{arn}"), &row);
        arn
    }

    pub(crate) async fn poll(&self, activity: &str) -> Value {
        let body = json!({ "activityArn": activity, "workerName": "w" });
        self.ok(Operation::GetActivityTask, body).await
    }
}

pub(crate) fn open(
    store: &Arc<MemoryStore>,
    clock: &Arc<ManualClock>,
    functions: &Arc<Functions>,
) -> Arc<Service> {
    let service = Service::new(Parts {
        settings: Settings {
            shards: everstep_shards::Settings { workers: 1, seed: Some(1), ..Default::default() },
            ..Settings::default()
        },
        environment: Environment { dialect: Dialect::Aws, ..Environment::default() },
        ..Parts::new(store.clone(), clock.clone(), functions.clone())
    });
    service.start(Some(functions.clone()), Arc::new(Silent)).expect("it starts");
    service
}

pub(crate) fn pass() -> Value {
    json!({ "StartAt": "P", "States": { "P": { "Type": "Pass", "End": true } } })
}

pub(crate) fn wait() -> Value {
    json!({ "StartAt": "W", "States": { "W": { "Type": "Wait", "Seconds": 86400, "End": true } } })
}

pub(crate) fn fail() -> Value {
    json!({ "StartAt": "F", "States": { "F": { "Type": "Fail", "Error": "E", "Cause": "c" } } })
}

pub(crate) fn task(resource: &str) -> Value {
    json!({ "StartAt": "T", "States": { "T": { "Type": "Task", "Resource": resource, "End": true } } })
}

pub(crate) fn function(name: &str) -> Value {
    task(&format!("arn:aws:lambda:us-east-1:123456789012:function:{name}"))
}

/// A machine whose one task starts executions as its input says.
pub(crate) fn starts(resource: &str) -> Value {
    json!({ "QueryLanguage": "JSONata", "StartAt": "T", "States": { "T": {
        "Type": "Task",
        "Resource": format!("arn:aws:states:::{resource}"),
        "Arguments": "{% $states.input %}",
        "End": true,
    } } })
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

pub(crate) fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}"))
}
