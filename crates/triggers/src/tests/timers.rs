//! Timers: A2 of the specification.

use serde_json::{Value, json};

use super::harness::{World, ms, timer, timer_plan};
use crate::item::Outcome;
use crate::plan::{Missed, Overlap, Timer};

const START: &str = "2026-01-01T00:00:30Z";

fn minutely(change: impl FnOnce(&mut Timer)) -> World {
    let mut timer = timer("0 * * * * *", "UTC");
    change(&mut timer);
    World::new(timer_plan(timer), START)
}

/// What each run was for, and whether that was past due.
fn scheduled(world: &World) -> Vec<(String, bool)> {
    let text = |event: &Value| event["scheduledFor"].as_str().unwrap_or_default().to_owned();
    let of = |event: Value| (text(&event), event["isPastDue"] == true);
    world.events().into_iter().map(of).collect()
}

fn at(times: &[(&str, bool)]) -> Vec<(String, bool)> {
    times.iter().map(|(time, late)| (format!("2026-01-01T{time}Z"), *late)).collect()
}

#[test]
fn a_timer_runs_at_its_ticks() {
    let mut world = minutely(|_| {});
    world.pass(180);
    assert_eq!(world.starts(START), [30, 90, 150]);
    assert_eq!(world.accepted(), ["20260101T000100Z", "20260101T000200Z", "20260101T000300Z"]);
    assert_eq!(world.standing().counters.succeeded, 3);
    assert_eq!(world.flight_rows(), 0);
}

/// A2.3: the machine was away for five minutes.
#[test]
fn missed_ticks_run_once_not_at_all_or_each() {
    let check = |missed, expected: &[(&str, bool)]| {
        let mut world = minutely(|timer| timer.missed = missed);
        world.pass(0);
        world.is_away(5 * 60_000);
        world.settle();
        assert_eq!(scheduled(&world), at(expected), "{missed:?}");
        world.pass(30);
        let later = scheduled(&world).split_off(expected.len());
        assert_eq!(later, at(&[("00:06:00", false)]), "{missed:?}: what follows is on time");
    };
    check(Missed::One, &[("00:01:00", true)]);
    check(Missed::Skip, &[]);
    let all = ["00:01:00", "00:02:00", "00:03:00", "00:04:00", "00:05:00"].map(|at| (at, true));
    check(Missed::All { limit: 100 }, &all);
    check(Missed::All { limit: 2 }, &all[..2]);
}

#[test]
fn runs_that_were_missed_do_not_overlap() {
    let mut world = minutely(|timer| timer.missed = Missed::All { limit: 3 });
    world.runs = Box::new(|_| (10_000, Outcome::Succeeded));
    world.pass(0);
    world.is_away(5 * 60_000);
    world.pass(60);
    assert_eq!(world.starts(START), [300, 310, 320, 330]);
}

/// A2.3: the first tick is noted at first sight.
#[test]
fn the_first_tick_of_a_new_timer_cannot_be_lost() {
    let mut world = minutely(|_| {});
    world.settle();
    world.is_away(45_000);
    world.settle();
    assert_eq!(scheduled(&world), at(&[("00:01:00", true)]));
}

/// A2.3: another schedule begins anew.
#[test]
fn a_new_schedule_misses_nothing() {
    let mut world = minutely(|_| {});
    world.pass(40);
    world.plan = timer_plan(timer("30 * * * * *", "UTC"));
    world.is_away(10 * 60_000);
    world.settle();
    assert_eq!(world.accepted().len(), 1, "{:?}", world.accepted());
    world.pass(60);
    assert_eq!(scheduled(&world)[1..], at(&[("00:11:30", false)]));
}

/// A2.3: killed when the acceptance is durable, before anything follows from it.
#[test]
fn a_tick_is_accepted_once_whatever_is_killed() {
    for point in 0..6 {
        let mut world = minutely(|_| {});
        world.pass(0);
        world.now_ms = ms("2026-01-01T00:01:00Z");
        world.happen();
        for _ in 0..point {
            world.perform(0);
        }
        world.is_away(0);
        world.pass(20);
        assert_eq!(world.accepted(), ["20260101T000100Z"], "killed after {point} requests");
        let counters = world.standing().counters;
        assert_eq!((counters.succeeded, counters.ended()), (1, 1), "{point}");
    }
}

fn every_ten_seconds(overlap: Overlap) -> World {
    let timer = Timer { overlap, ..timer("*/10 * * * * *", "UTC") };
    let mut world = World::new(timer_plan(timer), "2025-12-31T23:59:59Z");
    world.runs = Box::new(|_| (25_000, Outcome::Succeeded));
    world
}

/// A2.4: a run takes 25 seconds.
#[test]
fn runs_that_take_longer_than_the_interval() {
    let check = |overlap, expected: &[i64]| {
        let mut world = every_ten_seconds(overlap);
        world.pass(61);
        assert_eq!(world.starts("2026-01-01T00:00:00Z"), expected, "{overlap:?}");
        world
    };
    let coalesced = check(Overlap::Coalesce, &[0, 25, 50]);
    // Those that ran together with another.
    assert_eq!(coalesced.standing().counters.coalesced, 3);
    let skipped = check(Overlap::Skip, &[0, 30, 60]);
    assert_eq!(skipped.standing().counters.skipped, 4);
    let allowed = check(Overlap::Allow, &[0, 10, 20, 30, 40, 50, 60]);
    assert_eq!(allowed.standing().in_flight, 3);
}

/// A2.5: the retries of a tick are its invocation's; the timer waits for them, also after a crash.
#[test]
fn a_run_that_was_under_way_is_waited_for_after_a_crash() {
    let mut world = every_ten_seconds(Overlap::Coalesce);
    world.pass(6);
    assert_eq!(world.flight_rows(), 1);
    world.is_away(7000);
    world.pass(6);
    assert_eq!(world.starts("2026-01-01T00:00:00Z"), [0]);
    world.pass(10);
    assert_eq!(world.starts("2026-01-01T00:00:00Z"), [0, 25]);
}

#[test]
fn a_machine_that_has_slept_has_missed_ticks() {
    let mut world = minutely(|timer| timer.missed = Missed::All { limit: 2 });
    world.pass(0);
    world.now_ms += 5 * 60_000;
    world.settle();
    assert_eq!(scheduled(&world), at(&[("00:01:00", true), ("00:02:00", true)]));
    assert_eq!(world.standing().counters.skipped, 3);
}

/// A clock that is set back does not repeat a tick.
#[test]
fn a_clock_that_is_set_back_repeats_nothing() {
    let mut world = minutely(|_| {});
    world.pass(100);
    world.now_ms -= 90_000;
    world.is_away(0);
    world.pass(60);
    assert_eq!(world.accepted().len(), 2);
    world.pass(90);
    assert_eq!(world.accepted().len(), 3);
}

#[test]
fn a_schedule_may_end() {
    let mut world =
        World::new(timer_plan(timer("cron(0 0 1 1 ? 2026)", "UTC")), "2025-12-31T23:00:00Z");
    world.pass(7200);
    assert_eq!(world.accepted(), ["20260101T000000Z"]);
    assert_eq!(world.standing().next_ms, None);
}

/// A2.6
#[test]
fn a_run_may_come_with_the_start() {
    let timer = Timer { run_on_startup: true, ..timer("0 * * * * *", "UTC") };
    let mut plan = timer_plan(timer);
    plan.is_startup = true;
    let mut world = World::new(plan, START);
    world.settle();
    assert_eq!(world.accepted(), ["startup-20260101T000030Z"]);
    assert_eq!(world.events()[0]["scheduledFor"], Value::Null);
    world.plan.is_startup = false;
    world.is_away(1000);
    world.pass(30);
    assert_eq!(world.accepted(), ["startup-20260101T000030Z", "20260101T000100Z"]);
}

/// A2.6
#[test]
fn the_event_says_what_the_tick_is() {
    let mut world = minutely(|_| {});
    world.pass(40);
    world.is_away(60_000);
    world.settle();
    assert_eq!(
        world.events()[1],
        json!({
            "trigger": "t",
            "schedule": { "adjustForDST": true },
            "scheduleStatus": {
                "last": "2026-01-01T00:01:00Z",
                "lastUpdated": "2026-01-01T00:01:00Z",
                "next": "2026-01-01T00:03:00Z",
            },
            "isPastDue": true,
            "scheduledFor": "2026-01-01T00:02:00Z",
        })
    );
    assert_eq!(world.events()[0]["scheduleStatus"]["last"], Value::Null);
}

#[test]
fn schedules_of_aws_come_with_the_event_of_aws() {
    let mut world = World::new(timer_plan(timer("rate(1 minute)", "UTC")), START);
    world.pass(40);
    let mut event = world.events().remove(0);
    assert_eq!(event["id"], world.invocations.keys().next().expect("one").to_string());
    event["id"] = "ID".into();
    assert_eq!(
        event,
        json!({
            "version": "0",
            "id": "ID",
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": "123456789012",
            "time": "2026-01-01T00:01:00Z",
            "region": "us-east-1",
            "resources": ["arn:aws:events:us-east-1:123456789012:rule/t"],
            "detail": {},
            "trigger": "t",
            "schedule": { "adjustForDST": true },
            "scheduleStatus": { "last": null, "lastUpdated": null, "next": "2026-01-01T00:02:00Z" },
            "isPastDue": false,
            "scheduledFor": "2026-01-01T00:01:00Z",
        })
    );
    let given = Timer { input: Some(b"{\"n\":1}".to_vec()), ..timer("rate(1 minute)", "UTC") };
    let mut world = World::new(timer_plan(given), START);
    world.pass(40);
    assert_eq!(world.events(), [json!({ "n": 1 })]);
}

/// A2.2: Berlin, 02:30, on the days on which the clock is changed.
#[test]
fn a_time_that_is_left_out_or_repeated_runs_once() {
    let check = |start, expected: &str| {
        let mut world = World::new(timer_plan(timer("0 30 2 * * *", "Europe/Berlin")), start);
        world.pass(24 * 3600);
        assert_eq!(world.accepted(), [expected]);
    };
    check("2026-03-28T12:00:00Z", "20260329T010000Z");
    check("2026-10-24T12:00:00Z", "20261025T003000Z");
}

/// Two hours around a change of the clock, with a crash every few minutes: no tick is lost, none runs twice.
#[test]
fn timers_over_a_change_of_the_clock() {
    let schedules = [
        ("*/10 * * * * *", "Europe/Berlin"),
        ("0 * * * * *", "Europe/Berlin"),
        ("0 */7 * * * *", "America/New_York"),
        ("0 30 2 * * *", "Europe/Berlin"),
        ("0 15,45 1-3 * * *", "Europe/Berlin"),
        ("rate(5 minutes)", "UTC"),
        ("cron(0/20 * * * ? *)", "Europe/Berlin"),
    ];
    for begin in ["2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z"] {
        for (schedule, zone) in schedules {
            for crash_every_s in [0, 61, 427] {
                soak(schedule, zone, begin, crash_every_s);
            }
        }
    }
}

fn soak(schedule: &str, zone: &str, begin: &str, crash_every_s: i64) {
    let seconds = 2 * 3600;
    let own = Timer { missed: Missed::All { limit: 1000 }, ..timer(schedule, zone) };
    let next = |at_ms: &i64| own.schedule.next_after(*at_ms);
    let end_ms = ms(begin) + seconds * 1000;
    let ticks = std::iter::successors(own.schedule.next_after(ms(begin)), next);
    let expected: Vec<String> =
        ticks.take_while(|at_ms| *at_ms <= end_ms).map(crate::event::tick_id).collect();
    let mut world = World::new(timer_plan(own.clone()), begin);
    world.pass(0);
    let step = if crash_every_s == 0 { seconds } else { crash_every_s };
    while world.now_ms < end_ms {
        world.pass(step.min((end_ms - world.now_ms) / 1000));
        if crash_every_s > 0 {
            world.is_away(3000.min(end_ms - world.now_ms));
        }
    }
    world.settle();
    assert_eq!(world.accepted(), expected, "{schedule} {zone} {begin} {crash_every_s}");
    let standing = world.standing();
    assert_eq!(standing.accepted, expected.len() as u64);
    assert_eq!(standing.counters.succeeded, expected.len() as u64);
}
