//! What happens next: an input comes in, events come out, until every frame waits for something.

use std::collections::VecDeque;
use std::sync::Arc;

use everstep_asl::Machine;
use everstep_asl::error_name;
use everstep_asl::handling::{self, Decision, Matched, Origin};
use everstep_asl::model::{Catcher, Kind, Retrier, State, Transition};
use everstep_expr::Entropy;
use everstep_history::{Attempt, Event, Failure, FailureStage, FrameId, Payload, Position};
use serde_json::Value;

use crate::context::Extra;
use crate::execution::{Execution, Frame, Phase, Status, Timer, is_visible};
use crate::fault::{Fault, not_too_deep};
use crate::flow::{Evaluation, Finished};
use crate::raised::{RaisedFailure, delay_ms};
use crate::{Dialect, Input, Occasion, states};

/// Events of one decision at most: a loop that never waits must end even where the history has no
/// limit.
const EVENTS_MAX: usize = 1_000_000;

impl Execution {
    /// Decides what follows from an input, and applies it. The events are all that changed: an
    /// execution that applies them is equal to this one.
    pub fn decide(&mut self, input: Input, occasion: Occasion<'_>) -> Vec<Event> {
        let mut decider = Decider {
            entropy: Entropy::new(occasion.now_ms, occasion.seed),
            now_ms: occasion.now_ms,
            missing_activities: occasion.missing_activities,
            execution: self,
            events: Vec::new(),
            ready: VecDeque::new(),
            full: false,
        };
        decider.take(input);
        decider.run();
        decider.close_full_history();
        decider.events
    }
}

/// One decision in the making.
pub(crate) struct Decider<'e> {
    pub(crate) execution: &'e mut Execution,
    pub(crate) entropy: Entropy,
    pub(crate) now_ms: i64,
    pub(crate) missing_activities: &'e [&'e str],
    events: Vec<Event>,
    /// Frames that can go on.
    ready: VecDeque<Ready>,
    /// The history has no room left.
    full: bool,
}

/// How a frame goes on.
enum Ready {
    /// To the next state.
    Step(FrameId),
    /// From where it was stopped, after a redrive.
    TakeUp(FrameId),
}

impl Decider<'_> {
    /// Records an event and applies it, unless the history is full.
    pub(crate) fn emit(&mut self, event: Event) {
        let last = matches!(
            event,
            Event::ExecutionSucceeded { .. }
                | Event::ExecutionFailed { .. }
                | Event::ExecutionTimedOut { .. }
                | Event::ExecutionAborted { .. }
        );
        let limit = self.execution.program.limits.history_events;
        let no_room = |limit| is_visible(&event) && self.execution.visible_events + 1 >= limit;
        if !last && (limit.is_some_and(no_room) || self.events.len() >= EVENTS_MAX) {
            self.full = true;
        }
        if last || !self.full {
            self.execution.apply(&event);
            self.events.push(event);
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.execution.program.dialect
    }

    /// A frame can go on.
    pub(crate) fn wake(&mut self, frame: FrameId) {
        self.ready.push_back(Ready::Step(frame));
    }

    /// A frame goes on from where a failure stopped it.
    pub(crate) fn wake_stopped(&mut self, frame: FrameId) {
        self.ready.push_back(Ready::TakeUp(frame));
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    fn is_running(&self) -> bool {
        self.execution.status == Status::Running
    }

    fn run(&mut self) {
        while self.is_running()
            && !self.full
            && let Some(ready) = self.ready.pop_front()
        {
            match ready {
                Ready::Step(frame) => self.step(frame),
                Ready::TakeUp(frame) => self.take_up(frame),
            }
        }
    }

    /// The last event there is room for says why there is no other.
    fn close_full_history(&mut self) {
        if self.full && self.is_running() {
            let cause = match self.execution.program.limits.history_events {
                Some(limit) if self.events.len() < EVENTS_MAX => {
                    format!("The execution reached the maximum number of history events ({limit}).")
                }
                _ => {
                    format!("The execution made {EVENTS_MAX} events without waiting for anything.")
                }
            };
            let failure = Failure::new(error_name::RUNTIME, cause);
            self.emit(Event::ExecutionFailed { at_ms: self.now_ms, failure });
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Start { input } => {
                if !self.execution.has_started() {
                    self.emit(Event::ExecutionStarted { at_ms: self.now_ms, input });
                    self.wake(FrameId::ROOT);
                }
            }
            Input::Redrive => self.redrive(),
            _ if !self.is_running() || !self.execution.has_started() => {}
            Input::TaskStarted { attempt, worker } => {
                if self.execution.task(attempt).is_some_and(|task| !task.started) {
                    self.emit(Event::TaskStarted { attempt, at_ms: self.now_ms, worker });
                }
            }
            // Said again by a runner that was asked again after a crash.
            Input::TaskSubmitted { attempt, output } => {
                if self.execution.task(attempt).is_some_and(|task| !task.submitted) {
                    self.emit(Event::TaskSubmitted { attempt, at_ms: self.now_ms, output });
                }
            }
            Input::TaskSucceeded { attempt, output } => {
                if self.execution.awaits_task(attempt) {
                    states::task::succeeded(self, attempt, output);
                }
            }
            Input::TaskFailed { attempt, failure, stage } => {
                if self.execution.awaits_task(attempt) {
                    self.task_failed(attempt, failure, stage);
                }
            }
            Input::MapRunFinished { attempt, children } => {
                if self.execution.awaits_run(attempt) {
                    states::map::run_finished(self, attempt.frame, children);
                }
            }
            Input::MapRunFailed { attempt, failure } => {
                if self.execution.awaits_run(attempt) {
                    states::map::run_failed(self, attempt.frame, failure);
                }
            }
            Input::TimePassed => self.time_passed(),
            Input::Stop { failure } => {
                self.emit(Event::ExecutionAborted { at_ms: self.now_ms, failure });
            }
        }
    }

    fn task_failed(&mut self, attempt: Attempt, failure: Failure, stage: FailureStage) {
        let (at_ms, dialect) = (self.now_ms, self.dialect());
        let unnamed = || dialect.unnamed_task_error().map(Arc::from);
        let failure = Failure { error: failure.error.or_else(unnamed), cause: failure.cause };
        let raised = match self.execution.state_of(attempt.frame).map(|state| &state.kind) {
            Some(Kind::Task(task)) => RaisedFailure::of_task(failure, &task.resource, dialect),
            _ => RaisedFailure::named(failure),
        };
        self.emit(Event::TaskFailed { attempt, at_ms, failure: raised.failure.clone(), stage });
        self.fail(attempt.frame, raised);
    }

    fn redrive(&mut self) {
        let redrivable = matches!(
            self.execution.status,
            Status::Failed { .. } | Status::Aborted { .. } | Status::TimedOut
        );
        if !redrivable {
            return;
        }
        let count = self.execution.redrives + 1;
        self.emit(Event::ExecutionRedriven { at_ms: self.now_ms, count });
        self.wake_stopped(FrameId::ROOT);
    }

    /// Goes on, after a redrive, with what had not ended in a frame.
    fn take_up(&mut self, id: FrameId) {
        let Some(frame) = self.execution.frame(id) else { return };
        match &frame.phase {
            Phase::Parallel { remaining: 0, .. } => states::parallel::branch_ended(self, id),
            Phase::Parallel { .. } => {
                for child in self.execution.children_of(id) {
                    self.wake_stopped(child);
                }
            }
            Phase::Map(map) if map.next > 0 => states::map::take_up(self, id),
            Phase::MapRun(_) => states::map::redrive_run(self, id),
            Phase::Entering | Phase::Ended { .. } => self.wake(id),
            _ => {
                self.work(id);
                self.wake(id);
            }
        }
    }

    fn time_passed(&mut self) {
        while self.is_running()
            && !self.full
            && let Some((due, timer)) = self.execution.timers.first().copied()
            && due <= self.now_ms
        {
            match timer {
                Timer::ExecutionDeadline => {
                    self.emit(Event::ExecutionTimedOut { at_ms: self.now_ms });
                }
                Timer::TaskDeadline(frame) => self.task_timed_out(frame, false),
                Timer::Heartbeat(frame) => self.task_timed_out(frame, true),
                Timer::Resume(frame) => self.resume(frame),
            }
            self.run();
        }
    }

    /// The time that a Wait state or a retry waited for has come.
    fn resume(&mut self, id: FrameId) {
        match self.execution.frame(id).map(|frame| &frame.phase) {
            Some(Phase::Retrying { .. }) => self.work(id),
            Some(Phase::Waiting { .. }) => states::wait::over(self, id),
            _ => {}
        }
        self.wake(id);
    }

    fn task_timed_out(&mut self, frame: FrameId, heartbeat: bool) {
        let Some(Phase::Task(task)) = self.execution.frame(frame).map(|frame| &frame.phase) else {
            return;
        };
        let attempt = task.attempt;
        // "The interpreter fails the state with a States.Timeout Error Name", whichever of the two
        // it was; "States.HeartbeatTimeout is only available inside the Catch and Retry fields".
        let failure = Failure { error: Some(Arc::from(error_name::TIMEOUT)), cause: None };
        let at_ms = self.now_ms;
        self.emit(Event::TaskTimedOut { attempt, at_ms, failure: failure.clone(), heartbeat });
        let origin = if heartbeat { Origin::MissedHeartbeat } else { Origin::Named };
        self.fail(frame, RaisedFailure::new(failure, origin));
    }

    /// Says of the state a frame is in, and of those inside it, that they stop.
    fn abort(&mut self, id: FrameId) {
        self.abort_inside(id);
        let Some(state) = self.execution.state_of(id) else { return };
        // The other types of state are over as soon as they begin.
        let stops =
            matches!(state.kind, Kind::Task(_) | Kind::Wait(_) | Kind::Parallel(_) | Kind::Map(_));
        let attempt = match self.execution.frame(id).map(|frame| &frame.phase) {
            Some(Phase::Task(task)) => Some(task.attempt),
            Some(Phase::MapRun(run)) if !run.over => Some(run.attempt),
            _ => None,
        };
        if stops {
            self.emit(Event::StateAborted { frame: id, at_ms: self.now_ms, attempt });
        }
    }

    /// Lets a frame go on from state to state until it waits or ends.
    fn step(&mut self, id: FrameId) {
        while self.is_running() && !self.full {
            let Some(frame) = self.execution.frame(id) else { return };
            match &frame.phase {
                Phase::Entering => {
                    let (state, input) = (frame.state, frame.input.clone());
                    self.emit(Event::StateEntered { frame: id, at_ms: self.now_ms, state, input });
                    if !self.full {
                        self.work(id);
                    }
                }
                Phase::Ended { output } => {
                    let output = output.clone();
                    return self.ended(id, output);
                }
                _ => return,
            }
        }
    }

    /// Does the work of the state a frame is in.
    fn work(&mut self, id: FrameId) {
        let Some((machine, position)) = self.place(id) else { return };
        let Some(state) = machine.states.get(position as usize) else { return };
        let outcome = match &state.kind {
            Kind::Pass(pass) => states::pass::run(self, id, state, pass),
            Kind::Task(task) => states::task::run(self, id, state, task),
            Kind::Choice(choice) => states::choice::run(self, id, state, choice),
            Kind::Wait(wait) => states::wait::run(self, id, state, wait),
            Kind::Succeed => states::succeed::run(self, id, state),
            Kind::Fail(fail) => states::fail::run(self, id, state, fail),
            Kind::Parallel(parallel) => states::parallel::run(self, id, state, parallel),
            Kind::Map(map) => states::map::run(self, id, state, map),
        };
        if let Err(fault) = outcome {
            self.fault(id, fault);
        }
    }

    pub(crate) fn place(&self, id: FrameId) -> Option<(Arc<Machine>, Position)> {
        let frame = self.execution.frame(id)?;
        Some((frame.machine.clone(), frame.state))
    }

    /// The raw input of the state a frame is in.
    pub(crate) fn input(&self, id: FrameId) -> Payload {
        self.execution
            .frame(id)
            .map_or_else(|| Payload::new(Value::Null), |frame| frame.input.clone())
    }

    pub(crate) fn evaluation<'s>(&'s self, id: FrameId, extra: Extra<'_>) -> Evaluation<'s> {
        Evaluation::new(self.execution, id, &self.entropy, extra)
    }

    /// Leaves a state with what it passes on.
    pub(crate) fn exit(
        &mut self,
        id: FrameId,
        finished: Finished,
        transition: &Transition,
    ) -> Result<(), Fault> {
        let next = match transition {
            Transition::Next(target) => Some(target.id.0),
            Transition::End => None,
        };
        self.leave(id, finished, next)
    }

    pub(crate) fn leave(
        &mut self,
        id: FrameId,
        finished: Finished,
        next: Option<Position>,
    ) -> Result<(), Fault> {
        let Finished { output, assigned } = finished;
        if output.exceeds(self.execution.program.limits.payload_bytes) {
            let what = self.execution.state_of(id).map(|state| state.name.to_string());
            return Err(Fault::TooLarge { what: what.unwrap_or_default() });
        }
        let output = not_too_deep(output)?;
        let ends = next.is_none();
        let parent = self.execution.frame(id).filter(|_| ends).and_then(|frame| frame.parent);
        self.emit(Event::StateExited { frame: id, at_ms: self.now_ms, output, assigned, next });
        if let (Some(parent), false) = (parent, self.full) {
            states::parallel::branch_ended(self, parent.frame);
        }
        Ok(())
    }

    /// A frame has come to its end.
    fn ended(&mut self, id: FrameId, output: Payload) {
        match self.execution.frame(id).and_then(|frame| frame.parent) {
            None => self.emit(Event::ExecutionSucceeded { at_ms: self.now_ms, output }),
            Some(parent) => states::map::iteration_ended(self, id, parent.frame),
        }
    }

    /// A state cannot do its work.
    pub(crate) fn fault(&mut self, id: FrameId, fault: Fault) {
        let Some(state) = self.execution.state_of(id) else { return };
        let (name, origin) = (state.name.clone(), fault.origin(&state.kind));
        let failure = self.judge(id, &name, fault);
        self.fail(id, RaisedFailure::new(failure, origin));
    }

    /// What a fault is called; that an expression has no value is recorded besides.
    fn judge(&mut self, id: FrameId, state: &str, fault: Fault) -> Failure {
        let entered_id = self.execution.frame(id).map_or(0, |frame| frame.entered_id);
        let verdict = fault.verdict(self.dialect(), state, entered_id);
        if let Some(location) = verdict.evaluation {
            self.emit(Event::EvaluationFailed {
                frame: id,
                at_ms: self.now_ms,
                failure: verdict.failure.clone(),
                location: location.map(Arc::from),
            });
        }
        verdict.failure
    }

    /// A state has failed: it is retried or caught, or the failure goes to the state around.
    pub(crate) fn fail(&mut self, id: FrameId, raised: RaisedFailure) {
        let Some((machine, position)) = self.place(id) else { return };
        let Some(state) = machine.states.get(position as usize) else { return };
        match self.handling(id, state, &raised) {
            Decision::Retry { retrier, so_far } => self.retry(id, &retrier, so_far, &raised),
            Decision::Catch { used_up, catcher } => {
                let retrier = used_up.map(|retrier| retrier.index);
                self.state_failed(id, &raised, retrier, Some(catcher.index));
                self.close(id, state, &raised);
                match self.caught(id, state, catcher.handler, &raised) {
                    Ok(()) => self.wake(id),
                    Err(fault) => self.uncatchable(id, state, fault),
                }
            }
            Decision::Fail { used_up } => {
                self.state_failed(id, &raised, used_up.map(|retrier| retrier.index), None);
                self.close(id, state, &raised);
                self.propagate(id, raised);
            }
        }
    }

    fn handling<'s>(&self, id: FrameId, state: &'s State, raised: &RaisedFailure) -> Decision<'s> {
        let used = |index: usize| self.execution.frame(id)?.retries.get(index).copied();
        handling::decide(state, raised.raised(), self.dialect(), |index| used(index).unwrap_or(0))
    }

    /// Records why a failure was not retried and what takes it.
    fn state_failed(
        &mut self,
        id: FrameId,
        raised: &RaisedFailure,
        retrier: Option<usize>,
        catcher: Option<usize>,
    ) {
        self.emit(Event::StateFailed {
            frame: id,
            at_ms: self.now_ms,
            failure: raised.failure.clone(),
            retrier: retrier.map(place_in_list),
            catcher: catcher.map(place_in_list),
        });
    }

    fn retry(
        &mut self,
        id: FrameId,
        retrier: &Matched<'_, Retrier>,
        so_far: u32,
        raised: &RaisedFailure,
    ) {
        let delay_ms = delay_ms(retrier.handler, so_far, &self.entropy);
        let delay_ms = self.execution.program.limits.scaled(delay_ms);
        let due_ms = self.now_ms.saturating_add(delay_ms);
        self.abort_inside(id);
        self.emit(Event::RetryScheduled {
            frame: id,
            at_ms: self.now_ms,
            retrier: place_in_list(retrier.index),
            due_ms,
            failure: raised.failure.clone(),
        });
    }

    /// Ends what is still running inside a Parallel or Map that has failed.
    fn close(&mut self, id: FrameId, state: &State, raised: &RaisedFailure) {
        let (at_ms, failure) = (self.now_ms, raised.failure.clone());
        // What always ends the execution ends it at once.
        if failure.name() == error_name::RUNTIME {
            return;
        }
        match &state.kind {
            Kind::Parallel(_) => {
                self.abort_inside(id);
                self.emit(Event::ParallelFailed { frame: id, at_ms, failure });
            }
            Kind::Map(_) => {
                self.abort_inside(id);
                self.emit(Event::MapFailed { frame: id, at_ms, failure });
            }
            _ => {}
        }
    }

    fn abort_inside(&mut self, id: FrameId) {
        let is_map = matches!(self.execution.frame(id), Some(Frame { phase: Phase::Map(_), .. }));
        for child in self.execution.children_of(id) {
            self.abort(child);
            if is_map {
                self.emit(Event::IterationAborted { child, at_ms: self.now_ms });
            }
        }
    }

    fn caught(
        &mut self,
        id: FrameId,
        state: &State,
        catcher: &Catcher,
        raised: &RaisedFailure,
    ) -> Result<(), Fault> {
        let evaluation = self.evaluation(id, Extra::default());
        let finished = evaluation.caught(state, catcher, raised, &self.input(id))?;
        self.leave(id, finished, Some(catcher.next.id.0))
    }

    /// A catcher itself failed: nothing of this state can take that.
    fn uncatchable(&mut self, id: FrameId, state: &State, fault: Fault) {
        let failure = self.judge(id, &state.name, fault);
        let raised = RaisedFailure::new(failure, Origin::Fatal);
        self.state_failed(id, &raised, None, None);
        self.propagate(id, raised);
    }

    /// To the state around, or the end of the execution.
    fn propagate(&mut self, id: FrameId, raised: RaisedFailure) {
        let Some(parent) = self.execution.frame(id).and_then(|frame| frame.parent) else {
            let failure = raised.failure;
            return self.emit(Event::ExecutionFailed { at_ms: self.now_ms, failure });
        };
        let raised = raised.outside();
        let is_map =
            matches!(self.execution.frame(parent.frame), Some(Frame { phase: Phase::Map(_), .. }));
        if is_map {
            states::map::iteration_failed(self, id, parent.frame, raised);
        } else {
            self.fail(parent.frame, raised);
        }
    }
}

/// As events record the place of a retrier or catcher.
fn place_in_list(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
