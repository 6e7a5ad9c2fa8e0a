//! A scope of the execution as the story sees it: the state it is in, how often that was tried, and
//! what it is doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use everstep_asl::handling::{self, Mismatch, Origin, Raised};
use everstep_asl::model::{Kind, State};
use everstep_asl::{Dialect, Machine};
use everstep_interpreter::{Failure, FrameId};
use everstep_source::near_miss;
use everstep_source::words::span;

use crate::entry::{Otherwise, Problem};
use crate::raised::raised;
use crate::report::Doing;
use crate::words;

/// A scope and the state it is in.
pub(crate) struct Frame {
    pub(crate) scope: Vec<String>,
    /// What the places of its states begin with: see [`crate::Visit::place`].
    prefix: Arc<str>,
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
    /// Its branches or items.
    pub(crate) children: Vec<FrameId>,
    /// Of the failure of a branch or an item.
    pub(crate) inner: Option<Origin>,
    pub(crate) caught: bool,
    /// What it is doing that takes time; the times are those of the events. Nothing for a scope whose branches or
    /// items do it.
    pub(crate) doing: Option<Doing>,
    /// Which visit of a state this is.
    pub(crate) visit: Option<usize>,
    /// The entry of the last failure in this visit.
    pub(crate) failure: Option<usize>,
    /// The entries of the failure inside that it failed by, from the inside out.
    pub(crate) blame: Vec<usize>,
}

impl Frame {
    pub(crate) fn new(scope: Vec<String>, prefix: Arc<str>, machine: Arc<Machine>) -> Self {
        Self {
            scope,
            prefix,
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
            children: Vec::new(),
            inner: None,
            caught: false,
            doing: None,
            visit: None,
            failure: None,
            blame: Vec::new(),
        }
    }

    pub(crate) fn enter(&mut self, state: u32, at_ms: i64) {
        let scope = std::mem::take(&mut self.scope);
        let fresh = Self::new(scope, self.prefix.clone(), self.machine.clone());
        let parent = self.parent;
        *self = Self { state: state as usize, entered_ms: at_ms, parent, ..fresh };
    }

    /// Another attempt begins.
    pub(crate) fn start(&mut self) {
        self.attempts += 1;
        (self.note, self.missed_heartbeat, self.inner) = (None, false, None);
        self.blame.clear();
    }

    pub(crate) fn state(&self) -> &State {
        &self.machine.states[self.state]
    }

    /// A branch or an item inside; `own` is this frame.
    pub(crate) fn child(&self, own: FrameId, index: usize, machine: Arc<Machine>) -> Self {
        Self { parent: Some(own), ..self.inside(index, machine) }
    }

    /// A branch or an item inside, perhaps in a run of its own.
    pub(crate) fn inside(&self, index: usize, machine: Arc<Machine>) -> Self {
        let name = &self.state().name;
        let scope = [self.scope.as_slice(), &[format!("{name}[{index}]")]].concat();
        let place = match self.state().kind {
            Kind::Parallel(_) => format!("{}{name}[{index}]/", self.prefix),
            _ => format!("{}{name}/", self.prefix),
        };
        Self::new(scope, place.into(), machine)
    }

    pub(crate) fn place(&self) -> Arc<str> {
        format!("{}{}", self.prefix, self.state().name).into()
    }

    pub(crate) fn time_out(&mut self, heartbeat: bool) {
        self.doing = None;
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
            Err(Mismatch::Name) => {
                let near = near_miss(raised.name, error_equals.iter().map(String::as_str))?;
                Some(format!("`{near}` is spelled differently from `{}`", raised.name))
            }
            Ok(_) => None,
        }
    }

    /// A failure as the retriers and catchers of the state see it.
    pub(crate) fn raised<'f>(&self, failure: &'f Failure) -> Raised<'f> {
        raised(failure, self.state(), self.missed_heartbeat, self.inner)
    }

    /// A cause of more than so many bytes is cut.
    pub(crate) fn problem(&self, failure: &Failure, cause_bytes_max: usize) -> Problem {
        let cut = |cause: &str| match cause.len() <= cause_bytes_max {
            true => Some(cause.to_owned()),
            // Four bytes are the most that a character takes.
            false => words::cause(failure).map(|text| words::shorten(&text, cause_bytes_max / 4)),
        };
        Problem {
            error: failure.name().to_owned(),
            cause: failure.cause.as_deref().and_then(cut),
            note: self.note.clone(),
        }
    }
}

/// `Ship[2] › Charge`
pub(crate) fn path(scope: &[String], state: &str) -> String {
    scope.iter().map(|part| format!("{part} › ")).collect::<String>() + state
}
