//! A scope of the execution as the story sees it: the state it is in, how often that was tried, and
//! what it is doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use everstep_asl::handling::{self, Mismatch, Origin, Raised};
use everstep_asl::model::State;
use everstep_asl::{Dialect, Machine};
use everstep_interpreter::{Failure, FrameId};

use crate::entry::{Otherwise, Problem};
use crate::raised::raised;
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
    /// The timeout of a task, and the time between its heartbeats.
    pub(crate) limits_ms: (Option<i64>, Option<i64>),
    pub(crate) note: Option<String>,
    pub(crate) missed_heartbeat: bool,
    /// The frame around, if it is in the same run.
    pub(crate) parent: Option<FrameId>,
    /// Of the failure of a branch or an item.
    pub(crate) inner: Option<Origin>,
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
            missed_heartbeat: false,
            parent: None,
            inner: None,
            caught: false,
            activity: Activity::Idle,
        }
    }

    pub(crate) fn enter(&mut self, state: u32, at_ms: i64) {
        let fresh = Self::new(std::mem::take(&mut self.scope), self.machine.clone());
        let parent = self.parent;
        *self = Self { state: state as usize, entered_ms: at_ms, parent, ..fresh };
    }

    /// Another attempt begins.
    pub(crate) fn start(&mut self) {
        self.attempts += 1;
        (self.note, self.missed_heartbeat, self.inner) = (None, false, None);
    }

    pub(crate) fn state(&self) -> &State {
        &self.machine.states[self.state]
    }

    /// A branch or an item inside; `own` is this frame.
    pub(crate) fn child(&self, own: FrameId, index: usize, machine: Arc<Machine>) -> Self {
        Self { parent: Some(own), ..Self::new(self.inside(index), machine) }
    }

    /// The scope of a branch or item inside.
    pub(crate) fn inside(&self, index: usize) -> Vec<String> {
        let mut scope = self.scope.clone();
        scope.push(format!("{}[{index}]", self.state().name));
        scope
    }

    /// `Ship[2] › Charge: next retry in 3.0 s`
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
                format!("next retry in {}", duration(due_ms - now_ms))
            }
        };
        let name = path(&self.scope, &self.state().name);
        Some(format!("{name}: {doing}"))
    }

    pub(crate) fn time_out(&mut self, heartbeat: bool) {
        self.activity = Activity::Idle;
        self.missed_heartbeat = heartbeat;
        let (timeout, silence) = self.limits_ms;
        self.note = if heartbeat {
            silence.map(|ms| format!("no heartbeat for {}", span(ms)))
        } else {
            timeout.map(|ms| format!("no result within {}", span(ms)))
        };
    }

    /// What happens if the state fails with this error for good.
    pub(crate) fn otherwise(&self, failure: &Failure, dialect: Dialect) -> Otherwise {
        match handling::catcher(self.state(), self.raised(failure), dialect) {
            Some(found) => Otherwise::Caught {
                number: found.index + 1,
                of: self.state().catch().len(),
                error_equals: found.handler.error_equals.clone(),
                next: found.handler.next.name.to_string(),
            },
            None => Otherwise::Fails { what: self.scope.last().cloned() },
        }
    }

    /// Why a list of names does not match, where the names alone do not show it.
    pub(crate) fn mismatch(
        &self,
        error_equals: &[String],
        failure: &Failure,
        dialect: Dialect,
    ) -> Option<String> {
        let raised = self.raised(failure);
        match handling::matching(error_equals, self.state(), raised, dialect) {
            Err(Mismatch::Wildcard(wildcard)) => {
                Some(format!("{wildcard} excludes {}", raised.name))
            }
            Err(Mismatch::Fatal) => Some("nothing can retry or catch this error".to_owned()),
            _ => None,
        }
    }

    /// A failure as the retriers and catchers of the state see it.
    pub(crate) fn raised<'f>(&self, failure: &'f Failure) -> Raised<'f> {
        raised(failure, self.state(), self.missed_heartbeat, self.inner)
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
