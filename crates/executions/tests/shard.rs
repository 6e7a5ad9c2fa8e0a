//! One shard on a clock that the test sets: waits, timeouts, signs of life, retention, and what a restart
//! finds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_executions::{
    Cancelled, Ended, Error, ExecutionId, Mailbox, Message, Note, Notification, Parts, Prepared,
    Reply, Report, Result, Revision, Settings, Shard, Shared, Silent, Standing, Start, Started,
    Task, TaskRunner,
};
use everstep_history::{Attempt, Event, Failure, Payload};
use everstep_interpreter::Status;
use everstep_store::{Behaviour, CrashingStore, Scan, Space, Store};
use serde_json::{Value, json};

const SECOND: i64 = 1000;
const HOUR: i64 = 3600 * SECOND;
const DAY: i64 = 24 * HOUR;
const SHARD: everstep_store::Shard = everstep_store::Shard(0);

/// Keeps what leaves the shard.
#[derive(Default)]
struct Outside {
    tasks: Mutex<Vec<Task>>,
    cancelled: Mutex<Vec<Attempt>>,
    notifications: Mutex<Vec<Notification>>,
    posted: Mutex<Vec<Message>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TaskRunner for Outside {
    fn dispatch(&self, task: Task) {
        locked(&self.tasks).push(task);
    }

    fn cancel(&self, cancelled: Cancelled) {
        locked(&self.cancelled).push(cancelled.attempt);
    }

    fn notify(&self, notification: Notification) {
        locked(&self.notifications).push(notification);
    }
}

impl Mailbox<Message> for Outside {
    fn post(&self, message: Message) {
        locked(&self.posted).push(message);
    }
}

/// What is handed over is durable at once.
const AT_ONCE: Behaviour =
    Behaviour { reads_ahead_percent: 0, durable_at_once: true, acknowledges_early: false };

struct Stage {
    disk: Arc<CrashingStore>,
    outside: Arc<Outside>,
    shared: Arc<Shared>,
    shard: Shard,
    now_ms: i64,
    settings: Settings,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        let disk = Arc::new(CrashingStore::new(1, 7, AT_ONCE));
        Self::open(disk, settings, 1_700_000_000_000)
    }

    fn open(disk: Arc<CrashingStore>, settings: Settings, now_ms: i64) -> Self {
        let outside = Arc::new(Outside::default());
        let parts = Parts {
            store: disk.clone(),
            runner: outside.clone(),
            observer: Arc::new(Silent),
            settings: settings.clone(),
        };
        let shared = Arc::new(Shared::new(parts, outside.clone()));
        let shard = Shard::open(SHARD, shared.clone(), 7, now_ms).expect("the shard opens");
        Self { disk, outside, shared, shard, now_ms, settings }
    }

    /// The engine is gone for a while and comes back.
    fn restart_after(self, ms: i64) -> Self {
        let mut stage = Self::open(self.disk, self.settings, self.now_ms + ms);
        stage.pass(0);
        stage
    }

    fn prepared(&self, definition: &Value) -> Arc<Prepared> {
        let revision =
            Revision::new("arn:aws:states:::stateMachine:m", "r", &definition.to_string());
        self.shared.prepare(revision, Box::new(|_| {})).expect("a valid definition")
    }

    fn start(&mut self, definition: &Value, name: &str) -> Result<Started> {
        let prepared = self.prepared(definition);
        self.start_by(prepared, name)
    }

    /// An execution with a destination for its failure.
    fn start_with_destination(&mut self, definition: &Value, name: &str) -> Result<Started> {
        let mut revision = self.prepared(definition).revision.clone();
        revision.on_failure = Some("function:f".to_owned());
        let prepared = self.shared.prepare(revision, Box::new(|_| {})).expect("a valid definition");
        self.start_by(prepared, name)
    }

    fn start_by(&mut self, prepared: Arc<Prepared>, name: &str) -> Result<Started> {
        let start = Start::new(name, prepared, Payload::new(json!({})));
        self.ask(|reply| Message::Start { start: Box::new(start), reply, watcher: None })
    }

    /// The answer to a message, which must come at once.
    fn ask<T: Send + 'static>(&mut self, message: impl FnOnce(Reply<T>) -> Message) -> Result<T> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let reply = Box::new(move |answer| sender.send(answer).expect("the receiver is there"));
        self.shard.handle(message(reply), self.now_ms);
        self.deliver();
        receiver.try_recv().expect("an answer")
    }

    fn deliver(&mut self) {
        loop {
            let posted = std::mem::take(&mut *locked(&self.outside.posted));
            if posted.is_empty() {
                return;
            }
            for message in posted {
                self.shard.handle(message, self.now_ms);
            }
        }
    }

    /// Time passes, and what is due happens.
    fn pass(&mut self, ms: i64) {
        self.now_ms += ms;
        for _ in 0..1000 {
            let (next, troubles) = self.shard.tick(self.now_ms);
            assert!(troubles.is_empty(), "{troubles:?}");
            self.deliver();
            if next.is_none_or(|next| next > self.now_ms) {
                return;
            }
        }
        panic!("the shard does not come to rest");
    }

    /// Time enough for all that is swept a little at a time.
    fn sweep(&mut self) {
        for _ in 0..50 {
            self.pass(1);
        }
    }

    fn task(&self) -> Task {
        locked(&self.outside.tasks).pop().expect("a task")
    }

    /// The notifications since the last call.
    fn notifications(&self) -> Vec<Notification> {
        std::mem::take(&mut *locked(&self.outside.notifications))
    }

    fn stop(&mut self, name: &str) {
        let (id, failure) = (ExecutionId::of(name), Failure::new("Enough", "of this"));
        self.ask(|reply| Message::Stop { id, failure, reply }).expect("it stops");
    }

    fn redrive(&mut self, name: &str) {
        let id = ExecutionId::of(name);
        self.ask(|reply| Message::Redrive { id, reply }).expect("it is redriven");
    }

    fn delete(&mut self, name: &str) {
        let id = ExecutionId::of(name);
        self.ask(|reply| Message::Delete { id, reply }).expect("it goes");
    }

    fn dispatched(&self) -> usize {
        locked(&self.outside.tasks).len()
    }

    fn report(&mut self, task: &Task, report: Report) -> Result<()> {
        let (id, attempt) = (task.execution, task.attempt);
        self.ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) })
    }

    fn heartbeat(&mut self, task: &Task) -> Result<()> {
        let (id, attempt) = (task.execution, task.attempt);
        self.ask(|reply| Message::Heartbeat { id, attempt, reply })
    }

    fn standing(&self, name: &str) -> Option<Standing> {
        let reader = self.shared.reader();
        let summary = reader.summary(ExecutionId::of(name)).expect("readable");
        summary.map(|summary| summary.standing)
    }

    fn end(&mut self, name: &str) -> Ended {
        let id = ExecutionId::of(name);
        self.ask(|reply| Message::Watch { id, reply }).expect("it is over")
    }

    fn events(&self, name: &str) -> Vec<Event> {
        self.shared.reader().events(ExecutionId::of(name)).expect("readable")
    }

    fn rows(&self, space: Space) -> usize {
        self.disk.scan(SHARD, space, Scan::between(&[], &[], 10_000)).expect("readable").len()
    }
}

fn wait(seconds: i64) -> Value {
    json!({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": seconds, "End": true}}})
}

fn task(fields: Value) -> Value {
    let mut state =
        json!({"Type": "Task", "Resource": "arn:aws:states:us-east-1:1:activity:a", "End": true});
    for (name, value) in fields.as_object().expect("fields") {
        state[name] = value.clone();
    }
    json!({"StartAt": "T", "States": {"T": state}})
}

#[test]
fn a_far_wait_is_over_on_time_and_never_early() {
    let mut stage = Stage::new(Settings::default());
    stage.start(&wait(30 * 24 * 3600), "far").expect("starts");
    for _ in 0..29 {
        stage.pass(DAY);
    }
    stage.pass(DAY - 1);
    assert_eq!(stage.standing("far"), Some(Standing::Running));
    stage.pass(1);
    assert_eq!(stage.standing("far"), Some(Standing::Succeeded));
    assert_eq!(stage.rows(Space::Wakes), 0);
}

#[test]
fn a_far_wait_survives_restarts_before_within_and_after_its_horizon() {
    for downtime in [HOUR, 10 * DAY - 5 * 60 * SECOND, 11 * DAY] {
        let mut stage = Stage::new(Settings::default());
        stage.start(&wait(10 * 24 * 3600), "far").expect("starts");
        let mut stage = stage.restart_after(downtime);
        let over = downtime >= 10 * DAY;
        assert_eq!(stage.standing("far") == Some(Standing::Succeeded), over, "{downtime}");
        stage.pass((10 * DAY - downtime).max(0));
        assert_eq!(stage.standing("far"), Some(Standing::Succeeded), "{downtime}");
        assert_eq!(stage.rows(Space::Wakes), 0, "{downtime}");
    }
}

#[test]
fn a_near_wait_that_is_spoken_to_is_still_over_on_time() {
    let mut stage = Stage::new(Settings::default());
    stage.start(&wait(9 * 60), "near").expect("starts");
    stage.start(&wait(20 * 60), "later").expect("starts");
    // 16 minutes on, the far one has been read into memory; asking for it must not lose its timer.
    stage.pass(16 * 60 * SECOND);
    assert_eq!(stage.standing("near"), Some(Standing::Succeeded));
    assert!(stage.start(&wait(20 * 60), "later").expect("is known").known);
    stage.pass(4 * 60 * SECOND);
    assert_eq!(stage.standing("later"), Some(Standing::Succeeded));
}

#[test]
fn a_deadline_that_passed_while_the_engine_was_down_is_kept() {
    let mut stage = Stage::new(Settings::default());
    stage.start(&task(json!({"TimeoutSeconds": 60})), "a").expect("starts");
    stage.task();
    let stage = stage.restart_after(61 * SECOND);
    assert_eq!(stage.dispatched(), 0, "its result no longer counts");
    assert_eq!(stage.standing("a"), Some(Standing::Failed));
}

#[test]
fn a_task_that_a_worker_took_is_dispatched_with_the_moment_of_that() {
    let mut stage = Stage::new(Settings::default());
    stage.start(&task(json!({"TimeoutSeconds": 600})), "a").expect("starts");
    let taken = stage.task();
    let worker = Some("w".into());
    assert_eq!(taken.started_ms, None);
    let started_ms = stage.now_ms;
    stage.report(&taken, Report::Started { worker }).expect("is taken");
    let mut stage = stage.restart_after(SECOND);
    // Whether the worker has it is known to the queue of its activity.
    let again = stage.task();
    assert_eq!((again.again, again.started_ms), (true, Some(started_ms)));
    assert_eq!(again.request_id(), taken.request_id());
    stage.report(&taken, Report::Succeeded { output: Payload::new(json!(1)) }).expect("counts");
    assert_eq!(stage.standing("a"), Some(Standing::Succeeded));
}

#[test]
fn signs_of_life_count_even_for_what_is_not_in_memory() {
    let mut stage = Stage::new(Settings { resident_max: 0, ..Settings::default() });
    let definition = task(json!({"HeartbeatSeconds": 10, "TimeoutSeconds": 600}));
    stage.start(&definition, "a").expect("starts");
    let task = stage.task();
    for _ in 0..5 {
        stage.pass(9 * SECOND);
        stage.heartbeat(&task).expect("it is awaited");
        stage.pass(0);
    }
    let before = stage.events("a").len();
    stage.pass(10 * SECOND - 1);
    assert_eq!(stage.standing("a"), Some(Standing::Running));
    stage.pass(1);
    assert_eq!(stage.standing("a"), Some(Standing::Failed));
    assert_eq!(before, 3, "no sign of life was written down");
    assert_eq!(stage.heartbeat(&task), Err(Error::Settled));
}

#[test]
fn after_a_restart_a_task_has_its_whole_interval_again() {
    let mut stage = Stage::new(Settings::default());
    stage
        .start(&task(json!({"HeartbeatSeconds": 10, "TimeoutSeconds": 600})), "a")
        .expect("starts");
    let mut stage = stage.restart_after(60 * SECOND);
    assert_eq!(stage.standing("a"), Some(Standing::Running));
    stage.pass(9 * SECOND);
    assert_eq!(stage.standing("a"), Some(Standing::Running));
    stage.pass(SECOND);
    assert_eq!(stage.standing("a"), Some(Standing::Failed));
}

#[test]
fn a_cancellation_that_a_crash_swallowed_is_said_again() {
    let mut stage = Stage::new(Settings::default());
    stage.start(&task(json!({})), "a").expect("starts");
    let (id, failure) = (ExecutionId::of("a"), Failure::default());
    let attempt = stage.task().attempt;
    // The message that it has been done never arrives.
    stage.shard.handle(
        Message::Stop { id, failure, reply: Box::new(|stopped| assert!(stopped.is_ok())) },
        stage.now_ms,
    );
    assert_eq!(stage.rows(Space::Outbox), 1);
    let stage = stage.restart_after(SECOND);
    assert_eq!(*locked(&stage.outside.cancelled), [attempt]);
    assert_eq!(stage.rows(Space::Outbox), 0);
}

/// Checks the notifications of an execution: its standing and its error.
fn check_notified(definition: &Value, end: impl FnOnce(&mut Stage), expected: &[(Standing, &str)]) {
    let mut stage = Stage::new(Settings::default());
    stage.start_with_destination(definition, "a").expect("starts");
    end(&mut stage);
    let notifications = stage.notifications();
    let notified: Vec<(Standing, &str)> = notifications
        .iter()
        .map(|notification| {
            (notification.ending.standing, notification.ending.error.as_deref().unwrap_or_default())
        })
        .collect();
    assert_eq!(notified, expected);
    assert!(notifications.iter().all(|notification| notification.ending.target == "function:f"));
}

#[test]
fn every_end_but_a_success_is_notified() {
    let fail = json!({"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "No"}}});
    check_notified(&fail, |_| {}, &[(Standing::Failed, "No")]);
    let mut slow = wait(3600);
    slow["TimeoutSeconds"] = json!(5);
    check_notified(
        &slow,
        |stage| stage.pass(5 * SECOND),
        &[(Standing::TimedOut, "States.Timeout")],
    );
    check_notified(&wait(3600), |stage| stage.stop("a"), &[(Standing::Aborted, "Enough")]);
    check_notified(&wait(0), |stage| stage.pass(0), &[]);
    check_notified(&wait(3600), |_| {}, &[]);
}

#[test]
fn a_failure_is_notified_until_it_is_acknowledged() {
    let mut stage = Stage::new(Settings::default());
    stage.start_with_destination(&task(json!({})), "a").expect("starts");
    stage.start(&task(json!({})), "b").expect("starts");
    stage.stop("a");
    stage.stop("b");
    let first = stage.notifications().pop().expect("it is notified");
    assert_eq!(stage.rows(Space::Outbox), 1, "the cancellations have been seen to");
    // The engine crashes during the delivery, and again before the next one.
    let mut stage = stage.restart_after(SECOND).restart_after(SECOND);
    let again = stage.notifications().pop().expect("it is notified again");
    assert_eq!((again.id(), &again.ending), (first.id(), &first.ending));
    again.delivered();
    stage.deliver();
    assert_eq!(stage.rows(Space::Outbox), 0);
    assert!(stage.restart_after(SECOND).notifications().is_empty());
}

#[test]
fn a_notification_that_did_not_arrive_is_retried_after_a_growing_pause() {
    let mut stage = Stage::new(Settings::default());
    stage.start_with_destination(&wait(3600), "a").expect("starts");
    stage.stop("a");
    let first = stage.notifications().pop().expect("it is notified");
    for pause in [SECOND, 2 * SECOND, 4 * SECOND] {
        first.retry();
        stage.deliver();
        stage.pass(pause - 1);
        assert!(stage.notifications().is_empty(), "not yet");
        stage.pass(1);
        let again = stage.notifications().pop().expect("it is retried");
        assert_eq!((again.id(), &again.ending), (first.id(), &first.ending));
    }
    first.delivered();
    stage.deliver();
    stage.pass(HOUR);
    assert!(stage.notifications().is_empty());
    assert_eq!(stage.rows(Space::Outbox), 0);
}

#[test]
fn notifications_beyond_the_bound_wait_in_the_store() {
    let mut settings = Settings::default();
    settings.shards.deliveries_max = 4;
    let mut stage = Stage::new(settings);
    for n in 0..10 {
        stage.start_with_destination(&wait(3600), &format!("e{n}")).expect("starts");
        stage.stop(&format!("e{n}"));
    }
    let mut stage = stage.restart_after(SECOND);
    let mut names = Vec::new();
    for _ in 0..10 {
        let notifications = stage.notifications();
        assert!(notifications.len() <= 4, "no more are in memory");
        for notification in notifications {
            notification.delivered();
            names.push(notification.execution_arn.to_string());
        }
        stage.deliver();
        stage.pass(1);
    }
    names.sort();
    assert_eq!(names, (0..10).map(|n| format!("e{n}")).collect::<Vec<_>>(), "each once");
    assert_eq!(stage.rows(Space::Outbox), 0);
}

#[test]
fn each_failure_of_a_redriven_execution_is_told_for_itself() {
    let mut stage = Stage::new(Settings::default());
    stage.start_with_destination(&wait(3600), "a").expect("starts");
    stage.stop("a");
    stage.pass(SECOND);
    stage.redrive("a");
    stage.stop("a");
    stage.redrive("a");
    stage.pass(HOUR);
    assert_eq!(stage.standing("a"), Some(Standing::Succeeded));
    let stage = stage.restart_after(SECOND);
    let notifications = stage.notifications();
    let redrives: Vec<u32> =
        notifications.iter().map(|notification| notification.ending.redrives).collect();
    assert_eq!(redrives, [0, 1]);
    assert!(
        notifications.iter().all(|notification| notification.ending.standing == Standing::Aborted)
    );
    assert_ne!(notifications[0].id(), notifications[1].id());
}

#[test]
fn what_was_not_told_goes_with_its_execution() {
    let mut stage = Stage::new(Settings { retention_ms: Some(DAY), ..Settings::default() });
    for name in ["a", "b"] {
        stage.start_with_destination(&wait(3600), name).expect("starts");
        stage.stop(name);
    }
    let old = stage.notifications();
    stage.delete("a");
    assert_eq!(stage.rows(Space::Outbox), 1);
    stage.pass(1);
    stage.start_with_destination(&wait(3600), "a").expect("the name is free");
    stage.stop("a");
    // What is said of the old execution does not count for the new one of its name.
    old.iter()
        .filter(|notification| &*notification.execution_arn == "a")
        .for_each(Notification::delivered);
    stage.deliver();
    assert_eq!(stage.rows(Space::Outbox), 2);
    stage.pass(DAY + 60 * SECOND);
    stage.sweep();
    assert_eq!((stage.rows(Space::Executions), stage.rows(Space::Outbox)), (0, 0));
}

#[test]
fn nothing_is_notified_before_it_is_durable() {
    let mut stage = Stage::new(Settings::default());
    stage.start_with_destination(&wait(5), "a").expect("starts");
    stage.disk.fail();
    let (id, failure) = (ExecutionId::of("a"), Failure::default());
    assert!(stage.ask(|reply| Message::Stop { id, failure, reply }).is_err());
    assert!(stage.notifications().is_empty());
}

#[test]
fn a_clock_that_is_not_trusted_removes_nothing() {
    let mut stage = Stage::new(Settings { retention_ms: Some(DAY), ..Settings::default() });
    let settings = stage.settings.clone();
    stage.start(&wait(0), "e").expect("starts");
    settings.shards.retention_limit.set(stage.now_ms + DAY / 2);
    stage.pass(100 * DAY);
    stage.sweep();
    assert_eq!(stage.rows(Space::Executions), 1);
    settings.shards.retention_limit.set(i64::MAX);
    stage.pass(60 * SECOND);
    stage.sweep();
    assert_eq!(stage.rows(Space::Executions), 0);
}

#[test]
fn what_is_over_is_kept_for_its_time_and_no_longer() {
    let mut stage = Stage::new(Settings { retention_ms: Some(DAY), ..Settings::default() });
    for n in 0..200 {
        stage.start(&wait(0), &format!("e{n}")).expect("starts");
    }
    stage.start(&wait(10 * 24 * 3600), "open").expect("starts");
    stage.pass(DAY - 1);
    assert_eq!(stage.rows(Space::Executions), 201);
    stage.pass(2 * 60 * SECOND);
    stage.sweep();
    for space in [Space::Executions, Space::Journal, Space::Lists, Space::Wakes] {
        assert_eq!(stage.rows(space), 1, "only what is open is left in {}", space.name());
    }
    assert_eq!(stage.rows(Space::Closed), 0);
    stage.pass(10 * DAY);
    stage.pass(2 * DAY);
    stage.sweep();
    assert_eq!(stage.rows(Space::Executions), 0);
}

#[test]
fn an_execution_of_many_steps_is_removed_in_parts() {
    let mut stage = Stage::new(Settings { retention_ms: Some(DAY), ..Settings::default() });
    let retry = json!([{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 700, "BackoffRate": 1}]);
    stage.start(&task(json!({"Retry": retry})), "long").expect("starts");
    for _ in 0..701 {
        let task = stage.task();
        let failure = Failure::new("No", "");
        stage.report(&task, Report::Failed { failure, stage: Default::default() }).expect("counts");
        stage.pass(SECOND);
    }
    assert_eq!(stage.standing("long"), Some(Standing::Failed));
    assert!(stage.rows(Space::Journal) > 1400);
    stage.pass(DAY + 60 * SECOND);
    stage.sweep();
    for space in Space::ALL {
        if space != Space::Catalog {
            assert_eq!(stage.rows(space), 0, "{}", space.name());
        }
    }
}

#[test]
fn nothing_is_acknowledged_once_the_disk_has_failed() {
    let mut stage = Stage::new(Settings::default());
    let definition = task(json!({}));
    stage.start(&definition, "a").expect("starts");
    let task = stage.task();
    stage.disk.fail();
    let output = Payload::new(json!(1));
    let refused = stage.report(&task, Report::Succeeded { output: output.clone() });
    assert!(matches!(refused, Err(Error::Failed(everstep_shards::Error::Store(_)))), "{refused:?}");
    let refused = stage.start(&definition, "b");
    assert!(matches!(refused, Err(Error::Failed(everstep_shards::Error::Store(_)))), "{refused:?}");
    assert_eq!(stage.dispatched(), 0);
    stage.disk.crash();
    let again = stage.start(&definition, "c");
    assert!(
        matches!(again, Err(Error::Failed(everstep_shards::Error::Store(_)))),
        "memory is ahead of the store: {again:?}"
    );
    let mut stage = stage.restart_after(SECOND);
    assert!(stage.task().again);
    stage.report(&task, Report::Succeeded { output: output.clone() }).expect("counts now");
    assert_eq!(stage.end("a").status, Status::Succeeded { output });
    assert_eq!(stage.standing("b"), None);
}

#[test]
fn an_engine_that_lost_its_shard_can_write_no_more() {
    let mut old = Stage::new(Settings::default());
    old.start(&task(json!({})), "a").expect("starts");
    let parts = Parts {
        store: old.disk.clone(),
        runner: Arc::new(Outside::default()),
        observer: Arc::new(Silent),
        settings: Settings::default(),
    };
    let shared = Arc::new(Shared::new(parts, Arc::new(Outside::default())));
    let _new = Shard::open(SHARD, shared, 8, old.now_ms).expect("takes over");
    let task = old.task();
    let refused = old.report(&task, Report::Succeeded { output: Payload::new(json!(1)) });
    let lost = everstep_store::Error::Unexpected { space: Space::Catalog };
    assert_eq!(refused, Err(Error::Failed(everstep_shards::Error::Store(lost))));
    assert_eq!(old.standing("a"), Some(Standing::Running));
}

/// A note that is on its way when its execution is removed is removed with it.
#[test]
fn nothing_is_left_of_a_note_that_was_on_its_way() {
    let slow = Behaviour { durable_at_once: false, ..AT_ONCE };
    let disk = Arc::new(CrashingStore::new(1, 7, slow));
    let mut stage = Stage::open(disk.clone(), Settings::default(), 1_700_000_000_000);
    let pass = json!({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}});
    let start = Start::new("e", stage.prepared(&pass), Payload::new(json!({})));
    let reply = Box::new(|_| {});
    let start = Message::Start { start: Box::new(start), reply, watcher: None };
    stage.shard.handle(start, stage.now_ms);
    disk.settle(usize::MAX);
    let id = ExecutionId::of("e");
    let notes = vec![Note { key: b"k".to_vec(), text: Some(b"text".to_vec()) }];
    stage.shard.handle(Message::Note { id, notes, reply: Box::new(|_| {}) }, stage.now_ms);
    let (sender, receiver) = std::sync::mpsc::channel();
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    stage.shard.handle(Message::Delete { id, reply }, stage.now_ms);
    for _ in 0..3 {
        disk.settle(usize::MAX);
        stage.deliver();
    }
    assert_eq!(receiver.try_recv(), Ok(Ok(())));
    let of_it = |key: &[u8]| key.windows(16).any(|part| part == id.bytes());
    assert!(!disk.durable().keys().any(|(.., key)| of_it(key)));
}

#[test]
fn what_was_started_first_resumes_first() {
    let mut stage = Stage::new(Settings::default());
    let names: Vec<String> = (0..200).map(|n| format!("e{n}")).collect();
    for name in &names {
        stage.start(&task(json!({})), name).expect("it starts");
        stage.now_ms += 1;
    }
    let stage = stage.restart_after(1000);
    let tasks = locked(&stage.outside.tasks);
    let order: Vec<_> = tasks.iter().map(|task| task.execution).collect();
    assert_eq!(order, names.iter().map(|name| ExecutionId::of(name)).collect::<Vec<_>>());
    assert!(tasks.iter().all(|task| task.again));
}
