//! Executions whose tasks are functions, on a real engine.

use std::sync::Arc;

use everstep_client::Client;
use everstep_executions::{
    Ended, Engine, ExecutionId, Message, Parts, Revision, Settings, Silent, Start, SystemClock,
};
use everstep_interpreter::{Failure, Payload, Status};
use everstep_runners::Tasks;
use everstep_store::MemoryStore;
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::fixture::{Fixture, doing, is_alive, until};

const MACHINE: &str = "arn:aws:states:us-east-1:000000000000:stateMachine:m";
const EXECUTION: &str = "arn:aws:states:us-east-1:000000000000:execution:m:e";

fn engine(fixture: &Fixture) -> Engine {
    let client = Arc::new(Client::new(everstep_client::Options::default()).unwrap());
    let parts = Parts {
        store: Arc::new(MemoryStore::new(1)),
        runner: Arc::new(Tasks::new(fixture.host.clone(), client)),
        observer: Arc::new(Silent),
        settings: Settings::default(),
    };
    Engine::open(parts, Arc::new(SystemClock)).unwrap()
}

fn definition() -> Value {
    json!({ "StartAt": "Reserve", "States": {
        "Reserve": {
            "Type": "Task",
            "Resource": "arn:aws:lambda:us-east-1:111122223333:function:f",
            "Retry": [{ "ErrorEquals": ["Lambda.Unknown"], "IntervalSeconds": 1, "MaxAttempts": 1 }],
            "Catch": [{ "ErrorEquals": ["OutOfStockError"], "Next": "Sorry" }],
            "End": true
        },
        "Sorry": { "Type": "Pass", "OutputPath": "$.Error", "End": true }
    } })
}

fn start(engine: &Engine, input: Value) {
    let revision = Revision::new(MACHINE, "arn:aws:iam::1:role/r", &definition().to_string());
    let prepared = engine.prepare(revision).unwrap();
    let start = Box::new(Start::new(EXECUTION, prepared, Payload::new(input)));
    block_in_place(|| engine.ask(|reply| Message::Start { start, reply, watcher: None })).unwrap();
}

fn end(engine: &Engine) -> Ended {
    let id = ExecutionId::of(EXECUTION);
    block_in_place(|| engine.ask(|reply| Message::Watch { id, reply })).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_functions_raise_is_caught_by_name() {
    let fixture = Fixture::python(|_| {});
    for (input, expected) in
        [(json!({ "a": 1 }), json!({ "a": 1 })), (doing("raise", 0), json!("OutOfStockError"))]
    {
        let engine = engine(&fixture);
        start(&engine, input);
        let Status::Succeeded { output } = end(&engine).status else { panic!() };
        assert_eq!(output.value(), &expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_that_is_stopped_leaves_no_code_running() {
    let fixture = Fixture::python(|_| {});
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    until("it is idle", || fixture.host.standing("f").unwrap().idle == 1).await;
    let engine = engine(&fixture);
    start(&engine, doing("sleep", 60));
    until("it is busy", || fixture.host.standing("f").unwrap().idle == 0).await;
    let id = ExecutionId::of(EXECUTION);
    let failure = Failure::new("Stopped", "by hand");
    block_in_place(|| engine.ask(|reply| Message::Stop { id, failure, reply })).unwrap();
    until("the process has ended", || !is_alive(pid)).await;
    assert!(matches!(end(&engine).status, Status::Aborted { .. }));
}
