//! A task that starts an execution and waits for it, in a small world that is busy at times and that crashes after
//! every step.

use everstep_executions::ExecutionId;
use everstep_history::{Failure, Payload};
use serde_json::json;

use super::*;
use crate::dice::Dice;

/// What the store has.
struct World {
    dice: Dice,
    now_ms: i64,
    /// How often an execution was started, and whether it is over.
    started: u32,
    over: bool,
    submitted: bool,
    result: Option<Result<Payload, Failure>>,
    cancelled: bool,
}

fn child() -> ExecutionId {
    ExecutionId::of("child")
}

fn output() -> Payload {
    Payload::new(json!("done"))
}

impl World {
    fn new(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let (now_ms, started, result) = (0, 0, None);
        let (over, submitted, cancelled) = (false, false, false);
        Self { dice, now_ms, started, over, submitted, result, cancelled }
    }

    fn is_busy(&mut self) -> bool {
        self.dice.below(3) == 0
    }

    fn answer(&mut self, request: Request) -> Input {
        let busy = self.is_busy();
        match request {
            Request::Call if busy => Input::Called(Err(Refusal::Busy)),
            Request::Call => {
                // The name of the execution is the same each time.
                self.started = 1;
                Input::Called(Ok(Called { output: output(), child: Some(child()) }))
            }
            Request::Submit(_) if busy => Input::Submitted(Err(Refusal::Busy)),
            Request::Submit(_) if self.cancelled => Input::Submitted(Err(Refusal::Settled)),
            Request::Submit(_) => {
                self.submitted = true;
                Input::Submitted(Ok(()))
            }
            Request::Watch(_) if busy => Input::Watched(Err(Refusal::Busy)),
            Request::Watch(id) => {
                assert_eq!(id, child());
                self.over = true;
                Input::Watched(Ok(()))
            }
            Request::Describe(_) if busy => Input::Described(None),
            Request::Describe(_) => Input::Described(Some(Ok(output()))),
            Request::Stop(_) if busy => Input::Stopped(Err(Busy)),
            Request::Stop(_) => {
                self.over = true;
                Input::Stopped(Ok(()))
            }
            Request::Finish(_) => unreachable!("it is seen to by its caller"),
        }
    }

    /// Drives the task until its end, with so many steps at most.
    fn drive(&mut self, steps: usize) {
        let (mut driver, first) = Driver::open();
        let mut request = Some(first);
        for _ in 0..steps {
            self.now_ms += 1;
            let input = match request.take() {
                Some(Request::Finish(result)) => {
                    self.result = result;
                    return;
                }
                Some(request) => self.answer(request),
                None => {
                    self.now_ms = driver.next_due_ms().expect("it waits for something");
                    Input::TimePassed
                }
            };
            request = driver.handle(input, self.now_ms);
        }
    }

    /// Sees to a cancellation, with so many steps at most; whether it was confirmed.
    fn cancel(&mut self, steps: usize) -> bool {
        let (mut cancel, first) = Cancel::open();
        let mut request = Some(first);
        for _ in 0..steps {
            self.now_ms += 1;
            let busy = self.is_busy();
            let input = match request.take() {
                Some(CancelRequest::Finish) => return true,
                Some(CancelRequest::Find) => CancelInput::Found((self.started > 0).then(child)),
                Some(CancelRequest::Stop(_)) if busy => CancelInput::Stopped(Err(Busy)),
                Some(CancelRequest::Stop(_)) => {
                    self.over = true;
                    CancelInput::Stopped(Ok(()))
                }
                None => {
                    self.now_ms = cancel.next_due_ms().expect("it waits for something");
                    CancelInput::TimePassed
                }
            };
            request = cancel.handle(input, self.now_ms);
        }
        false
    }
}

const STEPS_MAX: usize = 1000;

#[test]
fn a_task_ends_with_its_execution_whatever_is_interrupted() {
    for seed in 0..50 {
        for crash_at in 0..30 {
            let mut world = World::new(seed);
            world.drive(crash_at);
            world.drive(STEPS_MAX);
            assert_eq!((world.started, world.result), (1, Some(Ok(output()))));
            assert!(world.submitted && world.over);
        }
    }
}

#[test]
fn a_cancelled_task_leaves_no_execution_running() {
    for seed in 0..50 {
        for crash_at in 0..30 {
            let mut world = World::new(seed);
            world.drive(crash_at);
            world.cancelled = true;
            let _ = world.cancel(crash_at % 5);
            assert!(world.cancel(STEPS_MAX), "it is confirmed");
            assert!(world.started == 0 || world.over);
        }
    }
}

#[test]
fn an_execution_that_was_started_too_late_is_stopped() {
    let mut world = World::new(1);
    world.cancelled = true;
    world.drive(STEPS_MAX);
    assert_eq!((world.over, world.result), (true, None));
}

#[test]
fn a_call_that_does_not_wait_ends_with_its_answer() {
    let (mut driver, request) = Driver::open();
    assert_eq!(request, Request::Call);
    let called = Called { output: output(), child: None };
    let finish = Request::Finish(Some(Ok(output())));
    assert_eq!(driver.handle(Input::Called(Ok(called.clone())), 1), Some(finish));
    assert_eq!(driver.handle(Input::Called(Ok(called)), 2), None, "it was answered before");
}

#[test]
fn a_refused_call_fails_the_task() {
    let failure = Failure::new("Sfn.StateMachineDoesNotExistException", "no");
    let (mut driver, _) = Driver::open();
    let refused = Input::Called(Err(Refusal::Failed(failure.clone())));
    assert_eq!(driver.handle(refused, 1), Some(Request::Finish(Some(Err(failure)))));
}
