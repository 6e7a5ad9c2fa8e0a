//! The fold from events to entries.
//!
//! It is separate from the interpreter's: it knows where each branch and item is, how often it was tried and
//! what it is doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use everstep_asl::handling;
use everstep_asl::model::{Jitter, Kind};
use everstep_asl::{Dialect, Machine};
use everstep_interpreter::{Event, Failure, FrameId};

use crate::entry::{Entry, Handler, Happened, Retrier, Verdict};
use crate::frame::{Activity, Frame};

/// The execution (0), or a child of a distributed Map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub usize);

#[derive(Default)]
pub struct Story {
    start_ms: i64,
    now_ms: i64,
    frames: BTreeMap<(RunId, FrameId), Frame>,
    entries: Vec<Entry>,
    /// Where in the entries those of the last decision begin.
    last_batch: usize,
    states: usize,
    retries: usize,
    /// The events were read back from a history, which does not record what was drawn at random.
    from_history: bool,
    dialect: Dialect,
}

impl Story {
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }

    /// Of an execution whose history is all that is known.
    #[must_use]
    pub fn from_history(dialect: Dialect) -> Self {
        Self { from_history: true, ..Self::new(dialect) }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What happened in the decision that ended the execution.
    pub fn last_entries(&self) -> &[Entry] {
        &self.entries[self.last_batch..]
    }

    pub fn states(&self) -> usize {
        self.states
    }

    pub fn retries(&self) -> usize {
        self.retries
    }

    pub fn elapsed_ms(&self) -> i64 {
        self.now_ms - self.start_ms
    }

    /// What is under way: tasks that run, states that wait, retries to come.
    pub fn activities(&self) -> Vec<String> {
        self.frames.values().filter_map(|frame| frame.activity(self.now_ms)).collect()
    }

    /// Lets time pass.
    pub fn at(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// An execution begins, or a child for an item of a distributed Map.
    pub fn begin(
        &mut self,
        run: RunId,
        machine: Arc<Machine>,
        parent: Option<(RunId, FrameId, usize)>,
    ) {
        let around = parent.and_then(|(run, frame, index)| {
            self.frames.get(&(run, frame)).map(|around| around.inside(index))
        });
        let frame = Frame::new(around.unwrap_or_default(), machine);
        self.frames.insert((run, FrameId::ROOT), frame);
    }

    /// Which attempt of its state a task is, from 1.
    pub fn attempt(&self, run: RunId, frame: FrameId) -> u32 {
        self.frames.get(&(run, frame)).map_or(1, |frame| frame.attempts)
    }

    /// A command wrote a line on standard error.
    pub fn said(&mut self, run: RunId, frame: FrameId, now_ms: i64, line: &str) -> &[Entry] {
        let before = self.entries.len();
        self.add(run, frame, now_ms, Happened::Said { line: line.to_owned() });
        &self.entries[before..]
    }

    /// Takes the events of one decision, and returns the entries they add.
    pub fn observe(&mut self, run: RunId, events: &[Event]) -> &[Entry] {
        let before = self.entries.len();
        // An execution that is over decides nothing more.
        if !events.is_empty() {
            self.last_batch = self.entries.len();
        }
        for event in events {
            self.take(run, event);
        }
        &self.entries[before..]
    }

    fn add(&mut self, run: RunId, id: FrameId, at_ms: i64, happened: Happened) {
        self.now_ms = at_ms;
        let Some(frame) = self.frames.get(&(run, id)) else { return };
        let state = frame.state();
        let entry = Entry {
            at_ms: at_ms - self.start_ms,
            scope: frame.scope.clone(),
            state: state.name.to_string(),
            kind: state.kind.name(),
            happened,
        };
        self.entries.push(entry);
    }

    fn change(&mut self, run: RunId, id: FrameId, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frames.get_mut(&(run, id)) {
            change(frame);
        }
    }

    fn take(&mut self, run: RunId, event: &Event) {
        match event {
            Event::ExecutionStarted { at_ms, .. } if run == RunId(0) => {
                (self.start_ms, self.now_ms) = (*at_ms, *at_ms);
            }
            Event::StateEntered { frame, at_ms, state, .. } => {
                self.states += 1;
                self.now_ms = *at_ms;
                self.change(run, *frame, |frame| frame.enter(*state, *at_ms));
            }
            Event::StateExited { frame, at_ms, next, .. } => {
                self.exited(run, *frame, *at_ms, *next);
            }
            Event::TaskScheduled { attempt, at_ms, deadline_ms, heartbeat_seconds, .. } => {
                let heartbeat_ms = heartbeat_seconds
                    .and_then(|seconds| i64::try_from(seconds.saturating_mul(1000)).ok());
                self.change(run, attempt.frame, |frame| {
                    frame.start();
                    frame.limits_ms = (deadline_ms.map(|due| due - at_ms), heartbeat_ms);
                    frame.activity = Activity::Running { since_ms: *at_ms };
                });
            }
            Event::TaskSucceeded { attempt, .. } | Event::TaskFailed { attempt, .. } => {
                self.change(run, attempt.frame, |frame| frame.activity = Activity::Idle);
            }
            Event::TaskTimedOut { attempt, heartbeat, .. } => {
                self.change(run, attempt.frame, |frame| frame.time_out(*heartbeat));
            }
            Event::RetryScheduled { frame, at_ms, retrier, due_ms, failure } => {
                self.retries += 1;
                self.retried(run, *frame, *at_ms, (*retrier, *due_ms), failure);
            }
            Event::StateFailed { frame, at_ms, failure, retrier, catcher } => {
                self.failed(run, *frame, *at_ms, failure, (*retrier, *catcher));
            }
            Event::WaitStarted { frame, at_ms, until_ms } => {
                let until_ms = *until_ms;
                self.change(run, *frame, |frame| frame.activity = Activity::Waiting { until_ms });
                self.add(run, *frame, *at_ms, Happened::Waiting { duration_ms: until_ms - at_ms });
            }
            Event::ParallelStarted { frame, at_ms, first, branches, .. } => {
                self.change(run, *frame, Frame::start);
                self.add(run, *frame, *at_ms, Happened::BranchesStarted { branches: *branches });
                self.branch(run, *frame, *first);
            }
            Event::MapStarted { frame, at_ms, items, max_concurrency, distributed } => {
                self.change(run, *frame, |frame| {
                    frame.start();
                    frame.max_concurrency = *max_concurrency;
                });
                let items = items.as_array().map_or(0, Vec::len);
                let happened = Happened::ItemsStarted { items, distributed: *distributed };
                self.add(run, *frame, *at_ms, happened);
            }
            Event::IterationStarted { frame, index, child, .. } => {
                self.iterate(run, *frame, *index, *child);
            }
            Event::StateAborted { frame, at_ms, .. } => self.aborted(run, *frame, *at_ms),
            Event::ExecutionSucceeded { at_ms, .. }
            | Event::ExecutionFailed { at_ms, .. }
            | Event::ExecutionTimedOut { at_ms }
            | Event::ExecutionAborted { at_ms, .. } => {
                self.now_ms = *at_ms;
                // Where the execution itself was is reported at its end.
                if run != RunId(0) {
                    self.frames.retain(|(of, _), _| *of != run);
                }
            }
            _ => {}
        }
    }

    fn exited(&mut self, run: RunId, id: FrameId, at_ms: i64, next: Option<u32>) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        frame.activity = Activity::Idle;
        if frame.caught {
            return;
        }
        let next = next.and_then(|next| frame.machine.states.get(next as usize));
        let happened = Happened::Succeeded {
            duration_ms: at_ms - frame.entered_ms,
            attempts: frame.attempts,
            next: next.map(|state| state.name.to_string()),
        };
        self.add(run, id, at_ms, happened);
    }

    fn retried(
        &mut self,
        run: RunId,
        id: FrameId,
        at_ms: i64,
        (index, due_ms): (u32, i64),
        failure: &Failure,
    ) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        let retry = frame.retries.entry(index).or_default();
        *retry += 1;
        let retry = *retry;
        frame.activity = Activity::Retrying { due_ms };
        let retriers = frame.state().retry();
        let Some(retrier) = retriers.get(index as usize) else { return };
        let raised = frame.raised(failure);
        // The journal decides, even if a later version would match differently.
        let matched =
            handling::matching(&retrier.error_equals, frame.state(), raised, self.dialect);
        let matched = matched.map_or_else(|_| retrier.error_equals.join(", "), str::to_owned);
        let happened = Happened::Retried {
            problem: frame.problem(failure),
            attempt: frame.attempts,
            retrier: Retrier {
                number: index as usize + 1,
                of: retriers.len(),
                matched,
                retry,
                max_attempts: retrier.max_attempts,
                delay_ms: due_ms - at_ms,
                at_most: self.from_history && retrier.jitter == Jitter::Full,
            },
            otherwise: (u64::from(retry) == retrier.max_attempts)
                .then(|| frame.otherwise(failure, self.dialect)),
        };
        self.add(run, id, at_ms, happened);
    }

    fn failed(
        &mut self,
        run: RunId,
        id: FrameId,
        at_ms: i64,
        failure: &Failure,
        (retrier, catcher): (Option<u32>, Option<u32>),
    ) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        frame.activity = Activity::Idle;
        frame.caught = catcher.is_some();
        let (parent, origin) = (frame.parent, frame.raised(failure).origin);
        let state = frame.state();
        let (retriers, catchers) = (state.retry(), state.catch());
        let used_up = |index: usize| Verdict::UsedUp(retriers[index].max_attempts);
        let reason = |names: &[String]| frame.mismatch(names, failure, self.dialect);
        let happened = Happened::Failed {
            problem: frame.problem(failure),
            attempts: frame.attempts,
            retriers: handlers(
                retriers.iter().map(|retrier| &retrier.error_equals),
                retrier,
                used_up,
                reason,
            ),
            catchers: handlers(
                catchers.iter().map(|catcher| &catcher.error_equals),
                catcher,
                |_| Verdict::TookOver,
                reason,
            ),
            next: catcher
                .and_then(|index| Some(catchers.get(index as usize)?.next.name.to_string())),
        };
        self.add(run, id, at_ms, happened);
        if let Some(parent) = parent.filter(|_| catcher.is_none()) {
            self.change(run, parent, |parent| parent.inner = Some(origin));
        }
    }

    fn branch(&mut self, run: RunId, id: FrameId, first: FrameId) {
        let Some(frame) = self.frames.get(&(run, id)) else { return };
        let Kind::Parallel(parallel) = &frame.state().kind else { return };
        let branches: Vec<Frame> = parallel
            .branches
            .iter()
            .enumerate()
            .map(|(index, machine)| frame.child(id, index, machine.clone()))
            .collect();
        let ids = (first.0..).map(|id| (run, FrameId(id)));
        self.frames.extend(ids.zip(branches));
    }

    fn iterate(&mut self, run: RunId, id: FrameId, index: u32, child: FrameId) {
        let Some(frame) = self.frames.get(&(run, id)) else { return };
        let Kind::Map(map) = &frame.state().kind else { return };
        let iteration = frame.child(id, index as usize, map.processor.clone());
        self.frames.insert((run, child), iteration);
    }

    fn aborted(&mut self, run: RunId, id: FrameId, at_ms: i64) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        if frame.activity == Activity::Idle {
            return;
        }
        frame.activity = Activity::Idle;
        self.add(run, id, at_ms, Happened::Aborted);
    }
}

fn handlers<'e>(
    lists: impl Iterator<Item = &'e Vec<String>>,
    matched: Option<u32>,
    verdict: impl Fn(usize) -> Verdict,
    reason: impl Fn(&[String]) -> Option<String>,
) -> Vec<Handler> {
    let matched = matched.map(|index| index as usize);
    let handler = |(index, error_equals): (usize, &Vec<String>)| {
        let (verdict, reason) = match matched {
            Some(found) if found == index => (verdict(index), None),
            Some(found) if found < index => (Verdict::NotAsked, None),
            _ => (Verdict::NoMatch, reason(error_equals)),
        };
        Handler { error_equals: error_equals.clone(), verdict, reason }
    };
    lists.enumerate().map(handler).collect()
}
