//! The AWS history: a projection of the events, with AWS's types, ids and details.

mod details;
mod task;

use std::collections::HashMap;
use std::sync::Arc;

use everstep_asl::model::{Kind, Resource};
use everstep_history::{Attempt, Event, FrameId};
use serde_json::{Map, Value, json};

use self::details::{Described, bare, failed, plain, text};
use self::task::{activity, lambda, service};
use crate::execution::{Execution, Program, is_shown};
use crate::input::Identity;
use crate::map_run;

/// The events of `GetExecutionHistory`, oldest first. Timestamps are milliseconds.
#[must_use]
pub fn project(program: &Arc<Program>, identity: &Identity, events: &[Event]) -> Vec<Value> {
    let mut projection = Projection::new(program, identity);
    events.iter().filter_map(|event| projection.take(event)).collect()
}

/// The history of one execution, event by event.
#[derive(Clone)]
pub struct Projection {
    /// As it was before the event at hand.
    execution: Execution,
    /// The id of the last event of each frame: what the next one follows.
    last: HashMap<FrameId, u32>,
    /// What the event follows by which each frame entered its state.
    before_entry: HashMap<FrameId, u32>,
    parent_of: HashMap<FrameId, FrameId>,
    /// The id by which a Map's run started.
    runs: HashMap<FrameId, u32>,
}

impl Projection {
    #[must_use]
    pub fn new(program: &Arc<Program>, identity: &Identity) -> Self {
        Self {
            execution: Execution::new(program.clone(), identity.clone()),
            last: HashMap::new(),
            before_entry: HashMap::new(),
            parent_of: HashMap::new(),
            runs: HashMap::new(),
        }
    }

    /// How many events have been shown: the id of the last one.
    #[must_use]
    pub fn shown_events(&self) -> u32 {
        self.execution.shown_events()
    }

    /// About as many as it takes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        const FRAME: usize = 500;
        const LINK: usize = 48;
        let links = self.last.len() + self.parent_of.len() + self.runs.len();
        self.execution.held_bytes() + self.execution.frames.len() * FRAME + links * LINK
    }

    /// How often the execution has been redriven so far.
    #[must_use]
    pub fn redrives(&self) -> u32 {
        self.execution.redrives
    }

    /// What the history shows of an event; nothing of those that it does not have.
    pub fn take(&mut self, event: &Event) -> Option<Value> {
        let shown = self.show(event);
        self.execution.apply(event);
        shown
    }

    fn show(&mut self, event: &Event) -> Option<Value> {
        if is_shown(event) {
            let id = self.execution.visible_events + 1;
            let (previous, kind, details) = self.describe(event);
            let mut value = json!({
                "timestamp": event.at_ms(),
                "type": kind,
                "id": id,
                "previousEventId": previous,
            });
            if let (Some((name, details)), Some(object)) = (details, value.as_object_mut()) {
                object.insert(name.to_owned(), details);
            }
            self.follow(event, id, previous);
            return Some(value);
        }
        if let Event::RetryScheduled { frame, .. } = event {
            let last = self.last_inside(*frame);
            self.last.insert(*frame, last);
        }
        None
    }

    fn last(&self, frame: FrameId) -> u32 {
        self.last.get(&frame).copied().unwrap_or(0)
    }

    /// The last event of a frame or of any branch inside it.
    fn last_inside(&self, frame: FrameId) -> u32 {
        let children = self.execution.children_of(frame);
        let mut latest = self.last(frame);
        for child in children {
            latest = latest.max(self.last_inside(child));
        }
        latest
    }

    /// Moves the ends of the chains on.
    fn follow(&mut self, event: &Event, id: u32, previous: u32) {
        match event {
            // The first state follows nothing.
            Event::ExecutionStarted { .. } => {}
            Event::ParallelStarted { frame, first, branches, .. } => {
                self.last.insert(*frame, id);
                for child in (first.0..first.0 + branches).map(FrameId) {
                    self.last.insert(child, id);
                    self.parent_of.insert(child, *frame);
                }
            }
            Event::IterationStarted { frame, child, .. } => {
                self.last.insert(*child, id);
                self.parent_of.insert(*child, *frame);
            }
            Event::IterationSucceeded { child, .. } => {
                if let Some(parent) = self.parent_of.get(child) {
                    self.last.insert(*parent, id);
                }
            }
            // What follows a failed iteration follows the event that failed it.
            Event::IterationFailed { child, .. } => {
                let last = self.last(*child);
                if let Some(parent) = self.parent_of.get(child) {
                    self.last.insert(*parent, last);
                }
            }
            Event::MapSucceeded { frame, .. } | Event::ParallelSucceeded { frame, .. } => {
                // The exit of a distributed Map follows the start of its run.
                self.last.insert(*frame, self.runs.remove(frame).unwrap_or(previous));
            }
            Event::MapRunStarted { frame, .. } | Event::MapRunRedriven { frame, .. } => {
                self.last.insert(*frame, id);
                self.runs.insert(*frame, id);
            }
            Event::StateEntered { frame, .. } => {
                self.last.insert(*frame, id);
                self.before_entry.insert(*frame, previous);
            }
            Event::StateAborted { .. } | Event::IterationAborted { .. } => {}
            other => {
                if let Some(frame) = other.frame() {
                    self.last.insert(frame, id);
                }
            }
        }
        // A Parallel continues from the branch that ends last.
        if let Event::StateExited { frame, next: None, .. } = event
            && let Some(parent) = self.parent_of.get(frame)
            && !self.is_iteration(*frame)
        {
            self.last.insert(*parent, id);
        }
    }

    fn is_iteration(&self, frame: FrameId) -> bool {
        let parent = self.execution.frame(frame).and_then(|frame| frame.parent);
        parent.is_some_and(|parent| {
            self.execution
                .state_of(parent.frame)
                .is_some_and(|state| matches!(state.kind, Kind::Map(_)))
        })
    }

    /// What an event follows, its type, and its details with their name.
    fn describe(&self, event: &Event) -> Described {
        let previous = |frame: &FrameId| self.last(*frame);
        match event {
            Event::ExecutionStarted { input, .. } => {
                let mut details = text("input", input);
                details["roleArn"] = json!(&*self.execution.identity().role_arn);
                plain(0, "ExecutionStarted", "executionStartedEventDetails", details)
            }
            Event::StateEntered { frame, state, input, .. } => {
                let state = self
                    .execution
                    .frame(*frame)
                    .and_then(|f| f.machine.states.get(*state as usize));
                let Some(state) = state else { return (0, String::new(), None) };
                let mut details = text("input", input);
                details["name"] = json!(&*state.name);
                let kind = format!("{}StateEntered", state.kind.name());
                (previous(frame), kind, Some(("stateEnteredEventDetails", details)))
            }
            Event::StateExited { frame, output, assigned, .. } => {
                let Some(state) = self.execution.state_of(*frame) else {
                    return (0, String::new(), None);
                };
                let mut details = text("output", output);
                details["name"] = json!(&*state.name);
                if !assigned.is_empty() {
                    let values: Map<String, Value> = assigned
                        .iter()
                        .map(|(name, value)| (name.to_string(), json!(value.text())))
                        .collect();
                    details["assignedVariables"] = Value::Object(values);
                    details["assignedVariablesDetails"] = json!({ "truncated": false });
                }
                let kind = format!("{}StateExited", state.kind.name());
                (previous(frame), kind, Some(("stateExitedEventDetails", details)))
            }
            Event::TaskScheduled { .. }
            | Event::TaskStarted { .. }
            | Event::TaskSubmitted { .. }
            | Event::TaskSucceeded { .. }
            | Event::TaskFailed { .. }
            | Event::TaskTimedOut { .. } => self.describe_task(event),
            Event::StateAborted { frame, .. } => {
                let kind = self.execution.state_of(*frame).map_or("", |state| state.kind.name());
                (previous(frame), format!("{kind}StateAborted"), None)
            }
            Event::ParallelStarted { frame, .. } => bare(previous(frame), "ParallelStateStarted"),
            Event::ParallelSucceeded { frame, .. } => {
                bare(previous(frame), "ParallelStateSucceeded")
            }
            Event::ParallelFailed { frame, .. } => {
                bare(self.last_inside(*frame), "ParallelStateFailed")
            }
            Event::MapStarted { frame, items, .. } => {
                let length = items.as_array().map_or(0, Vec::len);
                plain(
                    previous(frame),
                    "MapStateStarted",
                    "mapStateStartedEventDetails",
                    json!({ "length": length }),
                )
            }
            Event::IterationStarted { frame, index, after, .. } => {
                let name = self.execution.state_of(*frame).map(|state| state.name.to_string());
                let details = json!({ "index": index, "name": name });
                let previous = after.map_or_else(|| previous(frame), |after| self.last(after));
                plain(previous, "MapIterationStarted", "mapIterationStartedEventDetails", details)
            }
            Event::IterationSucceeded { child, .. } => {
                self.iteration(*child, "Succeeded", "mapIterationSucceededEventDetails")
            }
            Event::IterationFailed { child, .. } => {
                self.iteration(*child, "Failed", "mapIterationFailedEventDetails")
            }
            Event::IterationAborted { child, .. } => {
                self.iteration(*child, "Aborted", "mapIterationAbortedEventDetails")
            }
            Event::MapSucceeded { frame, .. } => bare(previous(frame), "MapStateSucceeded"),
            Event::MapFailed { frame, .. } => bare(previous(frame), "MapStateFailed"),
            Event::MapRunStarted { frame, attempt, .. } => {
                let details = json!({ "mapRunArn": self.map_run_arn(*frame, *attempt) });
                plain(previous(frame), "MapRunStarted", "mapRunStartedEventDetails", details)
            }
            Event::MapRunRedriven { frame, run, count, .. } => {
                let arn = self.map_run_arn(*frame, *run);
                let details = json!({ "mapRunArn": arn, "redriveCount": count });
                plain(previous(frame), "MapRunRedriven", "mapRunRedrivenEventDetails", details)
            }
            Event::MapRunSucceeded { frame, .. } => bare(previous(frame), "MapRunSucceeded"),
            Event::MapRunFailed { frame, failure, .. } => {
                plain(previous(frame), "MapRunFailed", "mapRunFailedEventDetails", failed(failure))
            }
            Event::EvaluationFailed { frame, failure, location, .. } => {
                let mut details = failed(failure);
                if let Some(location) = location {
                    details["location"] = json!(&**location);
                }
                details["state"] =
                    json!(self.execution.state_of(*frame).map(|state| state.name.to_string()));
                let previous = self.before_evaluation(*frame);
                plain(previous, "EvaluationFailed", "evaluationFailedEventDetails", details)
            }
            Event::ExecutionSucceeded { output, .. } => {
                let details = text("output", output);
                plain(
                    previous(&FrameId::ROOT),
                    "ExecutionSucceeded",
                    "executionSucceededEventDetails",
                    details,
                )
            }
            Event::ExecutionFailed { failure, .. } => plain(
                previous(&FrameId::ROOT),
                "ExecutionFailed",
                "executionFailedEventDetails",
                failed(failure),
            ),
            Event::ExecutionTimedOut { .. } => {
                let details = failed(&self.execution.program().timeout());
                plain(0, "ExecutionTimedOut", "executionTimedOutEventDetails", details)
            }
            Event::ExecutionAborted { failure, .. } => {
                plain(0, "ExecutionAborted", "executionAbortedEventDetails", failed(failure))
            }
            Event::ExecutionRedriven { count, .. } => plain(
                previous(&FrameId::ROOT),
                "ExecutionRedriven",
                "executionRedrivenEventDetails",
                json!({ "redriveCount": count }),
            ),
            Event::RetryScheduled { .. }
            | Event::StateFailed { .. }
            | Event::WaitStarted { .. }
            | Event::MapInputsSelected { .. } => (0, String::new(), None),
        }
    }

    /// What a failed evaluation follows. Those that come with the entry of a state were recorded beside the entry,
    /// and not after it; only those of Wait states come after it.
    fn before_evaluation(&self, frame: FrameId) -> u32 {
        let last = self.last(frame);
        let has_just_entered = self.execution.frame(frame).is_some_and(|f| f.entered_id == last);
        let waits = self.execution.state_of(frame).is_some_and(|s| matches!(s.kind, Kind::Wait(_)));
        match self.before_entry.get(&frame) {
            Some(before) if has_just_entered && !waits => *before,
            _ => last,
        }
    }

    fn iteration(&self, child: FrameId, outcome: &str, name: &'static str) -> Described {
        let parent = self.execution.frame(child).and_then(|frame| frame.parent);
        let state = parent.and_then(|parent| self.execution.state_of(parent.frame));
        let details = json!({
            "index": parent.map(|parent| parent.index),
            "name": state.map(|state| state.name.to_string()),
        });
        (self.last(child), format!("MapIteration{outcome}"), Some((name, details)))
    }

    fn map_run_arn(&self, frame: FrameId, run: Attempt) -> Option<String> {
        Some(map_run::arn(self.execution.identity(), self.execution.state_of(frame)?, run))
    }

    fn describe_task(&self, event: &Event) -> Described {
        let Some(frame) = event.frame() else { return (0, String::new(), None) };
        let previous = self.last(frame);
        let Some(Kind::Task(task)) = self.execution.state_of(frame).map(|state| &state.kind) else {
            return (previous, String::new(), None);
        };
        match &*task.resource {
            Resource::Lambda { .. } => lambda(previous, task, event),
            Resource::Activity { .. } => activity(previous, task, event),
            other => service(previous, other, self.region(), event),
        }
    }

    fn region(&self) -> &str {
        self.execution.identity().machine_arn.split(':').nth(3).unwrap_or_default()
    }
}
