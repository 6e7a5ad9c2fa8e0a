//! How failures are handled: the state is retried, a catcher takes over, or the failure propagates to the state
//! around.

use std::sync::Arc;

use everstep_asl::error_name;
use everstep_asl::handling::{self, Decision, Matched, Origin};
use everstep_asl::model::{Catcher, Kind, Retrier, State};
use everstep_history::{Attempt, Event, Failure, FailureStage, FrameId};

use super::Decider;
use crate::context::Extra;
use crate::execution::{Frame, Phase};
use crate::fault::Fault;
use crate::raised::{RaisedFailure, delay_ms};
use crate::states;

impl Decider<'_> {
    pub(super) fn task_failed(&mut self, attempt: Attempt, failure: Failure, stage: FailureStage) {
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

    /// A state has failed: it is retried or caught, or the failure propagates.
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

    /// Hands a failure to the state around, or ends the execution with it.
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

    /// Records that the state a frame is in stops, and those inside it.
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
}

/// As events record the place of a retrier or catcher.
fn place_in_list(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
