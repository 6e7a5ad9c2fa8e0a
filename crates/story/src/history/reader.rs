//! From the API's history and the definition to the journal's events.
//!
//! The API's history says neither which retrier or catcher matched nor when the next retry is; the definition
//! and the rules of the language determine both. The events have no payloads: stories do not show any.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use everstep_asl::handling::{self, Decision, Origin};
use everstep_asl::model::{Kind, State};
use everstep_asl::{Dialect, Machine};
use everstep_interpreter::{Attempt, Event, Failure, FailureStage, Payload, map_run};
use serde_json::Value;

use super::HistoryEvent;
use super::parts::{
    comes_from_outside, failure, id, index, is_of_scope, millis, nexts, nothing, own_failure,
    until_ms,
};
use crate::raised::raised;

pub struct HistoryReader {
    frames: Vec<Frame>,
    dialect: Dialect,
    /// In which frame each event happened.
    place_of: HashMap<u64, usize>,
    attempts: u32,
}

/// The machine, a branch or an item.
struct Frame {
    parent: Option<usize>,
    /// Which branch or item.
    index: u32,
    machine: Arc<Machine>,
    state: usize,
    phase: Phase,
    /// By retrier, in this visit.
    retries: BTreeMap<usize, u32>,
    /// Of a distributed Map.
    run_failure: Option<Failure>,
    /// When the attempt that runs must have ended.
    deadline_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Between states, or not yet in one.
    Between,
    Inside,
    /// For good, or until a catcher's target is entered.
    Failed(Failure, Origin),
}

impl HistoryReader {
    #[must_use]
    pub fn new(machine: Arc<Machine>, dialect: Dialect) -> Self {
        let frames = vec![Frame::new(None, 0, machine)];
        Self { frames, dialect, place_of: HashMap::new(), attempts: 0 }
    }

    /// Reads the events that follow those read before, grouped as the decisions that caused them.
    pub fn take(&mut self, history: &[Value]) -> Vec<Vec<Event>> {
        let nexts = nexts(history);
        let mut batches: Vec<Vec<Event>> = Vec::new();
        for event in history.iter().map(HistoryEvent) {
            if batches.is_empty() || comes_from_outside(event.kind()) {
                batches.push(Vec::new());
            }
            let batch = batches.last_mut().expect("one was just made if there was none");
            self.event(&event, &nexts, batch);
        }
        batches
    }

    fn event(
        &mut self,
        event: &HistoryEvent<'_>,
        nexts: &HashMap<u64, &str>,
        out: &mut Vec<Event>,
    ) {
        let at_ms = event.at_ms();
        let kind = event.kind();
        let from = self.place_of.get(&event.previous()).copied().unwrap_or(0);
        let place = match kind {
            "ExecutionStarted" => {
                out.push(Event::ExecutionStarted { at_ms, input: nothing() });
                0
            }
            "ExecutionSucceeded" => {
                out.push(Event::ExecutionSucceeded { at_ms, output: nothing() });
                0
            }
            "ExecutionFailed" => self.execution_failed(at_ms, failure(event), out),
            "ExecutionTimedOut" => {
                out.push(Event::ExecutionTimedOut { at_ms });
                0
            }
            "ExecutionAborted" => {
                out.push(Event::ExecutionAborted { at_ms, failure: failure(event) });
                0
            }
            "ExecutionRedriven" => {
                let count = event.number("redriveCount").unwrap_or_default();
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                out.push(Event::ExecutionRedriven { at_ms, count });
                self.frames.iter_mut().for_each(Frame::redrive);
                from
            }
            "MapIterationStarted" => self.iteration_started(from, event, out),
            "MapIterationFailed" => self.iteration_failed(from, event, out),
            "MapIterationSucceeded" | "MapIterationAborted" => self.named(from, event),
            "ParallelStateStarted" => self.parallel_started(from, at_ms, out),
            "MapStateStarted" => self.map_started(from, event, out),
            "ParallelStateFailed" | "MapStateFailed" => self.scope_failed(from, at_ms, out),
            "EvaluationFailed" => self.named(from, event),
            _ => {
                if kind.ends_with("StateEntered") {
                    self.entered(from, event, out)
                } else if kind.ends_with("StateExited") {
                    self.exited(from, event, nexts.get(&event.id()).copied(), out)
                } else if kind.ends_with("StateAborted") {
                    let frame = id(from);
                    out.push(Event::StateAborted { frame, at_ms, attempt: None });
                    from
                } else {
                    self.task(from, event, out)
                }
            }
        };
        self.place_of.insert(event.id(), place);
    }

    /// The frame itself or the nearest around it that is so.
    fn around(&self, from: usize, is_so: impl Fn(&Frame) -> bool) -> usize {
        let mut place = Some(from);
        while let Some(index) = place {
            if is_so(&self.frames[index]) {
                return index;
            }
            place = self.frames[index].parent;
        }
        from
    }

    fn named(&self, from: usize, event: &HistoryEvent<'_>) -> usize {
        let name = event.text("name").or_else(|| event.text("state")).unwrap_or_default();
        self.around(from, |frame| &*frame.state().name == name)
    }

    /// The nearest Parallel or Map that is at work.
    fn scope(&self, from: usize) -> usize {
        self.around(from, |frame| frame.phase == Phase::Inside && frame.state().has_scopes())
    }

    fn entered(&mut self, from: usize, event: &HistoryEvent<'_>, out: &mut Vec<Event>) -> usize {
        let name = event.text("name").unwrap_or_default();
        let position = |frame: &Frame| frame.machine.states.iter().position(|s| &*s.name == name);
        // The first state of a branch follows the start of its Parallel.
        let branch = self.frames.iter().rposition(|frame| {
            frame.parent == Some(from) && frame.phase == Phase::Between && position(frame).is_some()
        });
        let place = match branch {
            Some(branch) if position(&self.frames[from]).is_none() => branch,
            _ => self.around(from, |frame| position(frame).is_some()),
        };
        let frame = &mut self.frames[place];
        let Some(state) = position(frame) else { return place };
        (frame.state, frame.phase) = (state, Phase::Inside);
        frame.retries.clear();
        let (at_ms, state) = (event.at_ms(), u32::try_from(state).unwrap_or(u32::MAX));
        out.push(Event::StateEntered { frame: id(place), at_ms, state, input: nothing() });
        if let Kind::Wait(wait) = &self.frames[place].state().kind
            && let Some(until_ms) = until_ms(&wait.until, at_ms)
        {
            out.push(Event::WaitStarted { frame: id(place), at_ms, until_ms });
        }
        // A Fail state has no event of its own; around a branch, there may be none either.
        if self.frames[place].parent.is_some()
            && own_failure(self.frames[place].state()).error.is_some()
        {
            self.settle(place, at_ms, out);
        }
        place
    }

    fn exited(
        &mut self,
        from: usize,
        event: &HistoryEvent<'_>,
        next: Option<&str>,
        out: &mut Vec<Event>,
    ) -> usize {
        let place = self.named(from, event);
        let frame = &mut self.frames[place];
        let next = next.and_then(|next| frame.machine.states.iter().position(|s| &*s.name == next));
        frame.phase = Phase::Between;
        out.push(Event::StateExited {
            frame: id(place),
            at_ms: event.at_ms(),
            output: nothing(),
            assigned: Vec::new(),
            next: next.and_then(|next| u32::try_from(next).ok()),
        });
        place
    }

    /// Of Lambda functions, activities and other services alike.
    fn task(&mut self, from: usize, event: &HistoryEvent<'_>, out: &mut Vec<Event>) -> usize {
        let at_ms = event.at_ms();
        let kind = event.kind();
        let attempt = Attempt { frame: id(from), number: self.attempts };
        if kind.ends_with("Scheduled") {
            self.attempts += 1;
            let timeout = event.number("timeoutInSeconds");
            let limit = timeout.or_else(|| self.dialect.default_timeout_seconds());
            let deadline = limit.and_then(|s| i64::try_from(s.saturating_mul(1000)).ok());
            let heartbeat = event.number("heartbeatInSeconds");
            let deadline_ms = deadline.map(|ms| at_ms.saturating_add(ms));
            self.frames[from].deadline_ms = deadline_ms;
            out.push(Event::TaskScheduled {
                attempt,
                at_ms,
                parameters: nothing(),
                timeout_seconds: timeout,
                heartbeat_seconds: heartbeat,
                deadline_ms,
                credentials: None,
            });
        } else if kind.ends_with("TimedOut") {
            let failure = failure(event);
            let heartbeat = self.frames[from].missed_heartbeat(at_ms);
            out.push(Event::TaskTimedOut { attempt, at_ms, failure: failure.clone(), heartbeat });
            self.failed(from, at_ms, failure, heartbeat, None, out);
        } else if kind.ends_with("Failed") && !kind.starts_with("MapRun") {
            let (failure, stage) = (failure(event), FailureStage::Run);
            out.push(Event::TaskFailed { attempt, at_ms, failure: failure.clone(), stage });
            self.failed(from, at_ms, failure, false, None, out);
        } else if kind == "MapRunFailed" {
            self.frames[from].run_failure = Some(failure(event));
            self.retried_around(from, at_ms, failure(event), None, out);
        } else if kind.ends_with("Succeeded") && !is_of_scope(kind) {
            out.push(Event::TaskSucceeded { attempt, at_ms, output: nothing() });
        }
        from
    }

    fn parallel_started(&mut self, from: usize, at_ms: i64, out: &mut Vec<Event>) -> usize {
        let place = self.scope(from);
        let Kind::Parallel(parallel) = &self.frames[place].state().kind else { return place };
        let branches = parallel.branches.clone();
        let first = id(self.frames.len());
        let number = u32::try_from(branches.len()).unwrap_or(u32::MAX);
        for (index, machine) in (0..).zip(branches) {
            self.frames.push(Frame::new(Some(place), index, machine));
        }
        let frame = id(place);
        out.push(Event::ParallelStarted {
            frame,
            at_ms,
            first,
            branches: number,
            input: nothing(),
        });
        place
    }

    fn map_started(
        &mut self,
        from: usize,
        event: &HistoryEvent<'_>,
        out: &mut Vec<Event>,
    ) -> usize {
        let place = self.scope(from);
        let length = event.number("length").and_then(|length| usize::try_from(length).ok());
        out.push(Event::MapStarted {
            frame: id(place),
            at_ms: event.at_ms(),
            items: Payload::new(vec![Value::Null; length.unwrap_or(0).min(100_000)].into()),
            max_concurrency: 0,
            distributed: false,
        });
        place
    }

    fn iteration_started(
        &mut self,
        from: usize,
        event: &HistoryEvent<'_>,
        out: &mut Vec<Event>,
    ) -> usize {
        let map = self.named(from, event);
        let Kind::Map(state) = &self.frames[map].state().kind else { return map };
        let machine = state.processor.clone();
        let index = index(event);
        let child = self.frames.len();
        self.frames.push(Frame::new(Some(map), index, machine));
        out.push(Event::IterationStarted {
            frame: id(map),
            at_ms: event.at_ms(),
            index,
            child: id(child),
            input: nothing(),
            after: None,
        });
        child
    }

    fn iteration_failed(
        &mut self,
        from: usize,
        event: &HistoryEvent<'_>,
        out: &mut Vec<Event>,
    ) -> usize {
        let map = self.named(from, event);
        let of_map = |frame: &Frame| frame.parent == Some(map) && frame.index == index(event);
        match self.frames.iter().rposition(of_map) {
            Some(child) => {
                self.settle(child, event.at_ms(), out);
                child
            }
            None => map,
        }
    }

    /// A Parallel or a Map fails as the branch or item in it has failed.
    fn scope_failed(&mut self, from: usize, at_ms: i64, out: &mut Vec<Event>) -> usize {
        let place = self.scope(from);
        if from != place {
            self.settle(from, at_ms, out);
        }
        let inside = self.around(from, |frame| frame.parent == Some(place));
        let (failure, inner) = match self.frames[place].run_failure.take() {
            Some(failure) => (failure, None),
            None => match &self.frames[inside].phase {
                Phase::Failed(_, origin) if self.tolerates(place) && *origin != Origin::Fatal => {
                    (map_run::too_many_failures(), None)
                }
                Phase::Failed(failure, origin) => (failure.clone(), Some(*origin)),
                _ => (Failure::default(), None),
            },
        };
        self.failed(place, at_ms, failure, false, inner, out);
        place
    }

    /// Whether it is a Map that says how many items may fail.
    fn tolerates(&self, place: usize) -> bool {
        matches!(&self.frames[place].state().kind, Kind::Map(map) if map.has_tolerance())
    }

    /// A state that failed without an event of its own: a Fail state, or one whose data do not fit.
    fn settle(&mut self, place: usize, at_ms: i64, out: &mut Vec<Event>) {
        if self.frames[place].phase == Phase::Inside {
            let failure = own_failure(self.frames[place].state());
            self.failed(place, at_ms, failure, false, None, out);
        }
    }

    fn execution_failed(&mut self, at_ms: i64, failure: Failure, out: &mut Vec<Event>) -> usize {
        if self.frames[0].phase == Phase::Inside {
            self.gave_up(0, at_ms, (failure.clone(), Origin::Named), None, None, out);
        }
        out.push(Event::ExecutionFailed { at_ms, failure });
        0
    }

    /// What the state does about it, by the rules that the engine follows.
    fn failed(
        &mut self,
        place: usize,
        at_ms: i64,
        failure: Failure,
        missed_heartbeat: bool,
        inner: Option<Origin>,
        out: &mut Vec<Event>,
    ) {
        let dialect = self.dialect;
        let frame = &mut self.frames[place];
        let state = &frame.machine.states[frame.state];
        let raised = raised(&failure, state, missed_heartbeat, inner);
        let retries = |index| frame.retries.get(&index).copied().unwrap_or_default();
        let (retrier, catcher) = match handling::decide(state, raised, dialect, retries) {
            Decision::Retry { retrier, so_far } => {
                let delay = retrier.handler.delay_seconds(so_far.into());
                let due_ms = at_ms.saturating_add(millis(delay));
                *frame.retries.entry(retrier.index).or_default() += 1;
                let retrier = u32::try_from(retrier.index).unwrap_or(u32::MAX);
                let frame = id(place);
                out.push(Event::RetryScheduled { frame, at_ms, retrier, due_ms, failure });
                return;
            }
            Decision::Catch { used_up, catcher } => {
                (used_up.map(|retrier| retrier.index), Some(catcher.index))
            }
            Decision::Fail { used_up } => (used_up.map(|retrier| retrier.index), None),
        };
        let origin = raised.origin;
        self.gave_up(place, at_ms, (failure, origin), retrier, catcher, out);
    }

    fn gave_up(
        &mut self,
        place: usize,
        at_ms: i64,
        (failure, origin): (Failure, Origin),
        retrier: Option<usize>,
        catcher: Option<usize>,
        out: &mut Vec<Event>,
    ) {
        self.frames[place].phase = Phase::Failed(failure.clone(), origin);
        let index = |found: Option<usize>| found.and_then(|index| u32::try_from(index).ok());
        let (retrier, catcher) = (index(retrier), index(catcher));
        let frame = id(place);
        out.push(Event::StateFailed { frame, at_ms, failure: failure.clone(), retrier, catcher });
        // How many failures are tolerated may depend on the input, which the reader does not follow.
        let parent = self.frames[place].parent.filter(|parent| !self.tolerates(*parent));
        if let Some(parent) = parent.filter(|_| catcher.is_none()) {
            self.retried_around(parent, at_ms, failure, Some(origin), out);
        }
    }

    /// The history has no event for a Parallel or Map that fails and is retried: it only starts again.
    fn retried_around(
        &mut self,
        place: usize,
        at_ms: i64,
        failure: Failure,
        inner: Option<Origin>,
        out: &mut Vec<Event>,
    ) {
        let frame = &self.frames[place];
        let raised = raised(&failure, frame.state(), false, inner);
        let retries = |index| frame.retries.get(&index).copied().unwrap_or_default();
        let decision = handling::decide(frame.state(), raised, self.dialect, retries);
        if matches!(decision, Decision::Retry { .. }) {
            self.failed(place, at_ms, failure, false, inner, out);
        }
    }
}

impl Frame {
    fn new(parent: Option<usize>, index: u32, machine: Arc<Machine>) -> Self {
        let (state, phase, retries) = (0, Phase::Between, BTreeMap::new());
        let (run_failure, deadline_ms) = (None, None);
        Self { parent, index, machine, state, phase, retries, run_failure, deadline_ms }
    }

    /// Whether an attempt that timed out missed a heartbeat: the history does not say, but its deadline does.
    fn missed_heartbeat(&self, at_ms: i64) -> bool {
        let sends = matches!(&self.state().kind, Kind::Task(task) if task.heartbeat.is_some());
        sends && self.deadline_ms.is_none_or(|deadline_ms| at_ms < deadline_ms)
    }

    fn redrive(&mut self) {
        if matches!(self.phase, Phase::Failed(..)) {
            self.phase = Phase::Inside;
        }
    }

    fn state(&self) -> &State {
        &self.machine.states[self.state]
    }
}

#[cfg(test)]
mod tests {
    use everstep_asl::{Options, Source};
    use serde_json::json;

    use super::*;

    /// The index of the catcher that takes a timeout after so many seconds.
    fn check(timed_out_after: u64, expected: Option<u32>) {
        let definition = json!({ "StartAt": "T", "States": {
            "T": {
                "Type": "Task", "Resource": "arn:aws:states:us-east-1:123456789012:activity:a",
                "TimeoutSeconds": 60, "HeartbeatSeconds": 5, "End": true,
                "Catch": [{ "ErrorEquals": ["States.HeartbeatTimeout"], "Next": "Silent" }],
            },
            "Silent": { "Type": "Succeed" },
        } });
        let source = Source::new("m.json", definition.to_string());
        let machine = everstep_asl::parse(&source, &Options::default()).into_machine().unwrap();
        let history = [
            json!({ "id": 1, "previousEventId": 0, "timestamp": 0, "type": "ExecutionStarted" }),
            json!({ "id": 2, "previousEventId": 0, "timestamp": 0, "type": "TaskStateEntered",
                    "stateEnteredEventDetails": { "name": "T" } }),
            json!({ "id": 3, "previousEventId": 2, "timestamp": 0, "type": "ActivityScheduled",
                    "activityScheduledEventDetails": { "timeoutInSeconds": 60, "heartbeatInSeconds": 5 } }),
            json!({ "id": 4, "previousEventId": 3, "timestamp": timed_out_after, "type": "ActivityTimedOut",
                    "activityTimedOutEventDetails": { "error": "States.Timeout" } }),
        ];
        let mut reader = HistoryReader::new(Arc::new(machine), Dialect::Spec);
        let events = reader.take(&history).concat();
        let catcher = events.iter().find_map(|event| match event {
            Event::StateFailed { catcher, .. } => Some(*catcher),
            _ => None,
        });
        assert_eq!(catcher, Some(expected), "after {timed_out_after} s");
    }

    #[test]
    fn a_timeout_before_the_deadline_is_a_missed_heartbeat() {
        check(5, Some(0));
        check(60, None);
    }
}
