//! Requests: whatever the body, an operation answers as the model says, or refuses in the protocol's
//! shape; and never that it is broken.

#![no_main]

use std::cell::RefCell;
use std::sync::Arc;

use everstep_api::protocol::{Answer, Operation, check, conforms, read};
use everstep_server::{Parts, Service, Unsupported};
use everstep_executions::{Silent, SystemClock};
use everstep_store::MemoryStore;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Requests before all is forgotten: what they have made would fill the memory.
const REQUESTS_MAX: usize = 2000;

struct Fixture {
    runtime: Runtime,
    service: Arc<Service>,
    requests: usize,
}

impl Fixture {
    /// A service that has a machine and an activity, so that requests find something.
    fn new() -> Self {
        let runtime = Runtime::new().expect("threads can be had");
        let store = Arc::new(MemoryStore::new(1));
        let entered = runtime.enter();
        let service =
            Service::new(Parts::new(store, Arc::new(SystemClock), Arc::new(Unsupported)));
        service.start(None, Arc::new(Silent)).expect("an empty store opens");
        drop(entered);
        let fixture = Self { runtime, service, requests: 0 };
        let definition = r#"{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}"#;
        let role = "arn:aws:iam::123456789012:role/r";
        let machine = json!({ "name": "m", "definition": definition, "roleArn": role });
        fixture.call(Operation::CreateStateMachine, &machine).expect("a good request");
        fixture.call(Operation::CreateActivity, &json!({ "name": "a" })).expect("a good request");
        fixture
    }

    fn call(&self, operation: Operation, body: &Value) -> Result<Value, everstep_api::protocol::Error> {
        self.runtime.block_on(self.service.call(operation, body))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.service.shut_down();
    }
}

thread_local! {
    static FIXTURE: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

fuzz_target!(|data: &[u8]| {
    let Some((number, body)) = data.split_first() else { return };
    let operation = Operation::ALL[usize::from(*number) % Operation::ALL.len()];
    let answered = read(body).and_then(|body| {
        check(operation, &body)?;
        // These wait, for a task or for the end of an execution.
        let waits = [Operation::GetActivityTask, Operation::StartSyncExecution, Operation::TestState];
        if waits.contains(&operation) { Ok(Value::Null) } else { called(operation, &body) }
    });
    if let Err(error) = answered {
        let answer = Answer::error(&error, "id");
        assert!((400..500).contains(&answer.status), "{operation:?}: {error}");
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert!(body["__type"].is_string(), "{body}");
    }
});

fn called(operation: Operation, body: &Value) -> Result<Value, everstep_api::protocol::Error> {
    FIXTURE.with_borrow_mut(|fixture| {
        if fixture.as_ref().is_some_and(|fixture| fixture.requests >= REQUESTS_MAX) {
            *fixture = None;
        }
        let fixture = fixture.get_or_insert_with(Fixture::new);
        fixture.requests += 1;
        let answer = fixture.call(operation, body)?;
        assert_eq!(conforms(operation, &answer), Ok(()), "{operation:?}: {answer}");
        Ok(answer)
    })
}
