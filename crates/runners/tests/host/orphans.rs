//! Engines that are killed leave nothing behind that works on.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use everstep_runners::Event;
use serde_json::json;

use crate::fixture::{Fixture, doing, is_alive, python, until};

const DIRECTORY: &str = "EVERSTEP_TEST_DIRECTORY";

/// Not a test: what the test below starts, and kills.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "is started by another test"]
async fn an_engine() {
    let directory = std::env::var(DIRECTORY).unwrap();
    let fixture = Fixture::at(directory.as_ref(), vec![python("f", |_| {})], |_| {});
    let child = fixture.result(doing("child", 0)).await;
    let pid = fixture.result(doing("pid", 0)).await[0].clone();
    println!("\npids {child} {pid}");
    fixture.result(doing("sleep", 60)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_outlives_an_engine_that_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "orphans::an_engine", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(engine.stdout.take().unwrap()).lines();
    let pids = lines.map(Result::unwrap).find_map(|line| {
        line.strip_prefix("pids ")
            .map(|pids| pids.split(' ').map(|pid| pid.parse().unwrap()).collect::<Vec<u64>>())
    });
    let pids = pids.unwrap();
    let (child, worker) = (pids[0], pids[1]);
    engine.kill().unwrap();
    engine.wait().unwrap();
    // The kernel ends the worker with the engine, but not what it had started.
    until("the worker has ended", || !is_alive(worker)).await;
    assert!(is_alive(child));
    let fixture = Fixture::at(directory.path(), vec![python("f", |_| {})], |_| {});
    until("the child has ended", || !is_alive(child)).await;
    let reaped = Event::Reaped { pid: worker.try_into().unwrap() };
    until("the event", || fixture.events.all().contains(&reaped)).await;
    assert_eq!(fixture.result(json!(1)).await, 1);
}
