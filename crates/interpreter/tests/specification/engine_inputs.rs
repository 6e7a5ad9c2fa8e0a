//! Inputs that come twice, late, together or to nobody.

use std::sync::Arc;

use everstep_interpreter::{
    Attempt, Dialect, Event, Execution, Failure, FailureStage, FrameId, Input, Limits, Occasion,
    Payload, Program, Refusal, Status,
};
use serde_json::{Value, json};

use crate::world::*;

fn succeeded(attempt: Attempt) -> Input {
    Input::TaskSucceeded { attempt, output: Payload::new(json!("again")) }
}

fn failed(attempt: Attempt) -> Input {
    let failure = Failure::new("Late", "too late");
    Input::TaskFailed { attempt, failure, stage: FailureStage::Run }
}

/// All that could be reported of an attempt.
fn reports_of(attempt: Attempt) -> Vec<Input> {
    vec![
        succeeded(attempt),
        failed(attempt),
        Input::TaskStarted { attempt, worker: None },
        Input::TaskSubmitted { attempt, output: Payload::new(json!(1)) },
        Input::MapRunFinished { attempt, children: Vec::new() },
        Input::MapRunFailed { attempt, failure: Failure::default() },
    ]
}

#[track_caller]
fn check_refused(run: &mut Run, attempt: Attempt, refusal: Refusal) {
    let before = run.execution.clone();
    assert!(!run.execution.awaits(attempt));
    for input in reports_of(attempt) {
        assert_eq!(run.give(input), Err(refusal), "{attempt:?}");
    }
    assert_eq!(run.execution.heartbeat(attempt, run.now_ms), Err(refusal));
    assert!(run.execution == before);
}

#[test]
fn a_result_for_an_attempt_that_is_over_changes_nothing() {
    let definition = machine(json!({
        "X": task(json!({ "Retry": [{ "ErrorEquals": ["A"] }], "Next": "W" })),
        "W": { "Type": "Wait", "Seconds": 10, "Next": "Y" },
        "Y": task(json!({}))
    }));
    let mut run =
        world(definition).task("X", [error("A"), ok(json!(1))]).task("Y", [ok(json!(2))]).run();
    for call in run.calls.clone() {
        check_refused(&mut run, call.attempt, Refusal::Ended);
    }
    check_refused(&mut run, Attempt { frame: FrameId(77), number: 0 }, Refusal::Ended);
    let unknown = Attempt { frame: FrameId::ROOT, number: 3 };
    check_refused(&mut run, unknown, Refusal::UnknownAttempt);
    assert_eq!(run.output(), json!(2));
}

#[test]
fn a_result_for_an_earlier_attempt_is_not_that_of_the_current_one() {
    let definition = machine(
        json!({ "X": task(json!({ "Retry": [{ "ErrorEquals": ["A"] }], "TimeoutSeconds": 50 })) }),
    );
    let mut execution = started(definition, json!({}));
    let [first, second] = [0, 1].map(|number| Attempt { frame: FrameId::ROOT, number });
    let fails = Input::TaskFailed {
        attempt: first,
        failure: Failure::new("A", ""),
        stage: FailureStage::Run,
    };
    execution.decide(fails, Occasion::new(START_MS, 2)).expect("it is awaited");
    execution.decide(Input::TimePassed, Occasion::new(START_MS + 1000, 3)).expect("a retry is due");
    let occasion = Occasion::new(START_MS + 2000, 4);
    for input in reports_of(first) {
        assert_eq!(execution.decide(input, occasion), Err(Refusal::StaleAttempt));
    }
    execution.decide(succeeded(second), occasion).expect("it is awaited");
    let output = Payload::new(json!("again"));
    assert_eq!(*execution.status(), Status::Succeeded { output });
}

#[test]
fn a_report_of_a_map_run_is_not_taken_for_one_of_a_task() {
    let execution = started(machine(json!({ "X": task(json!({})) })), json!({}));
    let attempt = Attempt { frame: FrameId::ROOT, number: 0 };
    for input in reports_of(attempt).split_off(4) {
        let mut copy = execution.clone();
        let decided = copy.decide(input, Occasion::new(START_MS, 1));
        assert_eq!(decided, Err(Refusal::WrongAttempt));
    }
}

#[test]
fn what_was_reported_before_changes_nothing() {
    let mut execution = started(machine(json!({ "X": task(json!({})) })), json!({}));
    let attempt = Attempt { frame: FrameId::ROOT, number: 0 };
    for input in [
        Input::TaskStarted { attempt, worker: None },
        Input::TaskSubmitted { attempt, output: Payload::new(json!(1)) },
    ] {
        let occasion = Occasion::new(START_MS, 1);
        assert_eq!(execution.decide(input.clone(), occasion).expect("the first").len(), 1);
        assert_eq!(execution.decide(input, occasion), Err(Refusal::Repeated));
    }
}

fn started(definition: Value, input: Value) -> Execution {
    let machine = compile(&definition);
    let program = Program { machine, dialect: Dialect::Spec, limits: Limits::default() };
    let mut execution = Execution::new(Arc::new(program), identity());
    let start = Input::Start { input: Payload::new(input) };
    execution.decide(start, Occasion::new(START_MS, 1)).expect("it starts");
    execution
}

#[test]
fn a_second_start_changes_nothing() {
    let mut execution = started(machine(json!({ "X": task(json!({})) })), json!({}));
    let again = Input::Start { input: Payload::new(json!({})) };
    let decided = execution.decide(again, Occasion::new(START_MS, 1));
    assert_eq!(decided, Err(Refusal::AlreadyStarted));
}

#[test]
fn nothing_happens_to_an_execution_that_has_not_started() {
    let machine = compile(&machine(json!({ "X": task(json!({})) })));
    let program = Program { machine, dialect: Dialect::Spec, limits: Limits::default() };
    let mut execution = Execution::new(Arc::new(program), identity());
    let attempt = Attempt { frame: FrameId::ROOT, number: 0 };
    let mut check = |input, refusal| {
        assert_eq!(execution.decide(input, Occasion::new(START_MS, 1)), Err(refusal));
    };
    for input in reports_of(attempt) {
        check(input, Refusal::UnknownAttempt);
    }
    check(Input::TimePassed, Refusal::NotStarted);
    check(Input::Stop { failure: Failure::default() }, Refusal::NotStarted);
    check(Input::Redrive, Refusal::NotRedrivable);
}

#[test]
fn nothing_but_a_redrive_happens_to_an_execution_that_has_ended() {
    let branch = |name: &str| machine(json!({ name: task(json!({})) }));
    let definition =
        machine(json!({ "P": parallel(json!([branch("L"), branch("R")]), json!({})) }));
    for stop in [false, true] {
        let world = world(definition.clone()).task("L", [Outcome::Hangs]);
        let world = world.task("R", [if stop { Outcome::Hangs } else { error("Broken") }]);
        let mut run = if stop { world.stop_after(5) } else { world }.run();
        assert!(!matches!(run.execution.status(), Status::Running));
        for call in run.calls.clone() {
            check_refused(&mut run, call.attempt, Refusal::Ended);
        }
        let stop = Input::Stop { failure: Failure::default() };
        let start = Input::Start { input: Payload::new(json!(1)) };
        assert_eq!(run.give(Input::TimePassed), Err(Refusal::Ended));
        assert_eq!(run.give(stop), Err(Refusal::Ended));
        assert_eq!(run.give(start), Err(Refusal::AlreadyStarted));
    }
}

#[test]
fn a_stop_ends_it_at_once_with_what_the_caller_said() {
    let definition = machine(json!({ "X": task(json!({
        "Retry": [{ "ErrorEquals": ["States.ALL"], "IntervalSeconds": 100 }],
        "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "X" }]
    })) }));
    let run = world(definition).task("X", [error("A")]).stop_after(5).run();
    assert_eq!(
        *run.execution.status(),
        Status::Aborted { failure: Failure::new("Stopped", "by hand") }
    );
    assert_eq!(run.seconds(), 5.0, "while it waited for a retry");
    assert_eq!(run.execution.next_due_ms(), None);
    assert_eq!(run.event_types().last().map(String::as_str), Some("ExecutionAborted"));
    check_history(&run);
}

#[test]
fn a_stop_cancels_the_tasks_that_run() {
    let definition =
        machine(json!({ "M": map(machine(json!({ "T": task(json!({})) })), json!({})) }));
    let run = world(definition)
        .input(json!([1, 2, 3]))
        .task("T", vec![Outcome::Hangs; 3])
        .stop_after(5)
        .run();
    assert_eq!(run.cancelled.len(), 3);
}

#[test]
fn all_that_is_due_happens_in_the_order_it_was_due() {
    let wait = |name: &str, seconds: u64| {
        machine(
            json!({ name: { "Type": "Wait", "Seconds": seconds, "Next": format!("{name}2") }, format!("{name}2"): pass(json!({})) }),
        )
    };
    let definition = machine(
        json!({ "P": parallel(json!([wait("A", 30), wait("B", 10), wait("C", 20)]), json!({})) }),
    );
    let mut execution = started(definition, json!({}));
    // The engine was away for an hour.
    let events = execution.decide(Input::TimePassed, Occasion::new(START_MS + 3_600_000, 2));
    let events = events.expect("three waits are over");
    let left = |event: &Event| match event {
        Event::StateExited { frame, next: Some(_), .. } => Some(frame.0),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(left).collect::<Vec<_>>(), [2, 3, 1]);
    assert!(matches!(execution.status(), Status::Succeeded { .. }));
}

#[test]
fn timers_do_not_fire_early() {
    let definition = machine(json!({ "W": { "Type": "Wait", "Seconds": 10, "End": true } }));
    let mut execution = started(definition, json!({}));
    assert_eq!(execution.next_due_ms(), Some(START_MS + 10_000));
    let mut at = |ms| execution.decide(Input::TimePassed, Occasion::new(START_MS + ms, 2));
    assert_eq!(at(9_999), Err(Refusal::NotDue));
    assert!(at(10_000).is_ok());
}

#[test]
fn a_timeout_and_a_heartbeat_due_together_are_one_failure() {
    let fields = json!({ "TimeoutSeconds": 6, "HeartbeatSeconds": 5 });
    let mut execution = started(machine(json!({ "X": task(fields) })), json!({}));
    let attempt = Attempt { frame: FrameId::ROOT, number: 0 };
    execution.heartbeat(attempt, START_MS + 1_000).expect("it is awaited");
    let events = execution.decide(Input::TimePassed, Occasion::new(START_MS + 6_000, 2));
    let events = events.expect("both are due");
    let timeouts = events.iter().filter(|event| matches!(event, Event::TaskTimedOut { .. }));
    assert_eq!(timeouts.count(), 1);
}

#[test]
fn several_deadlines_due_together_fail_a_parallel_state_once() {
    let branch = |name: &str| machine(json!({ name: task(json!({ "TimeoutSeconds": 5 })) }));
    let definition = machine(json!({
        "P": parallel(json!([branch("A"), branch("B"), branch("C")]), json!({ "Catch": [{ "ErrorEquals": ["States.Timeout"], "Next": "Y" }] })),
        "Y": { "Type": "Succeed" }
    }));
    let mut run = world(definition);
    for name in ["A", "B", "C"] {
        run = run.task(name, [Outcome::Hangs]);
    }
    let run = run.run();
    assert_eq!(run.output()["Error"], "States.Timeout");
    let count = |end: &str| run.event_types().iter().filter(|kind| kind.ends_with(end)).count();
    assert_eq!((count("TimedOut"), count("ParallelStateFailed")), (3, 1));
}

#[test]
fn each_item_whose_time_is_over_reports_its_own_timeout() {
    let inner = |retry: Value| {
        machine(json!({ "T": task(json!({ "TimeoutSeconds": 5, "Retry": retry })) }))
    };
    let hang = |count: usize| vec![Outcome::Hangs; count];
    let definition = |retry| machine(json!({ "M": map(inner(retry), json!({})) }));
    let run = world(definition(json!([]))).input(json!([1, 2, 3])).task("T", hang(3)).run();
    assert_eq!(run.error(), "States.Timeout");
    let types = run.event_types();
    let count = |kind: &str| types.iter().filter(|found| *found == kind).count();
    assert_eq!(count("LambdaFunctionTimedOut"), 3);
    assert_eq!((count("MapIterationFailed"), count("MapIterationAborted")), (1, 2));
    assert_eq!((count("MapStateFailed"), run.cancelled.len()), (1, 3));
    // Each is retried for itself.
    let retry = json!([{ "ErrorEquals": ["States.Timeout"], "MaxAttempts": 1 }]);
    let script = [hang(2), vec![ok(json!(1)), ok(json!(2))]].concat();
    let run = world(definition(retry)).input(json!([1, 2])).task("T", script).run();
    assert_eq!((run.output(), run.calls.len()), (json!([1, 2]), 4));
}

#[test]
fn an_execution_that_succeeded_holds_nothing_but_its_result() {
    let definition = machine(
        json!({ "M": map(machine(json!({ "T": pass(json!({ "Result": 1 })) })), json!({ "ResultSelector": { "n": 1 } })) }),
    );
    let big = Payload::new(Value::from(vec!["x".repeat(100); 100]));
    let program = Program {
        machine: compile(&definition),
        dialect: Dialect::Spec,
        limits: Limits::default(),
    };
    let mut execution = Execution::new(Arc::new(program), identity());
    let start = Input::Start { input: big };
    execution.decide(start, Occasion::new(START_MS, 1)).expect("it starts");
    assert!(matches!(execution.status(), Status::Succeeded { .. }));
    assert!(
        format!("{execution:?}").matches("xxxxx").count() <= 2000,
        "only the execution's input is left"
    );
}
