//! The fold from events to entries.
//!
//! It is separate from the interpreter's: it knows where each branch and item is, how often it was tried and
//! what it is doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use everstep_asl::handling;
use everstep_asl::model::{Jitter, Kind};
use everstep_asl::{Dialect, Machine};
use everstep_interpreter::{Event, Failure, FrameId, Limits};

use crate::entry::{Entry, Handler, Happened, Retrier, Verdict};
use crate::frame::Frame;
use crate::report::{ACTIVITIES_MAX, Activity, Doing, Excerpt, FAILURES_MAX, Report, Standing};
use crate::visit::{EventPlace, Outcome, Visit};

/// The execution (0), or a child of a distributed Map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub usize);

pub struct Story {
    dialect: Dialect,
    limits: Limits,
    cause_bytes_max: usize,
    start_ms: i64,
    now_ms: i64,
    frames: BTreeMap<(RunId, FrameId), Frame>,
    entries: Vec<Entry>,
    visits: Vec<Visit>,
    /// The event that is being read.
    place: EventPlace,
    states: usize,
    retries: usize,
    standing: Standing,
    /// About as many as it takes in memory.
    bytes: usize,
}

/// What an entry, a visit or an attempt takes beside its texts, about.
const ENTRY_BYTES: usize = 400;
const VISIT_BYTES: usize = 400;
const ATTEMPT_BYTES: usize = 100;
/// A frame, and the names around it.
const FRAME_BYTES: usize = 600;

impl Default for Story {
    fn default() -> Self {
        Self::new(Dialect::default())
    }
}

impl Story {
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            limits: Limits::default(),
            cause_bytes_max: usize::MAX,
            start_ms: 0,
            now_ms: 0,
            frames: BTreeMap::new(),
            entries: Vec::new(),
            visits: Vec::new(),
            place: EventPlace { step: 0, index: 0 },
            states: 0,
            retries: 0,
            standing: Standing::Running,
            bytes: 0,
        }
    }

    /// Of an execution that runs by these limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Longer causes are cut.
    #[must_use]
    pub fn with_causes_up_to(self, cause_bytes_max: usize) -> Self {
        Self { cause_bytes_max, ..self }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// In the order of their begin.
    pub fn visits(&self) -> &[Visit] {
        &self.visits
    }

    pub fn states(&self) -> usize {
        self.states
    }

    pub fn retries(&self) -> usize {
        self.retries
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// About as many as it takes in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn start_ms(&self) -> i64 {
        self.start_ms
    }

    pub fn elapsed_ms(&self) -> i64 {
        self.now_ms - self.start_ms
    }

    /// What is under way: tasks that run, states that wait, retries to come.
    pub fn activities(&self) -> Vec<Activity> {
        self.frames.iter().filter_map(|((run, _), frame)| self.activity(*run, frame)).collect()
    }

    fn activity(&self, run: RunId, frame: &Frame) -> Option<Activity> {
        let doing = frame.doing?.since(self.start_ms);
        // The children of a Map Run that are here too say more than the Map does.
        let has_children = || self.frames.keys().any(|(other, _)| *other > run);
        if matches!(frame.state().kind, Kind::Map(_)) && has_children() {
            return None;
        }
        Some(Activity { scope: frame.scope.clone(), state: frame.state().name.to_string(), doing })
    }

    /// All in all, as of the last event or of the time that [`Self::at`] said.
    #[must_use]
    pub fn report(&self) -> Report {
        let activities = self.activities();
        let activities: Vec<&Activity> = activities.iter().collect();
        let ending = self.ending();
        let is_earlier = |(index, entry): &(usize, &Entry)| {
            matches!(entry.happened, Happened::Failed { .. }) && !ending.contains(index)
        };
        let earlier = self.entries.iter().enumerate().filter(is_earlier);
        let earlier: Vec<&Entry> = earlier.map(|(_, entry)| entry).collect();
        let entry = |index: &usize| &self.entries[*index];
        let ending: Vec<&Entry> = ending.iter().map(entry).collect();
        let open: Vec<&Entry> = self.open().map(|index| &self.entries[index]).collect();
        Report {
            status: self.standing,
            elapsed_ms: self.elapsed_ms(),
            states: self.states,
            retries: self.retries,
            activities: Excerpt::of(&activities, ACTIVITIES_MAX),
            open: Excerpt::of(&open, FAILURES_MAX),
            ending: Excerpt::of(&ending, FAILURES_MAX),
            earlier: Excerpt::of(&earlier, FAILURES_MAX),
        }
    }

    /// The entries of the failure that ended the execution, from the inside out.
    fn ending(&self) -> Vec<usize> {
        let root = self
            .frames
            .get(&(RunId(0), FrameId::ROOT))
            .filter(|_| self.standing == Standing::Failed);
        root.map_or(Vec::new(), |root| [root.blame.as_slice(), root.failure.as_slice()].concat())
    }

    /// The entries of failures that are being retried.
    fn open(&self) -> impl Iterator<Item = usize> {
        let is_open = |frame: &&Frame| {
            let visit = frame.visit.and_then(|visit| self.visits.get(visit));
            visit.is_some_and(|visit| visit.outcome == Outcome::Open)
        };
        let failures = self.frames.values().filter(is_open).filter_map(|frame| frame.failure);
        failures.filter(|index| matches!(self.entries[*index].happened, Happened::Retried { .. }))
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
            self.frames.get(&(run, frame)).map(|around| around.inside(index, machine.clone()))
        });
        let frame = around.unwrap_or_else(|| Frame::new(Vec::new(), "".into(), machine));
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

    /// Takes the events of one step, and returns the entries they add.
    pub fn observe(&mut self, run: RunId, events: &[Event]) -> &[Entry] {
        let before = self.entries.len();
        self.place.index = 0;
        for event in events {
            self.take(run, event);
            self.place.index += 1;
        }
        self.place.step += 1;
        &self.entries[before..]
    }

    /// Adds an entry, and returns its index.
    fn add(&mut self, run: RunId, id: FrameId, at_ms: i64, happened: Happened) -> Option<usize> {
        self.now_ms = at_ms;
        let frame = self.frames.get(&(run, id))?;
        let state = frame.state();
        self.bytes += ENTRY_BYTES + happened.bytes();
        let entry = Entry {
            at_ms: at_ms - self.start_ms,
            scope: frame.scope.clone(),
            state: state.name.to_string(),
            kind: state.kind.name().into(),
            happened,
            visit: frame.visit,
        };
        self.entries.push(entry);
        Some(self.entries.len() - 1)
    }

    fn change(&mut self, run: RunId, id: FrameId, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frames.get_mut(&(run, id)) {
            change(frame);
        }
    }

    /// The visit that a frame is at.
    fn visit(&mut self, run: RunId, id: FrameId, change: impl FnOnce(&mut Visit, EventPlace)) {
        let visit = self.frames.get(&(run, id)).and_then(|frame| frame.visit);
        if let Some(visit) = visit.and_then(|visit| self.visits.get_mut(visit)) {
            change(visit, self.place);
        }
    }

    fn take(&mut self, run: RunId, event: &Event) {
        let since_start = |ms: &i64| ms - self.start_ms;
        match event {
            Event::ExecutionStarted { at_ms, .. } if run == RunId(0) => {
                (self.start_ms, self.now_ms) = (*at_ms, *at_ms);
            }
            Event::StateEntered { frame, at_ms, state, .. } => {
                self.entered(run, *frame, *at_ms, *state);
            }
            Event::StateExited { frame, at_ms, next, .. } => {
                self.exited(run, *frame, *at_ms, *next);
            }
            Event::TaskScheduled { attempt, at_ms, deadline_ms, heartbeat_seconds, .. } => {
                let heartbeat_ms = heartbeat_seconds
                    .and_then(|seconds| i64::try_from(seconds.saturating_mul(1000)).ok());
                self.begun(run, attempt.frame, *at_ms);
                self.change(run, attempt.frame, |frame| {
                    frame.limits_ms = (deadline_ms.map(|due| due - at_ms), heartbeat_ms);
                    frame.doing = Some(Doing::Running { since_ms: *at_ms });
                });
            }
            Event::TaskStarted { attempt, at_ms, .. } => {
                let started_ms = since_start(at_ms);
                self.visit(run, attempt.frame, |visit, _| {
                    if let Some(attempt) = visit.open_attempt() {
                        attempt.started_ms = Some(started_ms);
                    }
                });
            }
            Event::TaskSucceeded { attempt, at_ms, .. }
            | Event::TaskFailed { attempt, at_ms, .. }
            | Event::TaskTimedOut { attempt, at_ms, .. } => {
                let ended_ms = since_start(at_ms);
                self.change(run, attempt.frame, |frame| match event {
                    Event::TaskTimedOut { heartbeat, .. } => frame.time_out(*heartbeat),
                    _ => frame.doing = None,
                });
                self.visit(run, attempt.frame, |visit, place| visit.end_attempt(ended_ms, place));
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
                self.change(run, *frame, |frame| frame.doing = Some(Doing::Waiting { until_ms }));
                self.visit(run, *frame, |visit, _| visit.reopen());
                self.add(run, *frame, *at_ms, Happened::Waiting { duration_ms: until_ms - at_ms });
            }
            Event::ParallelStarted { frame, at_ms, first, branches, .. } => {
                self.begun(run, *frame, *at_ms);
                self.add(run, *frame, *at_ms, Happened::BranchesStarted { branches: *branches });
                self.branch(run, *frame, *first);
            }
            Event::MapStarted { frame, at_ms, items, max_concurrency, distributed } => {
                self.begun(run, *frame, *at_ms);
                self.change(run, *frame, |frame| frame.max_concurrency = *max_concurrency);
                let items = items.as_array().map_or(0, Vec::len);
                let happened = Happened::ItemsStarted { items, distributed: *distributed };
                self.add(run, *frame, *at_ms, happened);
            }
            Event::MapRunStarted { frame, at_ms, .. }
            | Event::MapRunRedriven { frame, at_ms, .. } => {
                let since_ms = *at_ms;
                self.change(run, *frame, |frame| frame.doing = Some(Doing::Running { since_ms }));
                self.visit(run, *frame, |visit, _| visit.reopen());
            }
            Event::MapRunSucceeded { frame, .. } | Event::MapRunFailed { frame, .. } => {
                self.change(run, *frame, |frame| frame.doing = None);
            }
            Event::IterationStarted { frame, index, child, .. } => {
                self.iterate(run, *frame, *index, *child);
            }
            Event::StateAborted { frame, at_ms, .. } => self.aborted(run, *frame, *at_ms),
            Event::ExecutionRedriven { at_ms, count } => self.redriven(run, *at_ms, *count),
            Event::ExecutionSucceeded { at_ms, .. }
            | Event::ExecutionFailed { at_ms, .. }
            | Event::ExecutionTimedOut { at_ms }
            | Event::ExecutionAborted { at_ms, .. } => {
                let standing = match event {
                    Event::ExecutionSucceeded { .. } => Standing::Succeeded,
                    Event::ExecutionFailed { .. } => Standing::Failed,
                    Event::ExecutionTimedOut { .. } => Standing::TimedOut,
                    _ => Standing::Aborted,
                };
                self.ended(run, *at_ms, standing);
            }
            _ => {}
        }
    }

    fn entered(&mut self, run: RunId, id: FrameId, at_ms: i64, state: u32) {
        self.states += 1;
        self.now_ms = at_ms;
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        frame.enter(state, at_ms);
        frame.visit = Some(self.visits.len());
        self.bytes += VISIT_BYTES;
        self.visits.push(Visit {
            place: frame.place(),
            scope: frame.scope.clone(),
            state: frame.state().name.as_ref().into(),
            kind: frame.state().kind.name(),
            entered_ms: at_ms - self.start_ms,
            left_ms: None,
            outcome: Outcome::Open,
            attempts: Vec::new(),
            entered: self.place,
            left: None,
            failure: None,
        });
    }

    /// Another attempt of a state begins. Nothing is left of the branches and items of the one before.
    fn begun(&mut self, run: RunId, id: FrameId, at_ms: i64) {
        self.forget_children(run, id);
        self.change(run, id, Frame::start);
        let scheduled_ms = at_ms - self.start_ms;
        self.bytes += ATTEMPT_BYTES;
        self.visit(run, id, |visit, place| visit.begin(scheduled_ms, place));
    }

    fn forget_children(&mut self, run: RunId, id: FrameId) {
        let children = |frame: &mut Frame| std::mem::take(&mut frame.children);
        let mut gone = self.frames.get_mut(&(run, id)).map(children).unwrap_or_default();
        while let Some(child) = gone.pop() {
            gone.extend(self.frames.remove(&(run, child)).into_iter().flat_map(|one| one.children));
        }
    }

    fn exited(&mut self, run: RunId, id: FrameId, at_ms: i64, next: Option<u32>) {
        self.forget_children(run, id);
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        frame.doing = None;
        let outcome = if frame.caught { Outcome::Caught } else { Outcome::Succeeded };
        let next = next.and_then(|next| frame.machine.states.get(next as usize));
        let happened = Happened::Succeeded {
            duration_ms: at_ms - frame.entered_ms,
            attempts: frame.attempts,
            next: next.map(|state| state.name.to_string()),
        };
        let left_ms = at_ms - self.start_ms;
        self.visit(run, id, |visit, place| visit.leave(left_ms, Some(place), outcome));
        if outcome == Outcome::Succeeded {
            self.add(run, id, at_ms, happened);
        }
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
        frame.doing = Some(Doing::Retrying { due_ms });
        let Some(frame) = self.frames.get(&(run, id)) else { return };
        let retriers = frame.state().retry();
        let Some(retrier) = retriers.get(index as usize) else { return };
        let raised = frame.raised(failure);
        // The journal decides, even if a later version would match differently.
        let matched =
            handling::matching(&retrier.error_equals, frame.state(), raised, self.dialect);
        let matched = matched.map_or_else(|_| retrier.error_equals.join(", "), str::to_owned);
        let is_last = u64::from(retry) >= retrier.max_attempts;
        let next_delay_ms = || {
            let nominal_ms = retrier.delay_seconds(retry.into()) * 1000.0;
            // Saturates, which is what is wanted.
            self.limits.scaled(nominal_ms.round() as i64)
        };
        let finally = frame.otherwise(failure, self.dialect);
        let catcher = handling::catcher(frame.state(), raised, self.dialect);
        let catcher = catcher.and_then(|found| u32::try_from(found.index).ok());
        let happened = Happened::Retried {
            problem: frame.problem(failure, self.cause_bytes_max),
            attempt: frame.attempts,
            retrier: Retrier {
                number: index as usize + 1,
                of: retriers.len(),
                matched,
                retry,
                max_attempts: retrier.max_attempts,
                delay_ms: due_ms - at_ms,
                next_delay_ms: (!is_last).then(next_delay_ms),
                jitter: retrier.jitter == Jitter::Full,
            },
            otherwise: is_last.then(|| finally.clone()),
            retriers: self.retriers(frame, failure, Some(index), |_| Verdict::TookOver),
            catchers: self.catchers(frame, failure, catcher),
            finally,
        };
        self.record_failure(run, id, at_ms, happened, Some(due_ms));
    }

    fn retriers(
        &self,
        frame: &Frame,
        failure: &Failure,
        matched: Option<u32>,
        verdict: impl Fn(u64) -> Verdict,
    ) -> Vec<Handler> {
        let retriers = frame.state().retry();
        handlers(
            retriers.iter().map(|retrier| &retrier.error_equals),
            matched,
            |index| verdict(retriers[index].max_attempts),
            |names| frame.mismatch(names, failure, self.dialect),
        )
    }

    fn catchers(&self, frame: &Frame, failure: &Failure, matched: Option<u32>) -> Vec<Handler> {
        handlers(
            frame.state().catch().iter().map(|catcher| &catcher.error_equals),
            matched,
            |_| Verdict::TookOver,
            |names| frame.mismatch(names, failure, self.dialect),
        )
    }

    fn record_failure(
        &mut self,
        run: RunId,
        id: FrameId,
        at_ms: i64,
        happened: Happened,
        retry_ms: Option<i64>,
    ) {
        let Some(entry) = self.add(run, id, at_ms, happened) else { return };
        self.change(run, id, |frame| frame.failure = Some(entry));
        let (at_ms, retry_ms) = (at_ms - self.start_ms, retry_ms.map(|ms| ms - self.start_ms));
        self.visit(run, id, |visit, place| visit.fail(at_ms, place, entry, retry_ms));
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
        frame.doing = None;
        frame.caught = catcher.is_some();
        let Some(frame) = self.frames.get(&(run, id)) else { return };
        let (parent, origin) = (frame.parent, frame.raised(failure).origin);
        let next = catcher.and_then(|index| frame.state().catch().get(index as usize));
        let happened = Happened::Failed {
            problem: frame.problem(failure, self.cause_bytes_max),
            attempts: frame.attempts,
            retriers: self.retriers(frame, failure, retrier, Verdict::UsedUp),
            catchers: self.catchers(frame, failure, catcher),
            next: next.map(|catcher| catcher.next.name.to_string()),
        };
        self.record_failure(run, id, at_ms, happened, None);
        if catcher.is_some() {
            return;
        }
        let left_ms = at_ms - self.start_ms;
        self.visit(run, id, |visit, place| visit.leave(left_ms, Some(place), Outcome::Failed));
        let Some(frame) = self.frames.get(&(run, id)) else { return };
        let blame = [frame.blame.as_slice(), frame.failure.as_slice()].concat();
        if let Some(parent) = parent {
            self.change(run, parent, |parent| {
                (parent.inner, parent.blame) = (Some(origin), blame);
            });
        }
    }

    fn branch(&mut self, run: RunId, id: FrameId, first: FrameId) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        let Kind::Parallel(parallel) = &frame.state().kind else { return };
        let branches: Vec<Frame> = parallel
            .branches
            .iter()
            .enumerate()
            .map(|(index, machine)| frame.child(id, index, machine.clone()))
            .collect();
        self.bytes += branches.len() * FRAME_BYTES;
        let ids = (first.0..).map(FrameId).take(branches.len());
        frame.children = ids.clone().collect();
        self.frames.extend(ids.map(|id| (run, id)).zip(branches));
    }

    fn iterate(&mut self, run: RunId, id: FrameId, index: u32, child: FrameId) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        let Kind::Map(map) = &frame.state().kind else { return };
        let iteration = frame.child(id, index as usize, map.processor.clone());
        self.bytes += FRAME_BYTES;
        frame.children.push(child);
        self.frames.insert((run, child), iteration);
    }

    fn aborted(&mut self, run: RunId, id: FrameId, at_ms: i64) {
        let Some(frame) = self.frames.get_mut(&(run, id)) else { return };
        let was_busy = frame.doing.take().is_some();
        let left_ms = at_ms - self.start_ms;
        self.visit(run, id, |visit, _| abort(visit, left_ms));
        if was_busy {
            self.add(run, id, at_ms, Happened::Aborted);
        }
    }

    /// What was open ends with the execution.
    fn ended(&mut self, run: RunId, at_ms: i64, standing: Standing) {
        self.now_ms = at_ms;
        let left_ms = at_ms - self.start_ms;
        for visit in self.frames_of(run).filter_map(|frame| frame.visit).collect::<Vec<_>>() {
            abort(&mut self.visits[visit], left_ms);
        }
        if run == RunId(0) {
            // Where the execution itself was is reported at its end.
            self.standing = standing;
        } else {
            self.frames.retain(|(of, _), _| *of != run);
        }
    }

    fn redriven(&mut self, run: RunId, at_ms: i64, count: u32) {
        self.standing = Standing::Running;
        for ((_, _), frame) in
            self.frames.range_mut((run, FrameId::ROOT)..=(run, FrameId(u32::MAX)))
        {
            frame.retries.clear();
            frame.doing = None;
            if let Some(visit) = frame.visit {
                self.visits[visit].reopen();
            }
        }
        self.add(run, FrameId::ROOT, at_ms, Happened::Redriven { count });
    }

    fn frames_of(&self, run: RunId) -> impl Iterator<Item = &Frame> {
        self.frames.range((run, FrameId::ROOT)..=(run, FrameId(u32::MAX))).map(|(_, frame)| frame)
    }
}

fn abort(visit: &mut Visit, left_ms: i64) {
    if visit.outcome == Outcome::Open {
        visit.leave(left_ms, None, Outcome::Aborted);
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
