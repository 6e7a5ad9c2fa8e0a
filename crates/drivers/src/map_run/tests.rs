//! A Map Run in a small world of its own: an engine that answers in any order, that is busy at times and that crashes
//! after every step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use everstep_executions::{ExecutionId, Note, Report, Standing};
use everstep_history::{Attempt, Failure, FrameId, Payload};
use everstep_interpreter::Status as Ended;
use serde_json::json;

use super::record::{self, decoded};
use super::tally::Place;
use super::*;
use crate::dice::Dice;

const PARENT: &str = "arn:aws:states:r:1:execution:m:e";
const STEPS_MAX: usize = 10_000;

#[derive(Clone, Copy)]
struct Case {
    express: bool,
    children: u32,
    concurrency: u32,
    tolerated: u64,
    /// Children that fail until the run is redriven.
    failing: &'static [u32],
    /// The parent is stopped after so many steps.
    cancelled_at: Option<usize>,
    busy: bool,
    output_bytes_max: usize,
}

const CASE: Case = Case {
    express: false,
    children: 4,
    concurrency: 2,
    tolerated: 0,
    failing: &[],
    cancelled_at: None,
    busy: false,
    output_bytes_max: OUTPUT_BYTES_MAX,
};

/// Children that are surveyed at a time.
const SURVEYED: usize = 3;

/// A child as the engine has it.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    outcome: Option<Outcome>,
    stopped_ms: Option<i64>,
    /// How often it was started or redriven.
    runs: u32,
}

/// What the store keeps, and the engine that only memory has.
struct World {
    case: Case,
    dice: Dice,
    now_ms: i64,
    steps: usize,
    notes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// STANDARD children are durable; EXPRESS children are gone after a crash.
    children: BTreeMap<u32, Row>,
    /// How often each child has succeeded.
    successes: BTreeMap<u32, u32>,
    redrives: u32,
    cancelled: bool,
    asked: Vec<Request>,
    answers: Vec<Input>,
    watched: BTreeSet<u32>,
    /// EXPRESS children whose success was noted at some time.
    noted: BTreeSet<u32>,
    /// What the parent has got of the current attempt. It is durable.
    reported: Option<Report>,
    finished: bool,
}

impl World {
    fn new(case: Case, seed: u64) -> Self {
        Self {
            case,
            dice: Dice::new(seed),
            now_ms: 0,
            steps: 0,
            notes: BTreeMap::new(),
            children: BTreeMap::new(),
            successes: BTreeMap::new(),
            redrives: 0,
            cancelled: false,
            asked: Vec::new(),
            answers: Vec::new(),
            watched: BTreeSet::new(),
            noted: BTreeSet::new(),
            reported: None,
            finished: false,
        }
    }

    /// Drives the run to its end. After `crash_at` steps, all that only memory knows is lost once.
    fn run(&mut self, crash_at: Option<usize>) -> Option<Report> {
        let mut crashed = false;
        (self.finished, self.reported) = (false, None);
        let mut driver = self.open(false);
        loop {
            if !crashed && crash_at.is_some_and(|at| self.steps >= at) {
                crashed = true;
                self.crash();
                // An attempt with a result is not dispatched again.
                if self.reported.is_some() {
                    return self.reported.take();
                }
                if self.cancelled {
                    self.abort();
                    return None;
                }
                driver = self.open(true);
            }
            if self.finished {
                assert!(driver.is_over());
                return self.reported.take();
            }
            self.step(&mut driver);
            self.check(&driver);
        }
    }

    fn open(&mut self, again: bool) -> Driver {
        let plan = Plan {
            run_arn: "arn:aws:states:r:1:mapRun:m/each:e-1".to_owned(),
            execution_arn: PARENT.to_owned(),
            machine_arn: "arn:aws:states:r:1:stateMachine:m".to_owned(),
            state: "each".to_owned(),
            run: 1,
            attempt: Attempt { frame: FrameId::ROOT, number: 1 + self.redrives },
            redrives: self.redrives,
            settings: Settings {
                max_concurrency: self.case.concurrency,
                tolerated_count: Some(self.case.tolerated),
                tolerated_percentage: None,
            },
            express: self.case.express,
            items: (0..u64::from(self.case.children)).collect(),
            output_bytes_max: self.case.output_bytes_max,
            again,
        };
        let stored = Stored { record: self.record(), settings: None };
        let (driver, requests) = Driver::open(plan, stored, self.now_ms);
        self.asked.extend(requests);
        driver
    }

    fn record(&self) -> Option<Record> {
        let row = self.notes.get(&record::key(1, "record"))?;
        Some(decoded(row).expect("it was written"))
    }

    fn crash(&mut self) {
        self.asked.clear();
        self.answers.clear();
        self.watched.clear();
        self.finished = false;
        if self.case.express {
            self.children.retain(|_, row| row.outcome.is_some());
        }
    }

    fn step(&mut self, driver: &mut Driver) {
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "it comes to an end: {driver:?}");
        self.now_ms += 1;
        if self.case.cancelled_at == Some(self.steps) {
            self.cancelled = true;
            return self.feed(driver, Input::Cancelled);
        }
        let running: Vec<u32> = self.running().collect();
        let choices = self.asked.len() + self.answers.len() + running.len();
        if choices == 0 {
            let due_ms = driver.next_due_ms().expect("it waits for something");
            self.now_ms = self.now_ms.max(due_ms);
            return self.feed(driver, Input::TimePassed);
        }
        let choice = self.dice.below(choices);
        if choice < self.asked.len() {
            let request = self.asked.remove(choice);
            self.perform(request);
        } else if choice < self.asked.len() + self.answers.len() {
            let answer = self.answers.remove(choice - self.asked.len());
            self.feed(driver, answer);
        } else {
            let index = running[choice - self.asked.len() - self.answers.len()];
            self.end_child(index);
        }
    }

    fn feed(&mut self, driver: &mut Driver, input: Input) {
        let requests = driver.handle(input, self.now_ms);
        self.asked.extend(requests);
    }

    fn running(&self) -> impl Iterator<Item = u32> {
        self.children.iter().filter(|(_, row)| row.outcome.is_none()).map(|(index, _)| *index)
    }

    fn is_busy(&mut self) -> bool {
        self.case.busy && self.dice.below(3) == 0
    }

    fn perform(&mut self, request: Request) {
        let busy = self.is_busy();
        let answer = match request {
            Request::Write(_) if busy => Some(Input::Written(Err(Busy))),
            Request::Write(notes) => {
                self.write(notes);
                Some(Input::Written(Ok(())))
            }
            Request::Survey { children, outputs } => {
                let seen = children.take(SURVEYED).map(|index| match self.seen(index) {
                    Seen::Saved(saved) if !outputs => Seen::Saved(saved.without_output()),
                    Seen::Execution { standing, stopped_ms, .. } if !outputs => {
                        Seen::Execution { standing, stopped_ms, output: None }
                    }
                    seen => seen,
                });
                Some(Input::Surveyed(seen.collect()))
            }
            Request::Look(index) => Some(Input::Looked(index, self.seen(index))),
            Request::Start(index) if busy => Some(Input::Started(index, Err(Refusal::Busy))),
            Request::Start(index) => Some(Input::Started(index, self.start(index))),
            Request::Redrive(index) if busy => Some(Input::Redriven(index, Err(Refusal::Busy))),
            Request::Redrive(index) => Some(Input::Redriven(index, self.redrive(index))),
            Request::Watch(index) if busy => Some(Input::NotWatched(index, Refusal::Busy)),
            Request::Watch(index) => self.watch(index),
            Request::Stop(index) if busy => Some(Input::Stopped(index, Err(Busy))),
            Request::Stop(index) => {
                self.stop(index);
                Some(Input::Stopped(index, Ok(())))
            }
            Request::Report(report) if !self.cancelled => {
                assert!(self.reported.replace(report).is_none(), "it reports once");
                Some(Input::Reported { counts: true })
            }
            Request::Report(_) => Some(Input::Reported { counts: false }),
            Request::Finish => {
                assert!(!std::mem::replace(&mut self.finished, true), "it finishes once");
                None
            }
        };
        self.answers.extend(answer);
    }

    fn write(&mut self, notes: Vec<Note>) {
        assert!(notes.len() <= driver::NOTES_MAX, "a write is bounded");
        let bytes = |note: &Note| note.text.as_ref().map_or(0, Vec::len);
        let before_last = notes.iter().rev().skip(1).map(bytes).sum::<usize>();
        assert!(before_last < driver::NOTES_BYTES_MAX, "and so are its bytes");
        for Note { key, text } in notes {
            match text {
                Some(text) => self.notes.insert(key, text),
                None => self.notes.remove(&key),
            };
        }
        if self.case.express {
            let succeeded = (0..self.case.children).filter(|index| {
                let place = self.seen(*index).verdict(0, None);
                matches!(place, child::Verdict::Over(over) if over.standing == Standing::Succeeded)
            });
            let succeeded: Vec<u32> = succeeded.collect();
            self.noted.extend(succeeded);
        }
    }

    fn start(&mut self, index: u32) -> Result<(), Refusal> {
        assert!(!self.noted.contains(&index), "what is noted does not run again");
        // A redrive starts an EXPRESS child as another execution.
        let known = self.children.get(&index).map(|row| (row.outcome.is_some(), row.runs));
        let runs = match known {
            Some((true, runs)) if self.case.express => runs,
            Some(_) => return Err(Refusal::Unexpected),
            None => 0,
        };
        self.children.insert(index, Row { outcome: None, stopped_ms: None, runs: runs + 1 });
        self.watched.insert(index);
        self.check_concurrency();
        Ok(())
    }

    fn redrive(&mut self, index: u32) -> Result<(), Refusal> {
        let row = self.children.get_mut(&index).ok_or(Refusal::Unexpected)?;
        match &row.outcome {
            Some(outcome) if outcome.standing != Standing::Succeeded => {}
            _ => return Err(Refusal::Unexpected),
        }
        *row = Row { outcome: None, stopped_ms: None, runs: row.runs + 1 };
        self.check_concurrency();
        Ok(())
    }

    fn watch(&mut self, index: u32) -> Option<Input> {
        match self.children.get(&index) {
            None => Some(Input::NotWatched(index, Refusal::Unexpected)),
            Some(Row { outcome: Some(outcome), .. }) => Some(Input::Ended(index, outcome.clone())),
            Some(_) => {
                self.watched.insert(index);
                None
            }
        }
    }

    fn stop(&mut self, index: u32) {
        if self.children.get(&index).is_some_and(|row| row.outcome.is_none()) {
            self.over(index, Ended::Aborted { failure: Failure::default() });
        }
    }

    fn end_child(&mut self, index: u32) {
        if self.case.failing.contains(&index) && self.redrives == 0 {
            return self.over(index, Ended::Failed { failure: Failure::new("E", "why") });
        }
        *self.successes.entry(index).or_default() += 1;
        self.over(index, Ended::Succeeded { output: Payload::new(json!(index)) });
    }

    fn over(&mut self, index: u32, status: Ended) {
        let outcome = Outcome::of(status);
        let stopped_ms = Some(self.now_ms);
        let row = self.children.get_mut(&index).expect("it runs");
        (row.outcome, row.stopped_ms) = (Some(outcome.clone()), stopped_ms);
        if self.watched.remove(&index) {
            self.answers.push(Input::Ended(index, outcome));
        }
    }

    fn seen(&self, index: u32) -> Seen {
        if self.case.express {
            let row = self.notes.get(&record::outcome_key(1, index));
            return row.map_or(Seen::Absent, |row| Seen::Saved(decoded(row).expect("written")));
        }
        self.children.get(&index).map_or(Seen::Absent, |row| Seen::Execution {
            standing: row.outcome.as_ref().map_or(Standing::Running, |over| over.standing),
            stopped_ms: row.stopped_ms,
            output: row.outcome.as_ref().and_then(|outcome| outcome.output.clone()),
        })
    }

    fn check_concurrency(&self) {
        let max = self.case.concurrency as usize;
        assert!(max == 0 || self.running().count() <= max, "no more run than may");
    }

    fn check(&self, driver: &Driver) {
        let (tallies, children) = (driver.tallies(), u64::from(self.case.children));
        assert_eq!(tallies.executions.total(), children);
        assert_eq!(tallies.items.total(), (0..children).sum::<u64>());
    }

    fn abort(&mut self) {
        let Some(record) = self.record() else { return };
        let found = Found { execution: ExecutionId::of(PARENT), run: 1, record };
        let (mut abort, mut request) = Abort::open(found);
        for _ in 0..STEPS_MAX {
            self.now_ms += 1;
            let busy = self.is_busy();
            let input = match request {
                AbortRequest::ListRunning => {
                    let id = |index: u32| ExecutionId::of(&index.to_string());
                    let running = self.running().filter(|_| !self.case.express);
                    AbortInput::Running(running.map(id).take(2).collect())
                }
                AbortRequest::Stop(_) if busy => AbortInput::Stopped(Err(Busy)),
                AbortRequest::Stop(ids) => {
                    for index in 0..self.case.children {
                        if ids.contains(&ExecutionId::of(&index.to_string())) {
                            self.stop(index);
                        }
                    }
                    AbortInput::Stopped(Ok(()))
                }
                AbortRequest::ListAll => {
                    let seen = |index| (self.seen(index), u64::from(index));
                    let known = (0..self.case.children).map(seen);
                    AbortInput::Children(known.filter(|(seen, _)| *seen != Seen::Absent).collect())
                }
                AbortRequest::Write(_) if busy => AbortInput::Written(Err(Busy)),
                AbortRequest::Write(notes) => {
                    self.write(notes);
                    AbortInput::Written(Ok(()))
                }
                AbortRequest::Finish => return,
            };
            let next = abort.handle(input, self.now_ms);
            request = next.unwrap_or_else(|| {
                self.now_ms = abort.next_due_ms().expect("it waits");
                abort.handle(AbortInput::TimePassed, self.now_ms).expect("it is due")
            });
        }
        panic!("it comes to an end");
    }

    /// The tallies in the record are those of the children.
    fn check_record(&self, status: Status) {
        let Some(record) = self.record() else {
            return assert!(self.cancelled && self.children.is_empty());
        };
        assert_eq!(record.status, status);
        let mut expected = Tallies::default();
        for index in 0..self.case.children {
            let seen = self.children.get(&index).filter(|_| !self.case.express);
            let place = match (seen, self.seen(index)) {
                (Some(Row { outcome: Some(outcome), .. }), _) => Place::Over(outcome.standing),
                (None, Seen::Saved(saved)) => {
                    match Seen::Saved(saved).verdict(record.redrives, record.redriven_ms) {
                        child::Verdict::Over(outcome) => Place::Over(outcome.standing),
                        _ => Place::PendingRedrive,
                    }
                }
                // Their notes leave when they become part of the parent.
                (None, _) if status == Status::Succeeded => {
                    let failed = self.case.failing.contains(&index) && self.redrives == 0;
                    let standing = if failed { Standing::Failed } else { Standing::Succeeded };
                    Place::Over(standing)
                }
                (None, _) => Place::Pending,
                (Some(_), _) => panic!("child {index} runs after the end"),
            };
            expected.add(place, u64::from(index));
        }
        assert_eq!(record.tallies, expected);
    }
}

/// Runs a case with a crash after every one of its steps, in many orders.
fn check(case: Case, status: Status, each: impl Fn(&mut World, Option<Report>)) {
    for seed in 0..20 {
        let mut crash_at = None;
        loop {
            let mut world = World::new(case, seed);
            let report = world.run(crash_at);
            world.check_record(status);
            let steps = world.steps;
            each(&mut world, report);
            match crash_at {
                Some(at) if at >= steps => break,
                at => crash_at = Some(at.map_or(0, |at| at + 1)),
            }
        }
    }
}

fn failure(report: Option<Report>) -> Failure {
    match report {
        Some(Report::MapRunFailed { failure }) => failure,
        other => panic!("it has failed: {other:?}"),
    }
}

fn finished(report: Option<Report>) -> Vec<Result<Payload, Failure>> {
    match report {
        Some(Report::MapRunFinished { children }) => children,
        other => panic!("it has finished: {other:?}"),
    }
}

#[test]
fn all_children_run_and_their_results_are_reported() {
    for (express, busy) in [(false, false), (false, true), (true, false), (true, true)] {
        check(Case { express, busy, ..CASE }, Status::Succeeded, |world, report| {
            let expected = (0..4).map(|index| Ok(Payload::new(json!(index))));
            assert_eq!(finished(report), expected.collect::<Vec<_>>());
            if !express {
                assert!(world.successes.values().all(|times| *times == 1), "each runs once");
            }
        });
    }
}

/// The array of the results is `[0,1,2,3]`.
#[test]
fn results_that_the_parent_can_take_are_reported() {
    for express in [false, true] {
        let case = Case { express, output_bytes_max: 9, ..CASE };
        check(case, Status::Succeeded, |_, report| assert_eq!(finished(report).len(), 4));
    }
}

#[test]
fn results_that_are_too_large_fail_the_run_when_all_children_are_over() {
    for (express, output_bytes_max) in [(false, 8), (false, 2), (true, 8), (true, 2)] {
        let case = Case { express, output_bytes_max, ..CASE };
        check(case, Status::Failed, |world, report| {
            let error = failure(report).error;
            assert_eq!(error.as_deref(), Some("States.DataLimitExceeded"));
            assert_eq!(world.successes.len(), 4, "all children have run");
            // A redrive finds the same children.
            let successes = world.successes.clone();
            world.redrives = 1;
            world.now_ms += 1;
            let at = world.steps + world.dice.below(8);
            let error = failure(world.run(Some(at))).error;
            assert_eq!(error.as_deref(), Some("States.DataLimitExceeded"));
            assert_eq!(world.successes, successes, "and runs none again");
        });
    }
}

/// What has failed is reported by that, however large the other results are.
#[test]
fn too_many_failures_come_before_results_that_are_too_large() {
    let case = Case { failing: &[3], output_bytes_max: 2, ..CASE };
    check(case, Status::Failed, |_, report| {
        let error = failure(report).error;
        assert_eq!(error.as_deref(), Some("States.ExceedToleratedFailureThreshold"));
    });
}

/// An EXPRESS run without crashes, whose children all end before anything is written.
fn written_at_once(children: u32, output: &str, output_bytes_max: usize) -> (usize, usize) {
    let case = Case { express: true, children, concurrency: 0, output_bytes_max, ..CASE };
    let mut world = World::new(case, 1);
    let mut driver = world.open(false);
    let mut requests: VecDeque<Request> = world.asked.drain(..).collect();
    let (mut writes, mut bytes) = (0, 0);
    while let Some(request) = requests.pop_front() {
        let input = match request {
            Request::Write(notes) => {
                writes += 1;
                bytes +=
                    notes.iter().filter_map(|note| note.text.as_ref()).map(Vec::len).sum::<usize>();
                world.write(notes);
                Input::Written(Ok(()))
            }
            Request::Start(index) => {
                let output = Payload::new(json!(output));
                requests.extend(driver.handle(Input::Started(index, Ok(())), 1));
                Input::Ended(index, Outcome::of(Ended::Succeeded { output }))
            }
            Request::Report(_) => Input::Reported { counts: true },
            _ => continue,
        };
        requests.extend(driver.handle(input, 1));
    }
    assert!(driver.is_over());
    (writes, bytes)
}

#[test]
fn notes_are_written_and_removed_in_bounded_parts() {
    // The record twice, 2,500 outcomes in at least three parts, and their removals in as many.
    let (writes, _) = written_at_once(2500, "x", OUTPUT_BYTES_MAX);
    assert!((2 + 3 + 3..20).contains(&writes), "{writes}");
    let (writes, bytes) = written_at_once(40, &"x".repeat(200_000), OUTPUT_BYTES_MAX);
    assert!(bytes > 8_000_000 && writes > 2 + 8, "{writes}");
}

#[test]
fn notes_are_bounded_by_what_the_parent_can_take() {
    let (_, bytes) = written_at_once(1000, &"x".repeat(100_000), 1_000_000);
    assert!(bytes < 1_500_000, "{bytes} of 100,000,000");
}

#[test]
fn a_run_without_children_ends() {
    check(Case { children: 0, ..CASE }, Status::Succeeded, |_, report| {
        assert_eq!(finished(report), []);
    });
}

#[test]
fn tolerated_failures_are_reported_as_results() {
    for express in [false, true] {
        let case = Case { express, failing: &[1], tolerated: 1, ..CASE };
        check(case, Status::Succeeded, |_, report| {
            let failed: Vec<bool> = finished(report).iter().map(Result::is_err).collect();
            assert_eq!(failed, [false, true, false, false]);
        });
    }
}

#[test]
fn too_many_failures_end_the_run_and_a_redrive_runs_the_rest() {
    for (express, busy) in [(false, false), (false, true), (true, false), (true, true)] {
        let case = Case { express, busy, failing: &[2], ..CASE };
        check(case, Status::Failed, |world, report| {
            assert!(matches!(report, Some(Report::MapRunFailed { .. })));
            world.redrives = 1;
            world.now_ms += 1;
            let at = world.steps + world.dice.below(20);
            let results = finished(world.run(Some(at)));
            assert!(results.iter().all(Result::is_ok));
            world.check_record(Status::Succeeded);
            if !express {
                assert!(world.successes.values().all(|times| *times == 1), "none runs again");
            }
        });
    }
}

#[test]
fn a_cancelled_run_stops_its_children() {
    for (express, busy) in [(false, false), (false, true), (true, false), (true, true)] {
        for cancelled_at in 1..12 {
            let cancelled_at = Some(cancelled_at);
            let case = Case { express, busy, cancelled_at, ..CASE };
            check(case, Status::Aborted, |world, report| {
                assert_eq!(report, None);
                assert_eq!(world.running().count(), 0);
            });
        }
    }
}

#[test]
fn other_settings_count_at_once() {
    let mut world = World::new(Case { concurrency: 1, ..CASE }, 1);
    let mut driver = world.open(false);
    let started = |requests: &[Request]| {
        requests.iter().filter(|request| matches!(request, Request::Start(_))).count()
    };
    assert_eq!(started(&driver.handle(Input::Written(Ok(())), 1)), 1);
    let settings =
        Settings { max_concurrency: 3, tolerated_count: None, tolerated_percentage: None };
    assert_eq!(started(&driver.handle(Input::Changed(settings), 2)), 2);
}

#[test]
fn no_more_children_run_than_the_engine_takes() {
    let case = Case { children: 10_001, concurrency: 20_000, ..CASE };
    let mut driver = World::new(case, 1).open(false);
    assert_eq!(driver.handle(Input::Written(Ok(())), 1).len(), CHILDREN_MAX);
}

/// A child whose time is over is refused until it is removed: its driver pauses meanwhile.
#[test]
fn a_child_that_is_being_removed_is_not_asked_for_without_end() {
    let mut world = World::new(Case { children: 1, failing: &[0], ..CASE }, 1);
    world.run(None);
    world.redrives = 1;
    world.now_ms += 1;
    let mut driver = world.open(false);
    driver.handle(Input::Written(Ok(())), 1);
    let failed = Seen::Execution { standing: Standing::Failed, stopped_ms: Some(0), output: None };
    let requests = driver.handle(Input::Surveyed(vec![failed.clone()]), 2);
    assert_eq!(requests, [Request::Redrive(0)]);
    let requests = driver.handle(Input::Redriven(0, Err(Refusal::Unexpected)), 3);
    assert_eq!(requests, [Request::Look(0)]);
    assert_eq!(driver.handle(Input::Looked(0, failed), 4), []);
    let due = driver.next_due_ms().expect("a pause");
    assert_eq!(driver.handle(Input::TimePassed, due), [Request::Redrive(0)]);
}
