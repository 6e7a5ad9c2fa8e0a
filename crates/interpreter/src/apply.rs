//! How an event changes an execution: nothing fails here and nothing is evaluated.
//!
//! What is due follows from the phases alone: [`Execution::set_phase`] is the only place that arms
//! and cancels a frame's timers.

use std::sync::Arc;

use everstep_asl::Machine;
use everstep_asl::model::{Kind, StateId};
use everstep_history::{Attempt, Event, FrameId, Payload, Position};

use crate::execution::{
    Execution, Frame, MapPhase, MapRunPhase, Parent, Phase, Status, TaskPhase, Timer, is_shown,
    later,
};
use crate::map_run::{MapRun, Tolerance};

impl Execution {
    /// Makes an event part of the execution. Cannot fail and evaluates nothing.
    pub fn apply(&mut self, event: &Event) {
        if is_shown(event) {
            self.visible_events += 1;
        }
        match event {
            Event::ExecutionStarted { at_ms, input } => self.start(*at_ms, input),
            Event::StateEntered { frame, at_ms, state, input } => {
                let id = self.visible_events;
                self.give(*frame, input);
                self.change(*frame, |frame| frame.enter(*state, *at_ms, id));
                self.set_phase(*frame, Phase::Running);
            }
            Event::StateExited { frame, output, assigned, next, .. } => {
                self.exit(*frame, output, assigned, *next);
            }
            Event::TaskScheduled { attempt, at_ms, heartbeat_seconds, deadline_ms, .. } => {
                self.schedule(*attempt, *at_ms, *heartbeat_seconds, *deadline_ms);
            }
            Event::TaskStarted { attempt, at_ms, .. } => self.change(attempt.frame, |frame| {
                if let Phase::Task(task) = &mut frame.phase {
                    task.started_ms = Some(*at_ms);
                }
            }),
            Event::TaskSubmitted { attempt, .. } => self.change(attempt.frame, |frame| {
                if let Phase::Task(task) = &mut frame.phase {
                    task.submitted = true;
                }
            }),
            Event::EvaluationFailed { .. } | Event::StateFailed { .. } => {}
            Event::TaskSucceeded { attempt, .. }
            | Event::TaskFailed { attempt, .. }
            | Event::TaskTimedOut { attempt, .. } => self.set_phase(attempt.frame, Phase::Running),
            Event::StateAborted { frame, .. } => self.stop_alone(*frame),
            Event::RetryScheduled { frame, retrier, due_ms, .. } => {
                self.discard_children(*frame);
                self.change(*frame, |frame| frame.count_retry(*retrier as usize));
                self.set_phase(*frame, Phase::Retrying { due_ms: *due_ms });
            }
            Event::WaitStarted { frame, until_ms, .. } => {
                self.set_phase(*frame, Phase::Waiting { until_ms: *until_ms });
            }
            Event::ParallelStarted { frame, first, branches, input, .. } => {
                self.start_branches(*frame, *first, *branches, input);
            }
            Event::ParallelSucceeded { frame, .. } | Event::MapSucceeded { frame, .. } => {
                self.discard_children(*frame);
            }
            Event::ParallelFailed { frame, .. } | Event::MapFailed { frame, .. } => {
                self.stop_children(*frame);
            }
            Event::MapStarted { frame, items, max_concurrency, distributed, .. } => {
                let phase = MapPhase::new(items, *max_concurrency, *distributed);
                self.discard_children(*frame);
                self.set_phase(*frame, Phase::Map(Box::new(phase)));
            }
            Event::IterationStarted { frame, index, child, input, .. } => {
                self.start_iteration(*frame, *index, *child, input);
            }
            Event::IterationSucceeded { child, .. } => self.iteration_succeeded(*child),
            Event::IterationFailed { child, .. } => self.iteration_failed(*child),
            Event::IterationAborted { child, .. } => self.stop(*child),
            Event::MapInputsSelected { frame, inputs, .. } => {
                if let Some(map) = self.map_mut(*frame) {
                    map.selected.push(inputs.clone());
                    self.hold(inputs.weight());
                }
            }
            Event::MapRunStarted {
                frame,
                attempt,
                inputs,
                tolerated_count,
                tolerated_percentage,
                ..
            } => {
                let tolerance =
                    Tolerance { count: *tolerated_count, percentage: *tolerated_percentage };
                self.start_map_run(*frame, *attempt, inputs, tolerance);
            }
            Event::MapRunRedriven { frame, attempt, count, .. } => {
                self.attempts = self.attempts.max(attempt.number + 1);
                if let Some(run) = self.map_run_mut(*frame) {
                    (run.attempt, run.over, run.plan.redrives) = (*attempt, false, *count);
                }
            }
            Event::MapRunSucceeded { frame, .. } => self.set_phase(*frame, Phase::Running),
            Event::MapRunFailed { frame, .. } => {
                if let Some(run) = self.map_run_mut(*frame) {
                    run.over = true;
                }
            }
            Event::ExecutionSucceeded { output, .. } => {
                self.end(Status::Succeeded { output: output.clone() });
                // It cannot be redriven: nothing inside it is needed again.
                self.frames = Vec::new();
                self.held_bytes = output.weight();
            }
            Event::ExecutionFailed { failure, .. } => {
                self.end(Status::Failed { failure: failure.clone() });
            }
            Event::ExecutionTimedOut { .. } => self.end(Status::TimedOut),
            Event::ExecutionAborted { failure, .. } => {
                self.end(Status::Aborted { failure: failure.clone() });
            }
            Event::ExecutionRedriven { at_ms, count } => self.redrive(*at_ms, *count),
        }
    }

    fn change(&mut self, id: FrameId, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frame_mut(id) {
            change(frame);
        }
    }

    /// What was due in the old phase is not any more; what is due in the new one is armed.
    fn set_phase(&mut self, id: FrameId, phase: Phase) {
        let Some(frame) = self.frames.get_mut(id.0 as usize).and_then(Option::as_mut) else {
            return;
        };
        if frame.phase.waits_for_time() {
            for timer in frame.phase.timers(id).iter().flatten() {
                self.timers.remove(timer);
            }
        }
        if phase.waits_for_time() {
            self.timers.extend(phase.timers(id).into_iter().flatten());
        }
        let held = phase.held_bytes();
        let old = std::mem::replace(&mut frame.phase, phase);
        self.release(old.held_bytes());
        self.hold(held);
    }

    fn drop_frame(&mut self, id: FrameId) {
        let Some(slot) = self.frames.get_mut(id.0 as usize) else { return };
        if let Some(frame) = slot.take() {
            for timer in frame.phase.timers(id).iter().flatten() {
                self.timers.remove(timer);
            }
            self.release(frame.held_bytes());
        }
    }

    fn start(&mut self, at_ms: i64, input: &Payload) {
        self.input = input.clone();
        self.started_ms = at_ms;
        let machine = self.program.machine.clone();
        self.arm_deadline(at_ms);
        self.add_frame(Frame::new(None, machine, input.clone()));
    }

    fn add_frame(&mut self, frame: Frame) {
        self.hold(frame.held_bytes());
        self.frames.push(Some(Box::new(frame)));
    }

    fn arm_deadline(&mut self, from_ms: i64) {
        if let Some(seconds) = self.program.machine.timeout_seconds {
            self.timers.insert((later(from_ms, seconds), Timer::ExecutionDeadline));
        }
    }

    fn exit(
        &mut self,
        id: FrameId,
        output: &Payload,
        assigned: &[(Arc<str>, Payload)],
        next: Option<Position>,
    ) {
        self.discard_children(id);
        for (name, value) in assigned {
            self.assign(id, name, value);
        }
        if let Some(next) = next {
            self.change(id, |frame| frame.state = next);
            self.give(id, output);
            self.set_phase(id, Phase::Entering);
        } else {
            self.set_phase(id, Phase::Ended { output: output.clone() });
            self.finish_branch(id, output);
        }
    }

    fn assign(&mut self, id: FrameId, name: &Arc<str>, value: &Payload) {
        let Some(frame) = self.frame_mut(id) else { return };
        let old = frame.assign(name, value);
        self.release(old.as_ref().map_or(0, Payload::weight));
        self.hold(value.weight());
    }

    /// A branch hands its output to its Parallel state; an iteration waits for its own event.
    fn finish_branch(&mut self, id: FrameId, output: &Payload) {
        let Some(parent) = self.frame(id).and_then(|frame| frame.parent) else { return };
        if let Some(Phase::Parallel { results, remaining, .. }) =
            self.frame_mut(parent.frame).map(|frame| &mut frame.phase)
        {
            if let Some(slot) = results.get_mut(parent.index as usize) {
                *slot = Some(output.clone());
                *remaining = remaining.saturating_sub(1);
                self.hold(output.weight());
            }
            self.drop_frame(id);
        }
    }

    fn schedule(
        &mut self,
        attempt: Attempt,
        at_ms: i64,
        heartbeat_seconds: Option<u64>,
        deadline_ms: Option<i64>,
    ) {
        self.attempts = self.attempts.max(attempt.number + 1);
        let task = TaskPhase {
            attempt,
            scheduled_ms: at_ms,
            deadline_ms,
            heartbeat_seconds,
            heartbeat_due_ms: heartbeat_seconds.map(|seconds| later(at_ms, seconds)),
            started_ms: None,
            submitted: false,
        };
        self.set_phase(attempt.frame, Phase::Task(task));
    }

    fn start_branches(&mut self, id: FrameId, first: FrameId, count: u32, input: &Payload) {
        self.discard_children(id);
        let Some(branches) = self.state_of(id).and_then(|state| match &state.kind {
            Kind::Parallel(parallel) => Some(parallel.branches.clone()),
            _ => None,
        }) else {
            return;
        };
        let children: Vec<FrameId> = (first.0..first.0 + count).map(FrameId).collect();
        for (index, machine) in (0..).zip(branches) {
            let parent = Some(Parent { frame: id, index });
            self.add_frame(Frame::new(parent, machine, input.clone()));
        }
        let results = vec![None; count as usize];
        self.set_phase(id, Phase::Parallel { results, children, remaining: count });
    }

    /// A new iteration, or one that a redrive takes up where it was.
    fn start_iteration(&mut self, id: FrameId, index: u32, child: FrameId, input: &Payload) {
        let Some(machine) = self.state_of(id).and_then(|state| match &state.kind {
            Kind::Map(map) => Some(map.processor.clone()),
            _ => None,
        }) else {
            return;
        };
        if self.frame(child).is_none() {
            let parent = Some(Parent { frame: id, index });
            self.add_frame(Frame::new(parent, machine, input.clone()));
        }
        if let Some(map) = self.map_mut(id) {
            map.paused.remove(&child);
            map.next = map.next.max(index + 1);
            map.running.insert(child);
        }
    }

    fn map_mut(&mut self, id: FrameId) -> Option<&mut MapPhase> {
        match &mut self.frame_mut(id)?.phase {
            Phase::Map(map) => Some(map),
            _ => None,
        }
    }

    fn iteration_succeeded(&mut self, child: FrameId) {
        let Some(frame) = self.frame(child) else { return };
        let (Some(parent), Phase::Ended { output }) = (frame.parent, &frame.phase) else { return };
        let output = output.clone();
        if let Some(map) = self.map_mut(parent.frame) {
            map.running.remove(&child);
            let bytes = output.weight();
            if let Some(slot) = map.results.get_mut(parent.index as usize) {
                *slot = Some(output);
                self.hold(bytes);
            }
        }
        self.drop_frame(child);
    }

    fn iteration_failed(&mut self, child: FrameId) {
        self.stop(child);
        let Some(parent) = self.frame(child).and_then(|frame| frame.parent) else { return };
        if let Some(map) = self.map_mut(parent.frame) {
            map.running.remove(&child);
            map.failed.push(child);
        }
    }

    /// Stops a frame and all inside it. What is finished and how far the rest was stays known, so
    /// that a redrive finds it.
    fn stop(&mut self, id: FrameId) {
        self.stop_children(id);
        self.stop_alone(id);
    }

    fn stop_children(&mut self, id: FrameId) {
        for child in self.children_of(id) {
            self.stop(child);
        }
    }

    fn start_map_run(
        &mut self,
        frame: FrameId,
        attempt: Attempt,
        inputs: &Payload,
        tolerance: Tolerance,
    ) {
        self.attempts = self.attempts.max(attempt.number + 1);
        let is_batched = self.state_of(frame).is_some_and(
            |state| matches!(&state.kind, Kind::Map(map) if map.item_batcher.is_some()),
        );
        let map = self.map_mut(frame);
        let max_concurrency = map.as_ref().map_or(0, |map| map.max_concurrency);
        // Batches are made of all that were selected.
        let selected = map.filter(|_| !is_batched).map(|map| std::mem::take(&mut map.selected));
        let selected = selected.unwrap_or_default();
        self.release(selected.iter().map(Payload::weight).sum());
        let inputs = joined(&selected, inputs);
        let plan = MapRun { run: attempt, inputs, max_concurrency, tolerance, redrives: 0 };
        let phase = MapRunPhase { attempt, over: false, plan };
        self.set_phase(frame, Phase::MapRun(Box::new(phase)));
    }

    fn map_run_mut(&mut self, id: FrameId) -> Option<&mut MapRunPhase> {
        match &mut self.frame_mut(id)?.phase {
            Phase::MapRun(run) => Some(run),
            _ => None,
        }
    }

    fn stop_alone(&mut self, id: FrameId) {
        if let Some(run) = self.map_run_mut(id) {
            run.over = true;
        }
        let keeps = |phase: &Phase| {
            matches!(
                phase,
                Phase::Parallel { .. }
                    | Phase::Map(_)
                    | Phase::MapRun(_)
                    | Phase::Entering
                    | Phase::Ended { .. }
            )
        };
        if self.frame(id).is_some_and(|frame| !keeps(&frame.phase)) {
            self.set_phase(id, Phase::Failed);
        }
    }

    /// Ends what is inside a frame for good.
    fn discard_children(&mut self, id: FrameId) {
        if !self.frame(id).is_some_and(|frame| frame.phase.has_children()) {
            return;
        }
        let mut inside = self.children_of(id);
        if let Some(map) = self.map_mut(id) {
            map.running.clear();
            inside.append(&mut map.failed);
            inside.extend(std::mem::take(&mut map.paused));
        }
        for child in inside {
            self.discard_children(child);
            self.drop_frame(child);
        }
    }

    fn end(&mut self, status: Status) {
        self.status = status;
        self.timers.clear();
    }

    /// Every frame that had not ended is to run its state again; iterations wait until their Map
    /// takes them up.
    fn redrive(&mut self, at_ms: i64, count: u32) {
        self.status = Status::Running;
        self.redrives = count;
        self.arm_deadline(at_ms);
        for frame in self.frames.iter_mut().flatten() {
            frame.retries.clear();
            match &mut frame.phase {
                Phase::Parallel { .. } | Phase::Entering | Phase::Ended { .. } => {}
                Phase::Map(map) if !map.distributed => {
                    map.paused.append(&mut map.running);
                    map.paused.extend(map.failed.drain(..));
                }
                Phase::MapRun(run) => run.over = true,
                other => *other = Phase::Running,
            }
        }
    }
}

impl Frame {
    pub(crate) fn new(parent: Option<Parent>, machine: Arc<Machine>, input: Payload) -> Self {
        let StateId(state) = machine.start_at;
        Self {
            parent,
            machine,
            state,
            input,
            entered_ms: 0,
            entered_id: 0,
            retries: Vec::new(),
            variables: Vec::new(),
            phase: Phase::Entering,
        }
    }

    fn enter(&mut self, state: Position, at_ms: i64, id: u32) {
        self.state = state;
        self.entered_ms = at_ms;
        self.entered_id = id;
        // "Once the interpreter transitions to another state in any way, all the Retrier
        // parameters reset."
        self.retries.clear();
    }

    fn count_retry(&mut self, retrier: usize) {
        if self.retries.len() <= retrier {
            self.retries.resize(retrier + 1, 0);
        }
        self.retries[retrier] += 1;
    }

    /// Returns what the variable was before.
    fn assign(&mut self, name: &Arc<str>, value: &Payload) -> Option<Payload> {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => Some(std::mem::replace(known, value.clone())),
            None => {
                self.variables.push((name.clone(), value.clone()));
                None
            }
        }
    }
}

/// The items of all lists.
fn joined(lists: &[Payload], last: &Payload) -> Payload {
    if lists.is_empty() {
        return last.clone();
    }
    let items = |list: &Payload| list.as_array().cloned().unwrap_or_default();
    Payload::new(lists.iter().chain([last]).flat_map(items).collect())
}
