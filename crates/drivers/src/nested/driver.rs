//! Makes a call and ends the task with its answer, or with the end of the execution that the call started.

use everstep_executions::ExecutionId;
use everstep_history::{Failure, Payload};

use super::{Busy, PAUSE_MS};

/// All that can reach a driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Answers [`Request::Call`].
    Called(Result<Called, Refusal>),
    /// Answers [`Request::Submit`].
    Submitted(Result<(), Refusal>),
    /// Answers [`Request::Watch`]: the execution is over.
    Watched(Result<(), Refusal>),
    /// Answers [`Request::Describe`]: how the task ends, or nothing if the execution was redriven meanwhile.
    Described(Option<Result<Payload, Failure>>),
    /// Answers [`Request::Stop`]. An execution that is over or gone counts as stopped.
    Stopped(Result<(), Busy>),
    /// It is [`Driver::next_due_ms`] or later.
    TimePassed,
}

/// A call that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub output: Payload,
    /// The execution that the task waits for.
    pub child: Option<ExecutionId>,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    Busy,
    /// The call is invalid, or the execution does not exist: the task fails.
    Failed(Failure),
    /// Nobody waits for the task any more.
    Settled,
}

/// All that a driver asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Makes the call; a start is idempotent.
    Call,
    /// Records that the execution was started.
    Submit(Payload),
    /// Waits for the end of an execution.
    Watch(ExecutionId),
    /// Reads how an execution ended.
    Describe(ExecutionId),
    /// Stops an execution, if this task has started it.
    Stop(ExecutionId),
    /// Ends the task, if it is still wanted. The driver is not needed any more.
    Finish(Option<Result<Payload, Failure>>),
}

#[derive(Debug)]
pub struct Driver {
    state: State,
    paused_until_ms: Option<i64>,
}

/// What it waits for: each state has one request under way, or pauses before it asks again.
#[derive(Debug, Clone, PartialEq)]
enum State {
    Calling,
    Submitting(Payload, ExecutionId),
    Watching(ExecutionId),
    Describing(ExecutionId),
    Stopping(ExecutionId),
    Over(Option<Result<Payload, Failure>>),
}

impl Driver {
    #[must_use]
    pub fn open() -> (Self, Request) {
        (Self { state: State::Calling, paused_until_ms: None }, Request::Call)
    }

    pub fn handle(&mut self, input: Input, now_ms: i64) -> Option<Request> {
        if input == Input::TimePassed {
            let due = self.paused_until_ms.take_if(|until| *until <= now_ms);
            return due.map(|_| self.request());
        }
        match next(&self.state, input) {
            Next::State(state) => {
                self.state = state;
                Some(self.request())
            }
            Next::Pause => {
                self.paused_until_ms = Some(now_ms.saturating_add(PAUSE_MS));
                None
            }
            Next::Ignore => None,
        }
    }

    /// When [`Input::TimePassed`] is wanted, if it is.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        self.paused_until_ms
    }

    /// What the state is entered with.
    fn request(&self) -> Request {
        match &self.state {
            State::Calling => Request::Call,
            State::Submitting(output, _) => Request::Submit(output.clone()),
            State::Watching(child) => Request::Watch(*child),
            State::Describing(child) => Request::Describe(*child),
            State::Stopping(child) => Request::Stop(*child),
            State::Over(result) => Request::Finish(result.clone()),
        }
    }
}

enum Next {
    State(State),
    /// Asks again later.
    Pause,
    /// It comes too late, or was never asked for.
    Ignore,
}

fn next(state: &State, input: Input) -> Next {
    let over = |result| Next::State(State::Over(Some(result)));
    match (state, input) {
        (State::Calling, Input::Called(Ok(Called { output, child: Some(child) }))) => {
            Next::State(State::Submitting(output, child))
        }
        (State::Calling, Input::Called(Ok(Called { output, child: None }))) => over(Ok(output)),
        (State::Submitting(_, child), Input::Submitted(Ok(()))) => {
            Next::State(State::Watching(*child))
        }
        // It was cancelled before its child was known.
        (State::Submitting(_, child), Input::Submitted(Err(Refusal::Settled))) => {
            Next::State(State::Stopping(*child))
        }
        (State::Watching(child), Input::Watched(Ok(()))) => Next::State(State::Describing(*child)),
        (State::Describing(_), Input::Described(Some(result))) => over(result),
        (State::Describing(child), Input::Described(None)) => Next::State(State::Watching(*child)),
        (State::Stopping(_), Input::Stopped(Ok(()))) => Next::State(State::Over(None)),
        (State::Stopping(_), Input::Stopped(Err(Busy)))
        | (State::Calling, Input::Called(Err(Refusal::Busy)))
        | (State::Submitting(..), Input::Submitted(Err(Refusal::Busy)))
        | (State::Watching(_), Input::Watched(Err(Refusal::Busy))) => Next::Pause,
        (State::Calling, Input::Called(Err(Refusal::Failed(failure))))
        | (State::Submitting(..), Input::Submitted(Err(Refusal::Failed(failure))))
        | (State::Watching(_), Input::Watched(Err(Refusal::Failed(failure)))) => over(Err(failure)),
        (State::Calling, Input::Called(Err(Refusal::Settled)))
        | (State::Watching(_), Input::Watched(Err(Refusal::Settled))) => {
            Next::State(State::Over(None))
        }
        _ => Next::Ignore,
    }
}
