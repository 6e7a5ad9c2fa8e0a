//! What happens next: an input comes in, events come out, until every frame waits for something.
//!
//! This file only dispatches: each kind of input is handled in a file of its own.

mod failure;
mod record;
mod redrive;
mod step;
mod time;

use std::collections::VecDeque;

use everstep_expr::Entropy;
use everstep_history::{Event, FrameId};

use crate::execution::{Execution, Status};
use crate::turn::{Decision, Time, Turn};
use crate::{Dialect, Input, Occasion, Refusal, states};

impl Execution {
    /// Decides what follows from an input, and applies it. The events are all that changed: an
    /// execution that applies them is equal to this one. What is refused changes nothing.
    pub fn decide(&mut self, input: Input, occasion: Occasion<'_>) -> Result<Vec<Event>, Refusal> {
        self.decide_in_turn(input, occasion, &Turn::WHOLE).map(|decision| decision.events)
    }

    /// As [`Self::decide`], as far as the turn goes. The input itself is always taken.
    pub fn decide_in_turn(
        &mut self,
        input: Input,
        occasion: Occasion<'_>,
        turn: &Turn,
    ) -> Result<Decision, Refusal> {
        self.accepts(&input, occasion.now_ms)?;
        let entropy = Entropy::new(occasion.now_ms, occasion.seed);
        let mut decider = Decider {
            entropy: match &turn.time {
                Some(time) => entropy.timed(time.stopwatch.clone()),
                None => entropy,
            },
            now_ms: occasion.now_ms,
            missing_activities: occasion.missing_activities,
            execution: self,
            events: Vec::new(),
            bytes: 0,
            ready: VecDeque::new(),
            full: false,
            turn,
        };
        decider.take(input);
        decider.run();
        decider.close_full_history();
        let is_unfinished = decider.is_running() && decider.has_ready_frames();
        Ok(Decision { events: decider.events, is_unfinished })
    }
}

/// One decision in the making.
pub(crate) struct Decider<'e> {
    pub(crate) execution: &'e mut Execution,
    pub(crate) entropy: Entropy,
    pub(crate) now_ms: i64,
    pub(crate) missing_activities: &'e [&'e str],
    events: Vec<Event>,
    /// Bytes of their payloads.
    bytes: usize,
    turn: &'e Turn,
    /// Frames that can continue.
    ready: VecDeque<Ready>,
    /// The history has no room left.
    full: bool,
}

/// How a frame continues.
enum Ready {
    /// To the next state.
    Step(FrameId),
    /// From where it was stopped: by the end of a turn, or by a failure before a redrive.
    Continue(FrameId),
}

impl Decider<'_> {
    /// The input has been accepted: see [`Execution::accepts`].
    fn take(&mut self, input: Input) {
        let at_ms = self.now_ms;
        match input {
            Input::Start { input } => {
                self.emit(Event::ExecutionStarted { at_ms, input });
                self.wake(FrameId::ROOT);
            }
            Input::TaskStarted { attempt, worker } => {
                self.emit(Event::TaskStarted { attempt, at_ms, worker });
            }
            Input::TaskSubmitted { attempt, output } => {
                self.emit(Event::TaskSubmitted { attempt, at_ms, output });
            }
            Input::TaskSucceeded { attempt, output } => {
                states::task::succeeded(self, attempt, output);
            }
            Input::TaskFailed { attempt, failure, stage } => {
                self.task_failed(attempt, failure, stage);
            }
            Input::MapRunFinished { attempt, children } => {
                states::map::run_finished(self, attempt.frame, children);
            }
            Input::MapRunFailed { attempt, failure } => {
                states::map::run_failed(self, attempt.frame, failure);
            }
            Input::TimePassed => self.time_passed(),
            Input::Continue => {
                let ready = self.execution.ready_frames();
                ready.into_iter().for_each(|frame| self.wake_stopped(frame));
            }
            Input::Stop { failure } => self.emit(Event::ExecutionAborted { at_ms, failure }),
            Input::Redrive => self.redrive(),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.execution.program.dialect
    }

    /// A frame can continue.
    pub(crate) fn wake(&mut self, frame: FrameId) {
        self.ready.push_back(Ready::Step(frame));
    }

    /// A frame continues from where it was stopped.
    pub(crate) fn wake_stopped(&mut self, frame: FrameId) {
        self.ready.push_back(Ready::Continue(frame));
    }

    /// Whether others have their turn now. However short a turn is, something happens in it.
    pub(crate) fn is_turn_over(&self) -> bool {
        !self.events.is_empty() && self.is_spent()
    }

    /// Whether there is nothing left of the turn, be there events or not.
    pub(crate) fn is_spent(&self) -> bool {
        self.events.len() >= self.turn.events_max
            || self.bytes >= self.turn.bytes_max
            || self.turn.time.as_ref().is_some_and(Time::is_over)
    }

    /// Whether any of the frames that were woken can continue.
    fn has_ready_frames(&self) -> bool {
        self.ready.iter().any(|ready| {
            let (Ready::Step(frame) | Ready::Continue(frame)) = ready;
            self.execution.is_frame_ready(*frame)
        })
    }

    fn is_running(&self) -> bool {
        self.execution.status == Status::Running
    }
}
