//! A scope of the execution as the story sees it: the state it is in, how often that was tried, and
//! what it is doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use everstep_asl::model::State;
use everstep_asl::{Machine, error_name};
use everstep_interpreter::Failure;

use crate::entry::{Otherwise, Problem};
use everstep_source::words::{duration, span};

/// A scope and the state it is in.
pub(crate) struct Frame {
    pub(crate) scope: Vec<String>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) state: usize,
    pub(crate) entered_ms: i64,
    pub(crate) attempts: u32,
    /// Retries so far in this visit, by retrier.
    pub(crate) retries: BTreeMap<u32, u32>,
    pub(crate) max_concurrency: u32,
    /// How long a task may take and be silent.
    pub(crate) limits_ms: (Option<i64>, Option<i64>),
    pub(crate) note: Option<String>,
    pub(crate) caught: bool,
    pub(crate) activity: Activity,
}

/// What a frame is doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Activity {
    /// Nothing that takes time, or what its branches and items do.
    Idle,
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
    pub(crate) fn new(scope: Vec<String>, machine: Arc<Machine>) -> Self {
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
            activity: Activity::Idle,
        }
    }

    pub(crate) fn enter(&mut self, state: u32, at_ms: i64) {
        let fresh = Self::new(std::mem::take(&mut self.scope), self.machine.clone());
        *self = Self { state: state as usize, entered_ms: at_ms, ..fresh };
    }

    pub(crate) fn state(&self) -> &State {
        &self.machine.states[self.state]
    }

    /// The scope of a branch or item inside.
    pub(crate) fn inside(&self, index: usize) -> Vec<String> {
        let mut scope = self.scope.clone();
        scope.push(format!("{}[{index}]", self.state().name));
        scope
    }

    /// `Ship[2] › Charge: next try in 3.0 s`
    pub(crate) fn activity(&self, now_ms: i64) -> Option<String> {
        let doing = match self.activity {
            Activity::Idle => return None,
            Activity::Running { since_ms } => {
                format!("running for {}", duration(now_ms - since_ms))
            }
            Activity::Waiting { until_ms } => {
                format!("waiting, {} left", duration(until_ms - now_ms))
            }
            Activity::Retrying { due_ms } => {
                format!("next try in {}", duration(due_ms - now_ms))
            }
        };
        let name = path(&self.scope, &self.state().name);
        Some(format!("{name}: {doing}"))
    }

    pub(crate) fn time_out(&mut self, heartbeat: bool) {
        self.activity = Activity::Idle;
        let (timeout, silence) = self.limits_ms;
        self.note = if heartbeat {
            silence.map(|ms| format!("no sign of life for {}", span(ms)))
        } else {
            timeout.map(|ms| format!("no result within {}", span(ms)))
        };
    }

    /// What happens if the state fails this way for good.
    pub(crate) fn otherwise(&self, failure: &Failure) -> Otherwise {
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

    pub(crate) fn problem(&self, failure: &Failure) -> Problem {
        Problem {
            error: failure.name().to_owned(),
            cause: failure.cause.as_deref().map(str::to_owned),
            note: self.note.clone(),
        }
    }
}

/// `Ship[2] › Charge`
pub(crate) fn path(scope: &[String], state: &str) -> String {
    scope.iter().map(|part| format!("{part} › ")).collect::<String>() + state
}
