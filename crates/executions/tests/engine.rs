//! An engine on threads, with a store in memory: what it promises to its users.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use everstep_executions::{
    Cancelled, Ended, Engine, Error, ExecutionId, Job, ListId, Message, Parts, Prepared, Revision,
    Settings, Silent, Standing, Start, Started, SystemClock, Task, TaskRunner,
};
use everstep_history::{Failure, Payload};
use everstep_interpreter::Status;
use everstep_store::{Batch, MemoryStore, Scan, Space, Store};
use serde_json::{Value, json};

const MACHINE: &str = "arn:aws:states:us-east-1:000000000000:stateMachine:m";

/// Keeps what it is given until the test answers.
#[derive(Default)]
struct Held {
    tasks: Mutex<Vec<Task>>,
    cancelled: Mutex<Vec<Cancelled>>,
}

impl TaskRunner for Held {
    fn dispatch(&self, task: Task) {
        self.tasks.lock().expect("no thread panics").push(task);
    }

    fn cancel(&self, cancelled: Cancelled) {
        self.cancelled.lock().expect("no thread panics").push(cancelled);
    }
}

impl Held {
    /// The next task; waits for it.
    fn next(&self) -> Task {
        eventually(|| self.tasks.lock().expect("no thread panics").pop())
    }
}

fn eventually<T>(mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < deadline, "it did not happen in 20 s");
        std::thread::yield_now();
    }
}

struct Harness {
    store: Arc<MemoryStore>,
    runner: Arc<Held>,
    engine: Engine,
}

impl Harness {
    fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new(4)), Settings::default())
    }

    fn on(store: Arc<MemoryStore>, settings: Settings) -> Self {
        let runner = Arc::new(Held::default());
        let parts = Parts {
            store: store.clone(),
            runner: runner.clone(),
            observer: Arc::new(Silent),
            settings,
        };
        let engine = Engine::open(parts, Arc::new(SystemClock)).expect("the engine opens");
        Self { store, runner, engine }
    }

    /// The same store after the engine is gone.
    fn restarted(self) -> Self {
        let store = self.store.clone();
        drop(self);
        Self::on(store, Settings::default())
    }

    fn prepared(&self, definition: &Value) -> Arc<Prepared> {
        let revision =
            Revision::new(MACHINE, "arn:aws:iam::000000000000:role/r", &definition.to_string());
        self.engine.prepare(revision).expect("the definition is valid")
    }

    fn start(&self, definition: &Value, name: &str, input: Value) -> Result<Started, Error> {
        let start = Start::new(&arn(name), self.prepared(definition), Payload::new(input));
        self.engine.ask(|reply| Message::Start { start: Box::new(start), reply, watcher: None })
    }

    fn end(&self, name: &str) -> Ended {
        let id = id(name);
        self.engine.ask(|reply| Message::Watch { id, reply }).expect("it ends")
    }

    fn standing(&self, name: &str) -> Standing {
        self.engine.reader().summary(id(name)).expect("readable").expect("known").standing
    }
}

fn arn(name: &str) -> String {
    format!("arn:aws:states:us-east-1:000000000000:execution:m:{name}")
}

fn id(name: &str) -> ExecutionId {
    ExecutionId::of(&arn(name))
}

fn pass() -> Value {
    json!({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "End": true}}})
}

fn task() -> Value {
    json!({"StartAt": "T", "States": {"T": {
        "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:000000000000:function:f", "End": true,
        "Retry": [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 2, "BackoffRate": 1}]
    }}})
}

fn wait(seconds: u32) -> Value {
    json!({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": seconds, "End": true}}})
}

#[test]
fn a_run_without_tasks_is_over_when_its_start_is_answered() {
    let harness = Harness::new();
    let started = harness.start(&pass(), "a", json!({"x": 1})).expect("starts");
    assert!(!started.known);
    assert_eq!(harness.standing("a"), Standing::Succeeded);
    let ended = harness.end("a");
    assert_eq!(ended.status, Status::Succeeded { output: Payload::new(json!({"x": 1})) });
}

#[test]
fn a_start_that_is_repeated_finds_the_one_that_runs() {
    let harness = Harness::new();
    let first = harness.start(&task(), "a", json!(1)).expect("starts");
    let again = harness.start(&task(), "a", json!(1)).expect("is known");
    assert_eq!((again.started_ms, again.known), (first.started_ms, true));
    let other = harness.start(&task(), "a", json!(2));
    assert!(matches!(other, Err(Error::AlreadyExists(_))), "{other:?}");
    harness.runner.next().succeed(Payload::new(json!(null)));
    harness.end("a");
    let over = harness.start(&task(), "a", json!(1));
    assert!(matches!(over, Err(Error::AlreadyExists(_))), "{over:?}");
}

#[test]
fn a_result_counts_once() {
    let harness = Harness::new();
    harness.start(&task(), "a", json!({})).expect("starts");
    let task = harness.runner.next();
    let Job::Call { resource, .. } = &task.job else { panic!("a call") };
    assert!(resource.as_str().ends_with("function:f"));
    task.succeed(Payload::new(json!("first")));
    let report = everstep_executions::Report::Succeeded { output: Payload::new(json!("second")) };
    let (id, attempt) = (task.execution, task.attempt);
    let second: Result<(), Error> =
        harness.engine.ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) });
    assert_eq!(second, Err(Error::Settled));
    assert_eq!(harness.end("a").status, Status::Succeeded { output: Payload::new(json!("first")) });
}

#[test]
fn an_open_attempt_is_dispatched_again_after_a_restart_with_the_same_token() {
    let harness = Harness::new();
    harness.start(&task(), "a", json!({"n": 7})).expect("starts");
    let before = harness.runner.next();
    let harness = harness.restarted();
    let after = harness.runner.next();
    assert!(after.again && !before.again);
    assert_eq!(
        (after.attempt_name(), after.request_id()),
        (before.attempt_name(), before.request_id())
    );
    assert_eq!(after.job, before.job);
    after.succeed(Payload::new(json!("done")));
    assert_eq!(harness.end("a").status, Status::Succeeded { output: Payload::new(json!("done")) });
}

#[test]
fn a_retry_that_waits_goes_on_after_a_restart_with_its_count() {
    let harness = Harness::new();
    harness.start(&task(), "a", json!({})).expect("starts");
    harness.runner.next().fail(Failure::new("Again", "1"));
    let harness = harness.restarted();
    harness.runner.next().fail(Failure::new("Again", "2"));
    let harness = harness.restarted();
    harness.runner.next().fail(Failure::new("Again", "3"));
    let ended = harness.end("a");
    assert_eq!(ended.status, Status::Failed { failure: Failure::new("Again", "3") });
}

#[test]
fn a_wait_that_passed_while_the_engine_was_down_is_over() {
    let harness = Harness::new();
    harness.start(&wait(1), "a", json!({})).expect("starts");
    let harness = harness.restarted();
    assert!(matches!(harness.end("a").status, Status::Succeeded { .. }));
}

#[test]
fn a_stopped_execution_cancels_its_task_and_can_be_redriven() {
    let harness = Harness::new();
    harness.start(&task(), "a", json!({})).expect("starts");
    let task = harness.runner.next();
    let id = task.execution;
    let failure = Failure::new("Stop", "by hand");
    harness.engine.ask(|reply| Message::Stop { id, failure, reply }).expect("stops");
    assert_eq!(harness.standing("a"), Standing::Aborted);
    let cancelled = eventually(|| harness.runner.cancelled.lock().expect("no panic").pop());
    assert_eq!(cancelled.attempt, task.attempt);
    harness.engine.ask(|reply| Message::Redrive { id, reply }).expect("is redriven");
    assert_eq!(harness.standing("a"), Standing::Running);
    harness.runner.next().succeed(Payload::new(json!("at last")));
    harness.end("a");
    let summary = harness.engine.reader().summary(id).expect("readable").expect("known");
    assert_eq!((summary.standing, summary.redrives), (Standing::Succeeded, 1));
}

#[test]
fn a_list_is_paged_without_gaps_or_repeats() {
    let harness = Harness::new();
    for n in 0..50 {
        let definition = if n % 5 == 0 { task() } else { pass() };
        harness.start(&definition, &format!("e{n}"), json!({})).expect("starts");
    }
    let reader = harness.engine.reader();
    let names = |standing| {
        let (mut found, mut from) = (Vec::new(), None);
        loop {
            let page = reader.list(ListId::of(MACHINE), standing, from, 7).expect("readable");
            assert!(page.executions.len() <= 7);
            found.extend(
                page.executions.into_iter().map(|summary| (summary.started_ms, summary.arn)),
            );
            match page.next {
                Some(next) => from = Some(next),
                None => return found,
            }
        }
    };
    let all = names(None);
    assert_eq!(all.len(), 50);
    assert!(all.is_sorted_by(|a, b| a.0 >= b.0), "latest first");
    let mut distinct = all;
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 50);
    assert_eq!(names(Some(Standing::Running)).len(), 10);
    assert_eq!(names(Some(Standing::Succeeded)).len(), 40);
    assert_eq!(names(Some(Standing::Failed)).len(), 0);
}

#[test]
fn an_express_execution_leaves_nothing_behind() {
    let harness = Harness::new();
    let revision = Revision::new(MACHINE, "role", &task().to_string()).express();
    let prepared = harness.engine.prepare(revision).expect("valid");
    let start = Start::new(&arn("x"), prepared, Payload::new(json!({})));
    let (sender, ended) = std::sync::mpsc::channel();
    let watcher: everstep_executions::Reply<Ended> = Box::new(move |ended| {
        let _ = sender.send(ended);
    });
    harness
        .engine
        .ask(|reply| Message::Start { start: Box::new(start), reply, watcher: Some(watcher) })
        .expect("starts");
    harness.runner.next().succeed(Payload::new(json!("quick")));
    let ended = ended.recv().expect("answered").expect("ended");
    assert_eq!(ended.status, Status::Succeeded { output: Payload::new(json!("quick")) });
    assert_eq!(harness.engine.reader().summary(id("x")), Ok(None));
    assert_eq!(harness.store.shards(), 4);
}

#[test]
fn an_execution_that_is_over_can_be_removed_and_its_name_used_again() {
    let harness = Harness::new();
    harness.start(&task(), "a", json!({})).expect("starts");
    let id = id("a");
    let early = harness.engine.ask(|reply| Message::Delete { id, reply });
    assert!(matches!(early, Err(Error::WrongStatus(_))), "{early:?}");
    harness.runner.next().succeed(Payload::new(json!({})));
    harness.end("a");
    harness.engine.ask(|reply| Message::Delete { id, reply }).expect("is removed");
    assert_eq!(harness.engine.reader().summary(id), Ok(None));
    assert_eq!(harness.engine.reader().events(id), Ok(Vec::new()));
    let page = harness.engine.reader().list(ListId::of(MACHINE), None, None, 10).expect("readable");
    assert_eq!(page.executions, Vec::new());
    assert!(!harness.start(&pass(), "a", json!({})).expect("starts").known);
}

#[test]
fn an_execution_that_is_half_removed_keeps_its_name_until_it_is_gone() {
    let harness = Harness::new();
    harness.start(&task(), "a", json!(1)).expect("starts");
    harness.runner.next().succeed(Payload::new(json!(2)));
    harness.end("a");
    let shard = id("a").shard(harness.store.shards());
    let last = Scan::between(&[], &[], 1).reversed();
    let steps = harness.store.scan(shard, Space::Journal, last).expect("readable");
    let mut batch = Batch::new(shard);
    batch.remove(Space::Journal, steps[0].0.clone());
    harness.store.commit(batch, Box::new(|outcome| outcome.expect("the step goes")));
    let harness = harness.restarted();
    let again = harness.start(&task(), "a", json!(1));
    assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
    let watched: Result<Ended, Error> =
        harness.engine.ask(|reply| Message::Watch { id: id("a"), reply });
    assert_eq!(watched, Err(Error::NotFound));
    harness.engine.ask(|reply| Message::Delete { id: id("a"), reply }).expect("the rest goes");
    assert!(!harness.start(&task(), "a", json!(1)).expect("starts anew").known);
}

#[test]
fn what_cannot_be_taken_on_is_refused_at_once() {
    let settings = Settings {
        shards: everstep_shards::Settings { queue_max: 0, ..everstep_shards::Settings::default() },
        ..Settings::default()
    };
    let harness = Harness::on(Arc::new(MemoryStore::new(4)), settings);
    assert_eq!(harness.start(&pass(), "a", json!({})), Err(Error::Busy));
    assert_eq!(harness.engine.reader().summary(id("a")), Ok(None));
}
