//! Attempts, delays, age, concurrency.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use everstep_retry::{Class, Delay};

use super::harness::{
    Harness, START_MS, error, fails, fixed, holds, locked, policy, settings, success,
};
use crate::message::Message;
use crate::{Interrupted, Outcome, RetryMetadata, State, What};

/// How an always or at first failing function is run: seconds of its starts, its state at the end.
fn check(policy: everstep_retry::Policy, fails_first: u32, starts: &[f64], state: &str) {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", policy), fails(fails_first));
    let id = harness.accept("f", "{}");
    harness.pass(100_000.0);
    assert_eq!(harness.starts("f"), starts);
    assert_eq!(harness.stands(id), (state, u32::try_from(starts.len()).expect("few")));
    assert!(harness.invocation(id).is_routed());
}

#[test]
fn a_policy_is_followed_to_the_second() {
    check(fixed(4, 2), 2, &[0.0, 2.0, 4.0], "Succeeded");
    check(fixed(4, 0), 9, &[0.0; 5], "Exhausted");
    check(fixed(0, 5), 9, &[0.0], "Exhausted");
    let lambda = policy(Some(2), Delay::Listed { ms: vec![60_000, 120_000] });
    check(lambda, 9, &[0.0, 60.0, 180.0], "Exhausted");
    // Beyond what is held in memory.
    check(fixed(3, 3600), 9, &[0.0, 3600.0, 7200.0, 10_800.0], "Exhausted");
}

#[test]
fn an_event_that_would_be_too_old_is_given_up_ahead() {
    let mut harness = Harness::new();
    let lambda = policy(Some(2), Delay::Listed { ms: vec![60_000, 120_000] });
    let mut aged = settings("f", lambda);
    aged.event_age_max_ms = Some(60_000);
    harness.script.set("f", aged, fails(9));
    let id = harness.accept("f", "{}");
    harness.pass(500.0);
    assert_eq!(harness.stands(id), ("Expired", 1));
    let ended_ms = harness.invocation(id).ended_ms;
    assert_eq!(ended_ms, Some(START_MS), "at once, not after a minute");
}

#[test]
fn without_a_limit_it_is_retried_until_it_is_cancelled() {
    let mut harness = Harness::new();
    let forever = policy(None, Delay::Fixed { ms: 60_000 });
    harness.script.set("f", settings("f", forever), fails(u32::MAX));
    let id = harness.accept("f", "{}");
    harness.pass(60.0 * 80.0);
    let invocation = harness.invocation(id);
    assert_eq!((invocation.attempts.started(), invocation.attempts.left_out()), (81, 56));
    assert!(matches!(invocation.state, State::Waiting { .. }));
    let reply = harness.ask(|reply| Message::Cancel { id, reply });
    assert_eq!(reply.try_recv(), Ok(Ok(())));
    harness.pass(600.0);
    assert_eq!(harness.stands(id), ("Cancelled", 81));
}

#[test]
fn what_runs_is_killed_when_it_is_cancelled_and_its_result_is_stale() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(2, 0)), holds());
    let id = harness.accept("f", "{}");
    harness.settle();
    drop(harness.ask(|reply| Message::Cancel { id, reply }));
    let (attempt, done) = locked(&harness.script.running).pop_front().expect("it runs");
    assert_eq!(*locked(&harness.script.killed), [attempt.id]);
    let (sender, receipt) = std::sync::mpsc::channel();
    done(success("1").expect("an outcome"), Box::new(move |answer| drop(sender.send(answer))));
    harness.settle();
    assert_eq!(receipt.try_recv(), Ok(Err(crate::Error::StaleResult)));
    assert_eq!(*locked(&harness.notes.0), ["StaleResult"]);
    assert_eq!(harness.stands(id), ("Cancelled", 1));
}

#[test]
fn waiting_holds_no_slot_and_no_memory() {
    let mut harness = Harness::new();
    let mut two = settings("f", fixed(1, 60));
    two.concurrency = 2;
    harness.script.set("f", two, fails(9));
    harness.script.set("g", settings("g", fixed(0, 0)), fails(0));
    for _ in 0..500 {
        harness.accept("f", "{}");
    }
    harness.pass(1.0);
    assert_eq!(harness.starts("f").len(), 500);
    assert!(harness.shards.iter().all(|shard| shard.resident() == 0), "rows only");
    harness.accept("g", "{}");
    harness.settle();
    assert_eq!(harness.starts("g"), [1.0]);
    harness.pass(120.0);
    assert_eq!(harness.starts("f").len(), 1000);
    assert_eq!(harness.script.running_most.load(Ordering::Relaxed), 2);
}

#[test]
fn a_slot_is_waited_for_without_being_counted() {
    let mut harness = Harness::new();
    let mut one = settings("f", fixed(0, 0));
    one.concurrency = 1;
    harness.script.set("f", one.clone(), holds());
    let first = harness.accept("f", "{}");
    let second = harness.accept("f", "{}");
    harness.settle();
    assert_eq!((harness.stands(first), harness.stands(second)), (("Running", 1), ("Accepted", 0)));
    harness.script.set("f", one, fails(0));
    for _ in 0..50 {
        harness.accept("f", "{}");
    }
    harness.settle();
    let all = harness.all(&crate::Filter::default());
    assert_eq!(all.len(), 52);
    assert!(all.iter().all(|one| one.state == State::Succeeded && one.attempts.started() == 1));
    let order: Vec<_> =
        locked(&harness.script.lines).iter().map(|l| l.attempt.invocation).collect();
    assert_eq!(order[..2], [first, second], "first come, first served");
}

#[test]
fn throttling_and_a_missing_function_do_not_count() {
    let mut harness = Harness::new();
    let times = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let behaviour = Arc::new(move |_: &crate::Attempt| {
        let throttled = times.fetch_add(1, Ordering::Relaxed) < 3;
        if throttled { Some(Outcome::Throttled) } else { success("1") }
    });
    harness.script.set("f", settings("f", fixed(0, 0)), behaviour);
    let id = harness.accept("f", "{}");
    harness.pass(100.0);
    assert_eq!(harness.starts("f"), [0.0, 1.0, 3.0, 7.0]);
    assert_eq!(harness.stands(id), ("Succeeded", 1));
    assert_eq!(harness.invocation(id).throttled, 3);

    harness.script.set("g", settings("g", fixed(1, 10)), fails(1));
    let id = harness.accept("g", "{}");
    harness.settle();
    harness.script.remove("g");
    harness.pass(11.0);
    assert_eq!(harness.stands(id), ("Waiting", 1));
    harness.script.set("g", settings("g", fixed(1, 10)), fails(1));
    harness.pass(11.0);
    assert_eq!(harness.stands(id), ("Succeeded", 2));
}

#[test]
fn some_errors_are_never_tried_again() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(5, 0)), Arc::new(|_| error("Never")));
    let id = harness.accept("f", "{}");
    harness.settle();
    assert_eq!(harness.stands(id), ("Exhausted", 1));
    assert_eq!(harness.invocation(id).state.reason(), Some(crate::Reason::NonRetryable));
}

#[test]
fn the_code_is_told_about_its_retries() {
    let mut harness = Harness::new();
    let mut unum = settings("f", fixed(2, 0));
    unum.terms.retry_metadata = RetryMetadata::Unum;
    harness.script.set("f", unum, fails(9));
    harness.script.set("g", settings("g", fixed(2, 0)), fails(9));
    let id = harness.accept("f", "{\"a\":1}");
    harness.settle();
    let lines = locked(&harness.script.lines).clone();
    let contexts: Vec<&str> =
        lines.iter().map(|line| line.attempt.client_context.as_str()).collect();
    let first = "{\"custom\":{\"everstep.retryCount\":\"0\",\"everstep.maxRetryCount\":\"2\",\
                 \"everstep.attempt\":\"1\",\"everstep.idempotencyKey\":\"ID\"}}";
    let later = |count: u32| {
        format!(
            "{{\"custom\":{{\"everstep.retryCount\":\"{count}\",\"everstep.maxRetryCount\":\"2\",\
             \"everstep.attempt\":\"{}\",\"everstep.lastErrorType\":\"E\",\
             \"everstep.lastErrorMessage\":\"E happened\",\"everstep.idempotencyKey\":\"{id}\"}}}}",
            count + 1
        )
    };
    assert_eq!(contexts, [first.replace("ID", &id.to_string()), later(1), later(2)]);
    let events: Vec<_> = lines
        .iter()
        .map(|line| String::from_utf8_lossy(&line.attempt.payload).into_owned())
        .collect();
    let unum = |n: u32| {
        format!(
            "{{\"a\":1,\"Retry Number\":{n},\"ErrorType\":\"User\",\"ErrorMessage\":\"E happened\",\
             \"StackTrace\":\"line 1\"}}"
        )
    };
    assert_eq!(events, ["{\"a\":1}".to_owned(), unum(1), unum(2)]);
    harness.accept("g", "{\"a\": 1}");
    harness.settle();
    let lines = locked(&harness.script.lines);
    assert!(lines[3..].iter().all(|line| &*line.attempt.payload == b"{\"a\": 1}"), "untouched");
}

#[test]
fn a_history_can_be_shown() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(4, 2)), fails(2));
    let id = harness.accept("f", "{}");
    harness.pass(10.0);
    let history: Vec<(i64, What)> = harness
        .invocation(id)
        .history()
        .into_iter()
        .map(|happened| (happened.at_ms - START_MS, happened.what))
        .collect();
    let failed = |n| What::AttemptFailed { n, error: "E".to_owned() };
    let retry = |n, at| What::RetryScheduled { n, due_ms: START_MS + at };
    let expected = [
        (0, What::InvocationAccepted),
        (0, What::AttemptStarted { n: 1 }),
        (0, failed(1)),
        (0, retry(2, 2000)),
        (2000, What::AttemptStarted { n: 2 }),
        (2000, failed(2)),
        (2000, retry(3, 4000)),
        (4000, What::AttemptStarted { n: 3 }),
        (4000, What::InvocationSucceeded),
    ];
    assert_eq!(history, expected);
}

#[test]
fn what_waited_is_run_after_a_restart_and_counts_go_on() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(4, 10)), fails(9));
    let id = harness.accept("f", "{}");
    harness.pass(15.0);
    harness.open();
    harness.pass(1.0);
    assert_eq!(harness.starts("f"), [0.0, 10.0]);
    harness.set_now(START_MS + 25_000);
    harness.open();
    harness.pass(1000.0);
    assert_eq!(harness.starts("f"), [0.0, 10.0, 25.0, 35.0, 45.0], "overdue: at once");
    assert_eq!(harness.stands(id), ("Exhausted", 5));
}

#[test]
fn what_was_running_is_repeated() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), holds());
    let id = harness.accept("f", "{}");
    harness.settle();
    for interruptions in 1..=5 {
        harness.open();
        harness.settle();
        let invocation = harness.invocation(id);
        let attempt = invocation.attempts.latest().expect("it has begun");
        assert_eq!((attempt.outcome(), attempt.interruptions), ("Running", interruptions));
        assert_eq!(harness.stands(id), ("Running", 1));
    }
    let lines = locked(&harness.script.lines).clone();
    assert!(lines.iter().all(|line| line.attempt == lines[0].attempt), "number, id and event");
    harness.open();
    harness.settle();
    let invocation = harness.invocation(id);
    let attempt = invocation.attempts.latest().expect("it has begun");
    let failure = attempt.failure.as_ref().expect("it has failed");
    assert_eq!(
        (failure.error_type.as_str(), failure.class),
        ("Runtime.Interrupted", Class::Runtime)
    );
    assert_eq!((harness.stands(id), attempt.interruptions), (("Exhausted", 1), 6));
    assert_eq!((harness.starts("f").len(), invocation.dead), (6, true));
}

#[test]
fn after_a_restart_the_oldest_runs_first() {
    let mut harness = Harness::new();
    let one = crate::FunctionSettings { concurrency: 1, ..settings("f", fixed(0, 0)) };
    harness.script.set("f", one, fails(0));
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(harness.accept("f", "{}"));
        harness.set_now(harness.now_ms() + 1);
    }
    harness.open();
    // All shards look at what they have before the first attempt ends.
    harness.wake();
    harness.settle();
    let lines = locked(&harness.script.lines).clone();
    let order: Vec<_> = lines.iter().map(|line| line.attempt.invocation).collect();
    // One has the slot before the others are looked at.
    let first = ids.iter().position(|id| *id == order[0]).expect("it was accepted");
    let running = ids.remove(first);
    assert_eq!((order[0], &order[1..]), (running, &ids[..]));
}

#[test]
fn what_no_worker_took_was_not_interrupted() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let id = harness.accept("f", "{}");
    for _ in 0..20 {
        harness.open();
        harness.wake();
        assert_eq!(harness.stands(id), ("Accepted", 0), "it waits for a worker");
    }
    assert!(harness.starts("f").is_empty());
    harness.settle();
    let invocation = harness.invocation(id);
    assert_eq!((harness.stands(id), invocation.interruptions), (("Succeeded", 1), 0));
}

#[test]
fn interruptions_count_if_that_is_wanted() {
    let mut harness = Harness::new();
    let mut f = settings("f", fixed(1, 10));
    f.terms.interrupted = Interrupted::Count;
    harness.script.set("f", f, holds());
    let id = harness.accept("f", "{}");
    harness.settle();
    harness.open();
    harness.pass(11.0);
    harness.open();
    harness.settle();
    let invocation = harness.invocation(id);
    let outcomes: Vec<_> = invocation.attempts.kept().map(|attempt| attempt.outcome()).collect();
    assert_eq!(outcomes, ["Interrupted", "Interrupted"]);
    assert_eq!(harness.stands(id), ("Exhausted", 2));
    assert_eq!(harness.starts("f").len(), 2);
}

#[test]
fn what_is_old_is_removed() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    harness.script.set("g", settings("g", fixed(0, 0)), fails(1));
    for _ in 0..100 {
        harness.accept("f", "{}");
    }
    let dead = harness.accept("g", "{}");
    harness.pass(60.0 * 60.0 * 24.0 * 6.0);
    assert_eq!(harness.all(&crate::Filter::default()).len(), 101);
    harness.pass(60.0 * 60.0 * 24.0 * 2.0);
    let left: Vec<_> = harness.all(&crate::Filter::default()).iter().map(|one| one.id).collect();
    assert_eq!(left, [dead], "dead letters are kept until they are redriven or purged");
}
