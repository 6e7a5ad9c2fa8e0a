//! How frames move from state to state until they wait or end.

use std::sync::Arc;

use everstep_asl::Machine;
use everstep_asl::model::{Kind, Transition};
use everstep_history::{Event, FrameId, Payload, Position};
use serde_json::Value;

use super::{Decider, Ready};
use crate::context::Extra;
use crate::execution::Phase;
use crate::fault::{Fault, not_too_deep};
use crate::flow::{Evaluation, Finished};
use crate::states;

impl Decider<'_> {
    pub(super) fn run(&mut self) {
        while self.is_running()
            && !self.full
            && !self.is_turn_over()
            && let Some(ready) = self.ready.pop_front()
        {
            match ready {
                Ready::Step(frame) => self.step(frame),
                Ready::Continue(frame) => self.continue_frame(frame),
            }
        }
    }

    /// Moves a frame from state to state until it waits or ends, or the turn is over.
    fn step(&mut self, id: FrameId) {
        // What has failed around it has ended it too.
        if !self.execution.is_live(id) {
            return;
        }
        while self.is_running() && !self.full {
            let Some(frame) = self.execution.frame(id) else { return };
            let can_continue = matches!(frame.phase, Phase::Entering | Phase::Ended { .. });
            if can_continue && self.is_turn_over() {
                return self.wake(id);
            }
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
    pub(super) fn work(&mut self, id: FrameId) {
        let Some((machine, position)) = self.place(id) else { return };
        let Some(state) = machine.states.get(position as usize) else { return };
        self.entropy.effort().begin();
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
            return Err(self.too_large(id));
        }
        let output = not_too_deep(output)?;
        self.check_assigned(id, &assigned)?;
        let ends = next.is_none();
        let parent = self.execution.frame(id).filter(|_| ends).and_then(|frame| frame.parent);
        self.emit(Event::StateExited { frame: id, at_ms: self.now_ms, output, assigned, next });
        if let (Some(parent), false) = (parent, self.full) {
            states::parallel::branch_ended(self, parent.frame);
        }
        Ok(())
    }

    /// What a state assigns is bounded as what it passes on is, and so is all that is held.
    fn check_assigned(&self, id: FrameId, assigned: &[(Arc<str>, Payload)]) -> Result<(), Fault> {
        let bytes: usize = assigned.iter().map(|(_, value)| value.weight()).sum();
        let limits = &self.execution.program.limits;
        let held = self.execution.held_bytes().saturating_add(bytes);
        if bytes > limits.payload_bytes || bytes > 0 && held > limits.held_bytes {
            return Err(self.too_large(id));
        }
        Ok(())
    }

    /// The state a frame is in has more data than it may.
    pub(crate) fn too_large(&self, id: FrameId) -> Fault {
        let what = self.execution.state_of(id).map(|state| state.name.to_string());
        Fault::TooLarge { what: what.unwrap_or_default() }
    }

    /// Whether the execution holds more data than it may.
    pub(crate) fn holds_too_much(&self) -> bool {
        self.execution.held_bytes() > self.execution.program.limits.held_bytes
    }

    /// A frame has come to its end.
    fn ended(&mut self, id: FrameId, output: Payload) {
        match self.execution.frame(id).and_then(|frame| frame.parent) {
            None => self.emit(Event::ExecutionSucceeded { at_ms: self.now_ms, output }),
            Some(parent) => states::map::iteration_ended(self, id, parent.frame),
        }
    }
}
