//! A scope of the execution as the story sees it: the state it is in, how often that was tried, and
//! what it is doing at the moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use everstep_asl::model::State;
use everstep_asl::{Machine, error_name};
use everstep_interpreter::Failure;

use super::entry::{Otherwise, Problem};
use super::words;

/// A scope and the state it is in.
pub(super) struct Frame {
    pub(super) scope: Vec<String>,
    pub(super) machine: Arc<Machine>,
    pub(super) state: usize,
    pub(super) entered_ms: i64,
    pub(super) attempts: u32,
    /// Retries so far in this visit, by retrier.
    pub(super) retries: BTreeMap<u32, u32>,
    pub(super) max_concurrency: u32,
    /// How long a task may take and be silent.
    pub(super) limits_ms: (Option<i64>, Option<i64>),
    pub(super) note: Option<String>,
    pub(super) caught: bool,
    pub(super) moment: Moment,
}

/// What a frame is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// Nothing that takes time, or what its branches and items do.
    Passing,
    Running {
        since_ms: i64,
    },
    Waiting {
        until_ms: i64,
    },
    Retrying {
        due_ms: i64,
    },
}

impl Frame {
    pub(super) fn new(scope: Vec<String>, machine: Arc<Machine>) -> Self {
        Self {
            scope,
            machine,
            state: 0,
            entered_ms: 0,
            attempts: 0,
            retries: BTreeMap::new(),
            max_concurrency: 0,
            limits_ms: (None, None),
            note: None,
            caught: false,
            moment: Moment::Passing,
        }
    }

    pub(super) fn enter(&mut self, state: u32, at_ms: i64) {
        let fresh = Self::new(std::mem::take(&mut self.scope), self.machine.clone());
        *self = Self { state: state as usize, entered_ms: at_ms, ..fresh };
    }

    pub(super) fn state(&self) -> &State {
        &self.machine.states[self.state]
    }

    /// The scope of a branch or item inside.
    pub(super) fn inside(&self, index: usize) -> Vec<String> {
        let mut scope = self.scope.clone();
        scope.push(format!("{}[{index}]", self.state().name));
        scope
    }

    /// `Ship[2] › Charge: next try in 3.0 s`
    pub(super) fn moment(&self, now_ms: i64) -> Option<String> {
        let doing = match self.moment {
            Moment::Passing => return None,
            Moment::Running { since_ms } => {
                format!("running for {}", words::duration(now_ms - since_ms))
            }
            Moment::Waiting { until_ms } => {
                format!("waiting, {} left", words::duration(until_ms - now_ms))
            }
            Moment::Retrying { due_ms } => {
                format!("next try in {}", words::duration(due_ms - now_ms))
            }
        };
        let name = path(&self.scope, &self.state().name);
        Some(format!("{name}: {doing}"))
    }

    pub(super) fn time_out(&mut self, heartbeat: bool) {
        self.moment = Moment::Passing;
        let (timeout, silence) = self.limits_ms;
        self.note = if heartbeat {
            silence.map(|ms| format!("no sign of life for {}", words::span(ms)))
        } else {
            timeout.map(|ms| format!("no result within {}", words::span(ms)))
        };
    }

    /// What happens if the state fails this way for good.
    pub(super) fn otherwise(&self, failure: &Failure) -> Otherwise {
        let catchers = self.state().catch();
        let (name, cause) = (failure.name(), failure.cause.as_deref());
        let matches = |pattern: &String| error_name::matches_told(pattern, name, cause);
        let found = catchers.iter().position(|catcher| catcher.error_equals.iter().any(matches));
        match found {
            Some(index) => Otherwise::Caught {
                number: index + 1,
                of: catchers.len(),
                error_equals: catchers[index].error_equals.clone(),
                next: catchers[index].next.name.to_string(),
            },
            None => Otherwise::Fails { what: self.scope.last().cloned() },
        }
    }

    pub(super) fn problem(&self, failure: &Failure) -> Problem {
        Problem {
            error: failure.name().to_owned(),
            cause: failure.cause.as_deref().map(str::to_owned),
            note: self.note.clone(),
        }
    }
}

/// `Ship[2] › Charge`
pub(super) fn path(scope: &[String], state: &str) -> String {
    scope.iter().map(|part| format!("{part} › ")).collect::<String>() + state
}
