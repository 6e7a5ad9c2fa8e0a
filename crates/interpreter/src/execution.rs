//! What an execution is at one moment: the fold of all that has happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use everstep_asl::Machine;
use everstep_asl::model::{Kind, State, StateId};
use everstep_history::{Attempt, Event, Failure, FrameId, Payload, Position};
use serde_json::Value;

use crate::{Dialect, Identity, Limits};

/// A definition and the rules it runs by, shared by all its executions.
#[derive(Debug)]
pub struct Program {
    pub machine: Arc<Machine>,
    pub dialect: Dialect,
    pub limits: Limits,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    Running,
    Succeeded { output: Payload },
    Failed { failure: Failure },
    TimedOut,
    Aborted { failure: Failure },
}

/// An execution: everything that is needed to go on, and nothing that could be derived.
#[derive(Debug, Clone)]
pub struct Execution {
    pub(crate) program: Arc<Program>,
    pub(crate) identity: Identity,
    pub(crate) status: Status,
    pub(crate) input: Payload,
    pub(crate) started_ms: i64,
    /// By `FrameId`; a frame that is over leaves a hole.
    pub(crate) frames: Vec<Option<Box<Frame>>>,
    /// Tasks scheduled so far.
    pub(crate) attempts: u32,
    /// Events so far that the AWS history shows, so the id of the last one.
    pub(crate) visible_events: u32,
    pub(crate) redrives: u32,
    /// What is due when, earliest first.
    pub(crate) timers: BTreeSet<(i64, Timer)>,
}

/// What can become due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A Wait state's or a retry's time has come.
    Resume(FrameId),
    TaskDeadline(FrameId),
    Heartbeat(FrameId),
    ExecutionDeadline,
}

/// A running scope: the machine, a branch or an iteration.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) parent: Option<Parent>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) state: Position,
    /// The raw input of the state.
    pub(crate) input: Payload,
    pub(crate) entered_ms: i64,
    /// The AWS id of the event by which the state was entered.
    pub(crate) entered_id: u32,
    /// Retries so far in this visit, by retrier.
    pub(crate) retries: Vec<u32>,
    /// Variables of this scope alone.
    pub(crate) variables: Vec<(Arc<str>, Payload)>,
    pub(crate) phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) frame: FrameId,
    /// Which branch or item.
    pub(crate) index: u32,
}

/// What a frame is doing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    /// About to enter `state`.
    Entering,
    /// Entered, or to be run again: its work begins now.
    Running,
    Task(TaskPhase),
    Retrying {
        due_ms: i64,
    },
    Waiting {
        until_ms: i64,
    },
    Parallel {
        results: Vec<Option<Payload>>,
        children: Vec<FrameId>,
        remaining: u32,
    },
    Map(Box<MapPhase>),
    MapRun {
        attempt: Attempt,
        inputs: Payload,
    },
    /// A failure that nothing took: the execution is failing.
    Failed,
    Ended {
        output: Payload,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskPhase {
    pub(crate) attempt: Attempt,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) heartbeat_seconds: Option<u64>,
    pub(crate) heartbeat_due_ms: Option<i64>,
    pub(crate) started: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MapPhase {
    pub(crate) items: Payload,
    pub(crate) results: Vec<Option<Payload>>,
    pub(crate) next: u32,
    pub(crate) running: BTreeSet<FrameId>,
    pub(crate) failures: u32,
    pub(crate) max_concurrency: u32,

    pub(crate) distributed: bool,
}

impl Execution {
    #[must_use]
    pub fn new(program: Arc<Program>, identity: Identity) -> Self {
        Self {
            program,
            identity,
            status: Status::Running,
            input: Payload::new(Value::Null),
            started_ms: 0,
            frames: Vec::new(),
            attempts: 0,
            visible_events: 0,
            redrives: 0,
            timers: BTreeSet::new(),
        }
    }

    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    #[must_use]
    pub fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// When something is due next.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        self.timers.first().map(|(due, _)| *due)
    }

    pub(crate) fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.0 as usize)?.as_deref()
    }

    pub(crate) fn frame_mut(&mut self, id: FrameId) -> Option<&mut Frame> {
        self.frames.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// The id the next frame will have.
    pub(crate) fn next_frame(&self) -> FrameId {
        FrameId(u32::try_from(self.frames.len()).unwrap_or(u32::MAX))
    }

    /// The state a frame is in.
    #[must_use]
    pub fn state_of(&self, id: FrameId) -> Option<&State> {
        let frame = self.frame(id)?;
        frame.machine.states.get(frame.state as usize)
    }

    /// The item index of a frame that is an iteration, or of the nearest one around it.
    #[must_use]
    pub fn iteration_of(&self, id: FrameId) -> Option<u32> {
        let mut frame = self.frame(id)?;
        loop {
            let parent = frame.parent?;
            let around = self.frame(parent.frame)?;
            if matches!(around.phase, Phase::Map(_)) {
                return Some(parent.index);
            }
            frame = around;
        }
    }

    /// Whether a task's result would still be taken.
    #[must_use]
    pub fn awaits(&self, attempt: Attempt) -> bool {
        match self.frame(attempt.frame).map(|frame| &frame.phase) {
            Some(Phase::Task(task)) => task.attempt == attempt,
            Some(Phase::MapRun { attempt: run, .. }) => *run == attempt,
            _ => false,
        }
    }

    /// A sign of life of a task: moves its heartbeat on. Not an event: after a crash every task
    /// has its whole interval again.
    pub fn heartbeat(&mut self, attempt: Attempt, now_ms: i64) -> bool {
        if !self.awaits(attempt) {
            return false;
        }
        let Some(Frame { phase: Phase::Task(task), .. }) = self.frame_mut(attempt.frame) else {
            return true;
        };
        let Some(seconds) = task.heartbeat_seconds else { return true };
        let due = later(now_ms, seconds);
        let old = task.heartbeat_due_ms.replace(due);
        if let Some(old) = old {
            self.timers.remove(&(old, Timer::Heartbeat(attempt.frame)));
        }
        self.timers.insert((due, Timer::Heartbeat(attempt.frame)));
        true
    }

    /// Makes an event part of the execution. Cannot fail and evaluates nothing.
    pub fn apply(&mut self, event: &Event) {
        if is_visible(event) {
            self.visible_events += 1;
        }
        match event {
            Event::ExecutionStarted { at_ms, input } => self.start(*at_ms, input),
            Event::StateEntered { frame, at_ms, state, input } => {
                let id = self.visible_events;
                self.change(*frame, |frame| frame.enter(*state, input, *at_ms, id));
            }
            Event::StateExited { frame, output, assigned, next, .. } => {
                self.exit(*frame, output, assigned, *next);
            }
            Event::TaskScheduled { attempt, at_ms, heartbeat_seconds, deadline_ms, .. } => {
                self.schedule(*attempt, *at_ms, *heartbeat_seconds, *deadline_ms);
            }
            Event::TaskStarted { attempt, .. } => self.change(attempt.frame, |frame| {
                if let Phase::Task(task) = &mut frame.phase {
                    task.started = true;
                }
            }),
            Event::TaskSubmitted { .. }
            | Event::EvaluationFailed { .. }
            | Event::StateFailed { .. } => {}
            Event::TaskSucceeded { attempt, .. }
            | Event::TaskFailed { attempt, .. }
            | Event::TaskTimedOut { attempt, .. } => self.settle(attempt.frame),
            Event::StateAborted { frame, .. } => {
                self.cancel_timers(*frame);
                self.change(*frame, |frame| {
                    if matches!(
                        frame.phase,
                        Phase::Task(_) | Phase::Retrying { .. } | Phase::Waiting { .. }
                    ) {
                        frame.phase = Phase::Failed;
                    }
                });
            }
            Event::RetryScheduled { frame, retrier, due_ms, .. } => {
                self.retry(*frame, *retrier, *due_ms);
            }
            Event::WaitStarted { frame, until_ms, .. } => {
                let until_ms = *until_ms;
                self.change(*frame, |frame| frame.phase = Phase::Waiting { until_ms });
                self.timers.insert((until_ms, Timer::Resume(*frame)));
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
                self.change(*frame, |frame| frame.phase = Phase::Map(Box::new(phase)));
            }
            Event::IterationStarted { frame, index, child, input, .. } => {
                self.start_iteration(*frame, *index, *child, input);
            }
            Event::IterationSucceeded { child, .. } => self.finish_iteration(*child, true),
            Event::IterationFailed { child, .. } => self.finish_iteration(*child, false),
            Event::IterationAborted { child, .. } => self.stop(*child),
            Event::MapRunStarted { frame, attempt, inputs, .. } => {
                self.attempts = self.attempts.max(attempt.number + 1);
                let (attempt, inputs) = (*attempt, inputs.clone());
                self.change(*frame, |frame| frame.phase = Phase::MapRun { attempt, inputs });
            }
            Event::MapRunSucceeded { frame, .. } | Event::MapRunFailed { frame, .. } => {
                self.change(*frame, |frame| frame.phase = Phase::Running);
            }
            Event::ExecutionSucceeded { output, .. } => {
                self.end(Status::Succeeded { output: output.clone() });
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

    fn start(&mut self, at_ms: i64, input: &Payload) {
        self.input = input.clone();
        self.started_ms = at_ms;
        let machine = self.program.machine.clone();
        self.arm_deadline(at_ms);
        self.frames.push(Some(Box::new(Frame::new(None, machine, input.clone()))));
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
        self.change(id, |frame| {
            for (name, value) in assigned {
                frame.assign(name, value);
            }
            match next {
                Some(next) => {
                    frame.state = next;
                    frame.input = output.clone();
                    frame.phase = Phase::Entering;
                }
                None => frame.phase = Phase::Ended { output: output.clone() },
            }
        });
        if next.is_none() {
            self.finish_branch(id, output);
        }
    }

    /// A branch hands its output to its Parallel state; an iteration waits for its own event.
    fn finish_branch(&mut self, id: FrameId, output: &Payload) {
        let Some(parent) = self.frame(id).and_then(|frame| frame.parent) else { return };
        if let Some(Phase::Parallel { results, remaining, .. }) =
            self.frame_mut(parent.frame).map(|frame| &mut frame.phase)
        {
            if let Some(slot) = results.get_mut(parent.index as usize) {
                *slot = Some(output.clone());
                *remaining -= 1;
            }
            self.frames[id.0 as usize] = None;
        }
    }

    fn schedule(
        &mut self,
        attempt: Attempt,
        at_ms: i64,
        heartbeat: Option<u64>,
        deadline_ms: Option<i64>,
    ) {
        self.attempts = self.attempts.max(attempt.number + 1);
        let heartbeat_due_ms = heartbeat.map(|seconds| later(at_ms, seconds));
        let phase = TaskPhase {
            attempt,
            deadline_ms,
            heartbeat_seconds: heartbeat,
            heartbeat_due_ms,
            started: false,
        };
        self.change(attempt.frame, |frame| frame.phase = Phase::Task(phase));
        let deadline = deadline_ms.map(|due| (due, Timer::TaskDeadline(attempt.frame)));
        let heartbeat = heartbeat_due_ms.map(|due| (due, Timer::Heartbeat(attempt.frame)));
        self.timers.extend(deadline.into_iter().chain(heartbeat));
    }

    /// A task is over, however it ended.
    fn settle(&mut self, id: FrameId) {
        self.cancel_timers(id);
        self.change(id, |frame| frame.phase = Phase::Running);
    }

    fn cancel_timers(&mut self, id: FrameId) {
        match self.frame(id).map(|frame| &frame.phase) {
            Some(Phase::Task(task)) => {
                let (deadline, heartbeat) = (task.deadline_ms, task.heartbeat_due_ms);
                if let Some(due) = deadline {
                    self.timers.remove(&(due, Timer::TaskDeadline(id)));
                }
                if let Some(due) = heartbeat {
                    self.timers.remove(&(due, Timer::Heartbeat(id)));
                }
            }
            Some(Phase::Retrying { due_ms: due } | Phase::Waiting { until_ms: due }) => {
                let due = *due;
                self.timers.remove(&(due, Timer::Resume(id)));
            }
            _ => {}
        }
    }

    fn retry(&mut self, id: FrameId, retrier: u32, due_ms: i64) {
        self.discard_children(id);
        self.change(id, |frame| {
            let index = retrier as usize;
            if frame.retries.len() <= index {
                frame.retries.resize(index + 1, 0);
            }
            frame.retries[index] += 1;
            frame.phase = Phase::Retrying { due_ms };
        });
        self.timers.insert((due_ms, Timer::Resume(id)));
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
            self.frames.push(Some(Box::new(Frame::new(parent, machine, input.clone()))));
        }
        let results = vec![None; count as usize];
        self.change(id, |frame| {
            frame.phase = Phase::Parallel { results, children, remaining: count };
        });
    }

    fn start_iteration(&mut self, id: FrameId, index: u32, child: FrameId, input: &Payload) {
        let Some(machine) = self.state_of(id).and_then(|state| match &state.kind {
            Kind::Map(map) => Some(map.processor.clone()),
            _ => None,
        }) else {
            return;
        };
        let parent = Some(Parent { frame: id, index });
        self.frames.push(Some(Box::new(Frame::new(parent, machine, input.clone()))));
        if let Some(Phase::Map(map)) = self.frame_mut(id).map(|frame| &mut frame.phase) {
            map.next = map.next.max(index + 1);
            map.running.insert(child);
        }
    }

    fn finish_iteration(&mut self, child: FrameId, succeeded: bool) {
        let Some(frame) = self.frame(child) else { return };
        let Some(parent) = frame.parent else { return };
        let output = match &frame.phase {
            Phase::Ended { output } if succeeded => Some(output.clone()),
            _ => None,
        };
        if let Some(Phase::Map(map)) = self.frame_mut(parent.frame).map(|frame| &mut frame.phase) {
            map.running.remove(&child);
            match output {
                Some(output) => map.results[parent.index as usize] = Some(output),
                None => map.failures += 1,
            }
        }
        if succeeded {
            self.frames[child.0 as usize] = None;
        } else {
            self.stop(child);
        }
    }

    /// Ends a frame and all inside it, as if it had never waited for anything. The frames stay, so
    /// that a redrive finds where they were.
    fn stop(&mut self, id: FrameId) {
        self.stop_children(id);
        self.cancel_timers(id);
        self.change(id, |frame| frame.phase = Phase::Failed);
    }

    pub(crate) fn children_of(&self, id: FrameId) -> Vec<FrameId> {
        match self.frame(id).map(|frame| &frame.phase) {
            Some(Phase::Parallel { children, .. }) => {
                children.iter().copied().filter(|child| self.frame(*child).is_some()).collect()
            }
            Some(Phase::Map(map)) => map.running.iter().copied().collect(),
            _ => Vec::new(),
        }
    }

    fn stop_children(&mut self, id: FrameId) {
        for child in self.children_of(id) {
            self.stop(child);
        }
    }

    /// Ends what is inside a frame for good.
    fn discard_children(&mut self, id: FrameId) {
        for child in self.children_of(id) {
            self.discard_children(child);
            self.cancel_timers(child);
            self.frames[child.0 as usize] = None;
        }
    }

    fn end(&mut self, status: Status) {
        self.status = status;
        self.timers.clear();
    }

    /// Every frame that had not ended runs its state again.
    fn redrive(&mut self, at_ms: i64, count: u32) {
        self.status = Status::Running;
        self.redrives = count;
        self.arm_deadline(at_ms);
        for frame in self.frames.iter_mut().flatten() {
            frame.retries.clear();
            if matches!(
                frame.phase,
                Phase::Failed
                    | Phase::Task(_)
                    | Phase::Retrying { .. }
                    | Phase::Waiting { .. }
                    | Phase::MapRun { .. }
            ) {
                frame.phase = Phase::Running;
            }
        }
    }
}

impl Frame {
    fn new(parent: Option<Parent>, machine: Arc<Machine>, input: Payload) -> Self {
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

    fn enter(&mut self, state: Position, input: &Payload, at_ms: i64, id: u32) {
        self.state = state;
        self.input = input.clone();
        self.entered_ms = at_ms;
        self.entered_id = id;
        // "Once the interpreter transitions to another state in any way, all the Retrier
        // parameters reset."
        self.retries.clear();
        self.phase = Phase::Running;
    }

    fn assign(&mut self, name: &Arc<str>, value: &Payload) {
        match self.variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.clone(),
            None => self.variables.push((name.clone(), value.clone())),
        }
    }
}

impl MapPhase {
    fn new(items: &Payload, max_concurrency: u32, distributed: bool) -> Self {
        let length = items.as_array().map_or(0, Vec::len);
        Self {
            items: items.clone(),
            results: vec![None; if distributed { 0 } else { length }],
            next: 0,
            running: BTreeSet::new(),
            failures: 0,
            max_concurrency,
            distributed,
        }
    }
}

/// Whether the AWS history has an event for it.
pub(crate) fn is_visible(event: &Event) -> bool {
    !matches!(
        event,
        Event::RetryScheduled { .. } | Event::StateFailed { .. } | Event::WaitStarted { .. }
    )
}

/// `seconds` after a moment.
pub(crate) fn later(from_ms: i64, seconds: u64) -> i64 {
    from_ms.saturating_add(i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX))
}
