//! An engine is made first and started later, so that its runner may hold it.

use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use everstep_executions::{
    Cancelled, Engine, Error, ExecutionId, Message, Revision, Settings, Silent, Start, SystemClock,
    Task, TaskRunner,
};
use everstep_history::Payload;
use everstep_interpreter::Status;
use everstep_store::MemoryStore;
use serde_json::json;

/// Has the engine that it runs tasks for, as a service does.
struct Knot {
    engine: Arc<Engine>,
    tasks: Mutex<Vec<Task>>,
}

impl TaskRunner for Knot {
    fn dispatch(&self, task: Task) {
        self.tasks.lock().expect("no thread panics").push(task);
    }

    fn cancel(&self, _: Cancelled) {}
}

fn engine() -> Arc<Engine> {
    let store = Arc::new(MemoryStore::new(4));
    Arc::new(Engine::new(store, Arc::new(SystemClock), Settings::default()))
}

/// Starts an execution; how the start and the end are answered.
fn start(engine: &Engine, state: serde_json::Value) -> mpsc::Receiver<Result<Status, Error>> {
    let definition = json!({"StartAt": "A", "States": {"A": state}}).to_string();
    let revision = Revision::new("arn:aws:states:::stateMachine:m", "r", &definition);
    let prepared = engine.prepare(revision).expect("prepared before the start");
    let start = Box::new(Start::new("arn:a", prepared, Payload::new(json!({}))));
    let (sender, receiver) = mpsc::channel();
    let watcher = Box::new(move |ended: Result<everstep_executions::Ended, Error>| {
        let _ = sender.send(ended.map(|ended| ended.status));
    });
    engine.send(Message::Start { start, reply: Box::new(|_| {}), watcher: Some(watcher) });
    receiver
}

#[test]
fn messages_wait_for_the_start() {
    let engine = engine();
    let end = start(&engine, json!({"Type": "Succeed"}));
    assert_eq!(end.try_recv(), Err(mpsc::TryRecvError::Empty));
    assert_eq!(engine.reader().summary(ExecutionId::of("arn:a")), Ok(None));
    let runner = Arc::new(Knot { engine: engine.clone(), tasks: Mutex::default() });
    engine.start(runner, Arc::new(Silent)).expect("starts");
    let output = Payload::new(json!({}));
    assert_eq!(end.recv(), Ok(Ok(Status::Succeeded { output })));
    engine.shut_down();
}

#[test]
fn an_engine_that_never_starts_refuses_what_waited() {
    let engine = engine();
    let end = start(&engine, json!({"Type": "Succeed"}));
    engine.shut_down();
    assert_eq!(end.recv(), Ok(Err(Error::Stopped)));
}

#[test]
fn nothing_is_left_of_a_runner_that_holds_its_engine() {
    let engine = engine();
    let runner = Arc::new(Knot { engine: engine.clone(), tasks: Mutex::default() });
    let (left, engine_left) = (Arc::downgrade(&runner), Arc::downgrade(&engine));
    let observer = Arc::new(Silent);
    let observer_left = Arc::downgrade(&observer);
    engine.start(runner, observer).expect("starts");
    let task = json!({"Type": "Task", "Resource": "arn:aws:lambda:::function:f", "End": true});
    let end = start(&engine, task);
    let deadline = Instant::now() + Duration::from_secs(20);
    while left.upgrade().is_some_and(|runner| runner.tasks.lock().expect("no panic").is_empty()) {
        assert!(Instant::now() < deadline, "no task was dispatched in 20 s");
        std::thread::yield_now();
    }
    assert!(left.upgrade().is_some_and(|runner| Arc::ptr_eq(&runner.engine, &engine)));
    engine.shut_down();
    assert!(left.upgrade().is_none() && observer_left.upgrade().is_none());
    drop(engine);
    assert!(engine_left.upgrade().is_none());
    assert!(end.recv().is_err(), "the execution has not ended");
}
