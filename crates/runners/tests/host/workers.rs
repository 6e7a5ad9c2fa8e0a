//! How many processes there are, and for how long.

use std::collections::HashSet;
use std::time::Duration;

use everstep_runners::{Event, Outcome, Standing};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, call, code, doing, is_alive, python, until};

async fn pids(fixture: &Fixture, calls: usize, event: &Value) -> HashSet<u64> {
    let mut running = JoinSet::new();
    for number in 0..calls {
        let (host, event) = (fixture.host.clone(), event.clone());
        running.spawn(async move {
            host.invoke("f", call(&format!("r-{number}"), &event)).await.outcome
        });
    }
    let mut pids = HashSet::new();
    for outcome in running.join_all().await {
        let Outcome::Succeeded { payload } = outcome else { panic!("{outcome:?}") };
        pids.insert(serde_json::from_slice::<Value>(&payload).unwrap()[0].as_u64().unwrap());
    }
    pids
}

fn is_busy(fixture: &Fixture) -> bool {
    fixture.host.standing("f").unwrap().idle == 0
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_serves_calls_one_after_the_other() {
    let fixture = Fixture::python(|_| {});
    let mut pids = HashSet::new();
    for _ in 0..100 {
        pids.insert(fixture.result(doing("pid", 0)).await[0].as_u64().unwrap());
    }
    assert_eq!((pids.len(), fixture.events.started()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_processes_than_allowed() {
    let fixture = Fixture::python(|function| function.concurrency_max = Some(3));
    assert!(pids(&fixture, 40, &doing("pid", 0)).await.len() <= 3);
    assert!(fixture.events.started() <= 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_queue_are_refused() {
    let function = python("f", |function| function.concurrency_max = Some(1));
    let none = python("g", |function| function.concurrency_max = Some(0));
    let fixture = Fixture::with(vec![function, none], |options| options.waiting_max = 1);
    let running = tokio::spawn({
        let host = fixture.host.clone();
        async move { host.invoke("f", call("r-1", &doing("sleep", 60))).await.outcome }
    });
    let standing = |waiting| Some(Standing { waiting, workers: 1, idle: 0 });
    let has_begun = || fixture.host.standing("f") == standing(0);
    until("the first call has a process", || has_begun() && fixture.events.started() == 1).await;
    let waiting = tokio::spawn({
        let host = fixture.host.clone();
        async move { host.invoke("f", call("r-2", &json!(2))).await.outcome }
    });
    until("the second call waits", || fixture.host.standing("f") == standing(1)).await;
    assert_eq!(fixture.outcome("f", &json!(3)).await, Outcome::Throttled);
    assert_eq!(fixture.outcome("g", &json!(3)).await, Outcome::Throttled);
    assert_eq!(fixture.outcome("h", &json!(3)).await, Outcome::NotFound);
    fixture.host.cancel("r-1");
    assert_eq!(running.await.unwrap(), Outcome::Cancelled);
    assert!(matches!(waiting.await.unwrap(), Outcome::Succeeded { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_leaves_no_code_running() {
    let fixture = Fixture::python(|_| {});
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    until("it is known to be idle", || !is_busy(&fixture)).await;
    let host = fixture.host.clone();
    let running =
        tokio::spawn(
            async move { host.invoke("f", call("r-2", &doing("sleep", 60))).await.outcome },
        );
    until("the process is busy", || is_busy(&fixture)).await;
    fixture.host.cancel("r-2");
    assert_eq!(running.await.unwrap(), Outcome::Cancelled);
    until("the process has ended", || !is_alive(pid)).await;
    // Whoever stops waiting cancels as well.
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    let sleep = call("r-3", &doing("sleep", 60));
    let waited = fixture.host.invoke("f", sleep);
    let _ = tokio::time::timeout(Duration::from_millis(50), waited).await;
    until("the process has ended", || !is_alive(pid)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn some_processes_are_there_without_calls() {
    let fixture = Fixture::python(|function| {
        function.instances_min = 2;
        function.idle_ms_max = 20;
    });
    let idle = |fixture: &Fixture| fixture.host.standing("f").unwrap().idle;
    until("two wait for work", || idle(&fixture) == 2).await;
    assert_eq!(fixture.events.started(), 2);
    pids(&fixture, 8, &doing("pid", 0)).await;
    until("the others have gone", || fixture.host.standing("f").unwrap().workers == 2).await;
    // One that dies is replaced.
    fixture.error(doing("exit", 3)).await;
    until("two wait for work again", || idle(&fixture) == 2).await;
    let ended =
        || fixture.events.all().iter().filter(|event| matches!(event, Event::Ended { .. })).count();
    fixture.host.deploy(Vec::new());
    until("no process is left", || ended() == fixture.events.started()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_processes_go() {
    let fixture = Fixture::python(|function| function.idle_ms_max = 50);
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    until("the process has ended", || !is_alive(pid)).await;
    until("it is forgotten", || fixture.host.standing("f") == Some(Standing::default())).await;
    assert_ne!(fixture.result(doing("pid", 0)).await[0].as_u64().unwrap(), pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_worn_out() {
    let fixture = Fixture::python(|function| function.invocations_max = Some(2));
    let mut served = Vec::new();
    for _ in 0..4 {
        served.push(fixture.result(doing("pid", 0)).await[1].as_u64().unwrap());
    }
    assert_eq!(served, [1, 2, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_function_gets_new_processes() {
    let fixture = Fixture::python(|function| function.env = vec![("TABLE".into(), "a".into())]);
    let same = python("f", |function| function.env = vec![("TABLE".into(), "a".into())]);
    let other = python("f", |function| function.env = vec![("TABLE".into(), "b".into())]);
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    fixture.host.deploy(vec![same]);
    assert_eq!(fixture.result(doing("pid", 0)).await[0].as_u64().unwrap(), pid);
    until("it is known to be idle", || !is_busy(&fixture)).await;
    let host = fixture.host.clone();
    let running =
        tokio::spawn(
            async move { host.invoke("f", call("r-2", &doing("sleep", 0.3))).await.outcome },
        );
    until("the process is busy", || is_busy(&fixture)).await;
    fixture.host.deploy(vec![other]);
    assert_eq!(fixture.result(doing("environment", 0)).await["TABLE"], "b");
    assert!(matches!(running.await.unwrap(), Outcome::Succeeded { .. }));
    until("the old process has ended", || !is_alive(pid)).await;
    fixture.host.deploy(Vec::new());
    assert_eq!(fixture.outcome("f", &json!(1)).await, Outcome::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_that_fail_are_apart() {
    let function = everstep_runners::Function::python("f", "zero.handler", code("python"));
    let fixture = Fixture::with(vec![function], |options| options.pause_ms_min = 100_000);
    fixture.error(json!(1)).await;
    // The second waits for a start that is not made yet.
    let host = fixture.host.clone();
    let waiting =
        tokio::spawn(async move { host.invoke("f", call("r-2", &json!(1))).await.outcome });
    let standing = Some(Standing { waiting: 1, workers: 0, idle: 0 });
    until("the second waits", || fixture.host.standing("f") == standing).await;
    fixture.host.cancel("r-2");
    assert_eq!(waiting.await.unwrap(), Outcome::Cancelled);
    assert_eq!(fixture.events.started(), 1);

    let function = everstep_runners::Function::python("f", "zero.handler", code("python"));
    let fixture = Fixture::with(vec![function], |options| options.pause_ms_min = 1);
    for _ in 0..3 {
        assert_eq!(fixture.error(json!(1)).await.error_type, "ZeroDivisionError");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_never_asks_is_ended() {
    let function = python("f", |function| {
        function.env = vec![("START".into(), "sleep".into())];
        function.timeout_ms = 100;
    });
    let fixture = Fixture::with(vec![function], |options| options.start_ms_max = 300);
    let error = fixture.error(json!(1)).await;
    assert_eq!(error.error_type, "Sandbox.Timedout");
    let message = error.payload["errorMessage"].as_str().unwrap();
    assert!(message.contains("did not ask for an event"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_started_ends_with_it() {
    let fixture = Fixture::python(|_| {});
    let (_, log) = fixture.error_and_log(doing("child and exit", 0)).await;
    let child: u64 = log[0].parse().unwrap();
    until("the child has ended", || !is_alive(child)).await;
    // One that has left the group is found by its session.
    let child = fixture.result(doing("child", 0)).await.as_u64().unwrap();
    assert!(is_alive(child));
    fixture.error(doing("exit", 1)).await;
    until("the child has ended", || !is_alive(child)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shutting_down_waits_for_calls_and_ends_the_rest() {
    let fixture = Fixture::python(|_| {});
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    until("it is known to be idle", || !is_busy(&fixture)).await;
    let host = fixture.host.clone();
    let running =
        tokio::spawn(
            async move { host.invoke("f", call("r-2", &doing("sleep", 0.2))).await.outcome },
        );
    until("the process is busy", || is_busy(&fixture)).await;
    fixture.host.shut_down(Duration::from_secs(30)).await;
    assert!(matches!(running.await.unwrap(), Outcome::Succeeded { .. }));
    assert!(!is_alive(pid));
    assert_eq!(fixture.outcome("f", &json!(1)).await, Outcome::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutting_down_ends_calls_that_take_too_long() {
    let fixture = Fixture::python(|_| {});
    let pid = fixture.result(doing("pid", 0)).await[0].as_u64().unwrap();
    until("it is known to be idle", || !is_busy(&fixture)).await;
    let host = fixture.host.clone();
    let running =
        tokio::spawn(
            async move { host.invoke("f", call("r-2", &doing("sleep", 60))).await.outcome },
        );
    until("the process is busy", || is_busy(&fixture)).await;
    fixture.host.shut_down(Duration::ZERO).await;
    assert_eq!(running.await.unwrap(), Outcome::Cancelled);
    assert!(!is_alive(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_tagged_with_the_call() {
    let fixture = Fixture::python(|_| {});
    let (_, log) = fixture.error_and_log(doing("print", vec!["one", "two"])).await;
    assert_eq!(log[..2], ["one", "two"]);
    let told = |event: &Event| match event {
        Event::Line { text, tag, function, .. } if &**text == "two" => {
            let tag = tag.as_ref().unwrap();
            (&*tag.request_id, tag.attempt, &**function) == ("r-1", 1, "f")
        }
        _ => false,
    };
    until("the line", || fixture.events.all().iter().any(told)).await;
    // The next call's tail has none of it.
    let (_, log) = fixture.error_and_log(doing("raise", 0)).await;
    assert_eq!(log.len(), 1, "{log:?}");
}
