//! What an execution is at one moment: the fold of all that has happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use everstep_asl::model::{Kind, Pattern, Resource, State};
use everstep_asl::{Machine, error_name};
use everstep_history::{Attempt, Event, Failure, FrameId, Payload, Position};
use serde_json::Value;

use crate::map_run::MapRun;
use crate::{Dialect, Identity, Limits, Refusal};

/// A definition and the rules it runs by, shared by all its executions.
#[derive(Debug)]
pub struct Program {
    pub machine: Arc<Machine>,
    pub dialect: Dialect,
    pub limits: Limits,
}

impl Program {
    /// The failure of an execution that ran longer than it may, as its history has it.
    #[must_use]
    pub fn timeout(&self) -> Failure {
        let seconds = self.machine.timeout_seconds.unwrap_or_default();
        timed_out(self.dialect, || {
            format!("The execution ran longer than its TimeoutSeconds ({seconds} s).")
        })
    }

    /// The same, as the execution shows it.
    #[must_use]
    pub fn shown_timeout(&self) -> Failure {
        if self.dialect.shows_timeout_of_execution() { self.timeout() } else { Failure::default() }
    }
}

/// `States.Timeout`, with the cause if the dialect has one.
pub(crate) fn timed_out(dialect: Dialect, cause: impl FnOnce() -> String) -> Failure {
    let cause = dialect.explains_timeouts().then(|| cause().into());
    Failure { error: Some(error_name::TIMEOUT.into()), cause }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    Running,
    Succeeded { output: Payload },
    Failed { failure: Failure },
    TimedOut,
    Aborted { failure: Failure },
}

/// An execution: everything that is needed to continue, and nothing that could be derived.
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
    /// See [`Execution::held_bytes`].
    pub(crate) held_bytes: usize,
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
    MapRun(Box<MapRunPhase>),
    /// Stopped by a failure that nothing took; a redrive runs its state again.
    Failed,
    Ended {
        output: Payload,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct TaskPhase {
    pub(crate) attempt: Attempt,
    pub(crate) scheduled_ms: i64,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) heartbeat_seconds: Option<u64>,
    pub(crate) heartbeat_due_ms: Option<i64>,
    /// When it began: for an activity, when a worker was given it.
    pub(crate) started_ms: Option<i64>,
    pub(crate) submitted: bool,
}

/// Kept when the Map Run is over, so that a redrive can continue it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MapRunPhase {
    pub(crate) attempt: Attempt,
    pub(crate) over: bool,
    pub(crate) plan: MapRun,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MapPhase {
    pub(crate) items: Payload,
    pub(crate) results: Vec<Option<Payload>>,
    pub(crate) next: u32,
    pub(crate) running: BTreeSet<FrameId>,
    /// Iterations that failed and were tolerated, or that the Map failed with.
    pub(crate) failed: Vec<FrameId>,
    /// Iterations that a redrive has yet to take up again.
    pub(crate) paused: BTreeSet<FrameId>,
    pub(crate) max_concurrency: u32,
    /// Its items are for child executions; their inputs are being selected.
    pub(crate) distributed: bool,
    /// Lists of inputs that were selected for them.
    pub(crate) selected: Vec<Payload>,
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
            held_bytes: 0,
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

    /// Events so far that the AWS history shows.
    #[must_use]
    pub fn shown_events(&self) -> u32 {
        self.visible_events
    }

    /// Whether its first event has happened.
    pub(crate) fn has_started(&self) -> bool {
        self.visible_events > 0
    }

    /// Whether the history has room for another event besides the last one.
    pub(crate) fn has_room(&self) -> bool {
        self.program.limits.history_events.is_none_or(|limit| self.visible_events + 1 < limit)
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

    /// Whether the result of a task or of a distributed Map's children would still be taken.
    #[must_use]
    pub fn awaits(&self, attempt: Attempt) -> bool {
        self.task(attempt).is_some() || self.awaits_run(attempt)
    }

    pub(crate) fn awaits_run(&self, attempt: Attempt) -> bool {
        self.status == Status::Running
            && self.map_run(attempt.frame).is_some_and(|run| run.attempt == attempt && !run.over)
    }

    /// The Map Run that a frame waits for, or had waited for when it failed.
    pub(crate) fn map_run(&self, frame: FrameId) -> Option<&MapRunPhase> {
        match &self.frame(frame)?.phase {
            Phase::MapRun(run) => Some(run),
            _ => None,
        }
    }

    /// The task of an attempt that is not over.
    pub(crate) fn task(&self, attempt: Attempt) -> Option<&TaskPhase> {
        match &self.frame(attempt.frame)?.phase {
            Phase::Task(task) if task.attempt == attempt && self.status == Status::Running => {
                Some(task)
            }
            _ => None,
        }
    }

    /// Attempts that the world was still busy with when the execution ended.
    pub(crate) fn left_behind(&self) -> impl Iterator<Item = Attempt> {
        self.frames.iter().flatten().filter_map(|frame| match &frame.phase {
            Phase::Task(task) => Some(task.attempt),
            Phase::MapRun(run) if !run.over => Some(run.attempt),
            _ => None,
        })
    }

    /// A heartbeat of a task: the next one is due an interval from now. Not an event: after a crash
    /// every task has its whole interval again.
    pub fn heartbeat(&mut self, attempt: Attempt, now_ms: i64) -> Result<(), Refusal> {
        self.awaited(attempt)?;
        if let Some(TaskPhase { heartbeat_seconds: Some(seconds), .. }) = self.task(attempt) {
            self.expect_heartbeat(attempt, later(now_ms, *seconds));
        }
        Ok(())
    }

    /// When the next heartbeat of each task that sends them is due.
    #[must_use]
    pub fn heartbeats(&self) -> Vec<(Attempt, i64)> {
        let of_timer = |(due, timer): &(i64, Timer)| match timer {
            Timer::Heartbeat(frame) => match &self.frame(*frame)?.phase {
                Phase::Task(task) => Some((task.attempt, *due)),
                _ => None,
            },
            _ => None,
        };
        self.timers.iter().filter_map(of_timer).collect()
    }

    /// Sets when the next heartbeat of a task is due. See [`Execution::heartbeats`].
    pub fn expect_heartbeat(&mut self, attempt: Attempt, due_ms: i64) {
        let Some(Frame { phase: Phase::Task(task), .. }) = self.frame_mut(attempt.frame) else {
            return;
        };
        if task.attempt != attempt {
            return;
        }
        let Some(old) = task.heartbeat_due_ms.replace(due_ms) else {
            task.heartbeat_due_ms = None;
            return;
        };
        self.timers.remove(&(old, Timer::Heartbeat(attempt.frame)));
        self.timers.insert((due_ms, Timer::Heartbeat(attempt.frame)));
    }

    /// Whether the attempt is in other hands and will be reported without another dispatch: a callback's token
    /// was given away. Whether a worker has the task of an activity is not known here: see
    /// [`Execution::handed_out_ms`].
    #[must_use]
    pub fn is_handed_over(&self, attempt: Attempt) -> bool {
        let Some(task) = self.task(attempt) else { return false };
        let Some(State { kind: Kind::Task(model), .. }) = self.state_of(attempt.frame) else {
            return false;
        };
        match &*model.resource {
            Resource::Activity { .. } => false,
            resource => task.submitted && resource.pattern() == Pattern::WaitForTaskToken,
        }
    }

    /// When it was recorded that a worker is given this task, if it was. A crash hides whether the worker got it.
    #[must_use]
    pub fn handed_out_ms(&self, attempt: Attempt) -> Option<i64> {
        self.task(attempt)?.started_ms
    }

    /// Whether something must be dispatched again after a crash.
    #[must_use]
    pub fn has_undelivered(&self) -> bool {
        self.status == Status::Running
            && self.left_behind().any(|attempt| !self.is_handed_over(attempt))
    }

    /// Whether any of its tasks must send heartbeats.
    #[must_use]
    pub fn has_heartbeats(&self) -> bool {
        self.timers.iter().any(|(_, timer)| matches!(timer, Timer::Heartbeat(_)))
    }

    /// Attempts whose results it waits for.
    #[must_use]
    pub fn open_attempts(&self) -> usize {
        if self.status == Status::Running { self.left_behind().count() } else { 0 }
    }

    /// Whether this attempt has been scheduled, be it over or not.
    pub(crate) fn knows(&self, attempt: Attempt) -> bool {
        attempt.number < self.attempts
    }

    #[must_use]
    pub fn input(&self) -> &Payload {
        &self.input
    }

    /// What runs inside a frame.
    pub(crate) fn children_of(&self, id: FrameId) -> Vec<FrameId> {
        match self.frame(id).map(|frame| &frame.phase) {
            Some(Phase::Parallel { children, .. }) => {
                children.iter().copied().filter(|child| self.frame(*child).is_some()).collect()
            }
            Some(Phase::Map(map)) => map.running.iter().copied().collect(),
            _ => Vec::new(),
        }
    }
}

/// As a fold of the same events gives it. Heartbeats are no events, so the moment of the next one is
/// left out, and so are the bytes, which depend on white space.
impl PartialEq for Execution {
    fn eq(&self, other: &Self) -> bool {
        let durable = |timer: &&(i64, Timer)| !matches!(timer.1, Timer::Heartbeat(_));
        Arc::ptr_eq(&self.program, &other.program)
            && self.identity == other.identity
            && self.status == other.status
            && self.input == other.input
            && self.started_ms == other.started_ms
            && self.frames == other.frames
            && self.attempts == other.attempts
            && self.visible_events == other.visible_events
            && self.redrives == other.redrives
            && self.timers.iter().filter(durable).eq(other.timers.iter().filter(durable))
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.machine, &other.machine)
            && self.parent == other.parent
            && self.state == other.state
            && self.input == other.input
            && self.entered_ms == other.entered_ms
            && self.entered_id == other.entered_id
            && self.retries == other.retries
            && self.variables == other.variables
            && self.phase == other.phase
    }
}

impl PartialEq for TaskPhase {
    fn eq(&self, other: &Self) -> bool {
        self.attempt == other.attempt
            && self.scheduled_ms == other.scheduled_ms
            && self.deadline_ms == other.deadline_ms
            && self.heartbeat_seconds == other.heartbeat_seconds
            && self.started_ms == other.started_ms
            && self.submitted == other.submitted
    }
}

impl Phase {
    pub(crate) fn has_children(&self) -> bool {
        matches!(self, Self::Parallel { .. } | Self::Map(_))
    }

    pub(crate) fn waits_for_time(&self) -> bool {
        matches!(self, Self::Task(_) | Self::Retrying { .. } | Self::Waiting { .. })
    }

    /// What is due for a frame in this phase.
    pub(crate) fn timers(&self, id: FrameId) -> [Option<(i64, Timer)>; 2] {
        match self {
            Self::Task(task) => [
                task.deadline_ms.map(|due| (due, Timer::TaskDeadline(id))),
                task.heartbeat_due_ms.map(|due| (due, Timer::Heartbeat(id))),
            ],
            Self::Retrying { due_ms: due } | Self::Waiting { until_ms: due } => {
                [Some((*due, Timer::Resume(id))), None]
            }
            _ => [None, None],
        }
    }
}

impl MapPhase {
    pub(crate) fn new(items: &Payload, max_concurrency: u32, distributed: bool) -> Self {
        let length = items.as_array().map_or(0, Vec::len);
        Self {
            items: items.clone(),
            results: vec![None; if distributed { 0 } else { length }],
            next: 0,
            running: BTreeSet::new(),
            failed: Vec::new(),
            paused: BTreeSet::new(),
            max_concurrency,
            distributed,
            selected: Vec::new(),
        }
    }

    /// How many inputs have been selected for child executions.
    pub(crate) fn selected_count(&self) -> usize {
        let length = |list: &Payload| list.as_array().map_or(0, Vec::len);
        self.selected.iter().map(length).sum()
    }
}

/// Whether the AWS history has an event for it.
#[must_use]
pub fn is_shown(event: &Event) -> bool {
    !matches!(
        event,
        Event::RetryScheduled { .. }
            | Event::StateFailed { .. }
            | Event::WaitStarted { .. }
            | Event::MapInputsSelected { .. }
    )
}

/// `seconds` after a moment.
pub(crate) fn later(from_ms: i64, seconds: u64) -> i64 {
    from_ms.saturating_add(i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX))
}
