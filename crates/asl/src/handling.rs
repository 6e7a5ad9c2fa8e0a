//! Which retrier or catcher of a state takes an error, and why the others do not.
//!
//! The interpreter decides by [`decide`]; whatever predicts, explains or checks what a definition does about an
//! error asks the same functions. Pure: the caller keeps the counters of the retriers.

use crate::Dialect;
use crate::error_name::{
    self, ALL, BRANCH_FAILED, DATA_LIMIT_EXCEEDED, HEARTBEAT_TIMEOUT, RUNTIME, TASK_FAILED,
};
use crate::model::{Catcher, Kind, Resource, Retrier, State};

/// An error as it reaches the `Retry` and `Catch` of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised<'e> {
    /// As it is reported; empty if it has no name.
    pub name: &'e str,
    pub origin: Origin,
}

/// What decides, besides its name, how an error is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Nothing: the name decides.
    #[default]
    Named,
    /// A missed heartbeat is reported as `States.Timeout`.
    MissedHeartbeat,
    /// A function crashed under this name, whatever the crash is reported as.
    Crash(&'static str),
    /// A task returned more than a payload may hold.
    OversizedResult,
    /// The state failed in a way that its own `Retry` and `Catch` cannot take.
    Fatal,
}

/// The first retrier or catcher that matches an error.
#[derive(Debug)]
pub struct Matched<'s, H> {
    /// Its place in `Retry` or `Catch`.
    pub index: usize,
    pub handler: &'s H,
    /// The name in its `ErrorEquals` that matches.
    pub pattern: &'s str,
}

/// Why a retrier or catcher does not match an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch<'s> {
    /// It has other names.
    Name,
    /// It has this wildcard, which does not stand for the error.
    Wildcard(&'s str),
    /// Nothing retries or catches the error here.
    Fatal,
}

/// What a state does about an error.
#[derive(Debug)]
pub enum Decision<'s> {
    /// Runs again, after this many earlier retries by the same retrier.
    Retry {
        retrier: Matched<'s, Retrier>,
        so_far: u32,
    },
    Catch {
        used_up: Option<Matched<'s, Retrier>>,
        catcher: Matched<'s, Catcher>,
    },
    /// Fails; the error goes to the state around, or ends the execution.
    Fail {
        used_up: Option<Matched<'s, Retrier>>,
    },
}

/// What a state does about an error. `retries` says how often a retrier has been used in this visit.
///
/// "When a state reports an error, the interpreter scans through the Retriers and, when the Error Name appears
/// in the value of a Retrier's ErrorEquals array, implements the retry policy described in that Retrier": the
/// first that matches decides, whether it has retries left or not.
pub fn decide<'s>(
    state: &'s State,
    raised: Raised<'_>,
    dialect: Dialect,
    retries: impl FnOnce(usize) -> u32,
) -> Decision<'s> {
    let used_up = match retrier(state, raised, dialect) {
        Some(retrier) => {
            let so_far = retries(retrier.index);
            if u64::from(so_far) < retrier.handler.max_attempts {
                return Decision::Retry { retrier, so_far };
            }
            Some(retrier)
        }
        None => None,
    };
    match catcher(state, raised, dialect) {
        Some(catcher) => Decision::Catch { used_up, catcher },
        None => Decision::Fail { used_up },
    }
}

/// The first retrier that matches.
#[must_use]
pub fn retrier<'s>(
    state: &'s State,
    raised: Raised<'_>,
    dialect: Dialect,
) -> Option<Matched<'s, Retrier>> {
    first(state.retry(), |retrier| matching(&retrier.error_equals, state, raised, dialect))
}

/// The first catcher that matches.
#[must_use]
pub fn catcher<'s>(
    state: &'s State,
    raised: Raised<'_>,
    dialect: Dialect,
) -> Option<Matched<'s, Catcher>> {
    first(state.catch(), |catcher| matching(&catcher.error_equals, state, raised, dialect))
}

fn first<'s, H>(
    handlers: &'s [H],
    matching: impl Fn(&'s H) -> Result<&'s str, Mismatch<'s>>,
) -> Option<Matched<'s, H>> {
    let find = |(index, handler)| {
        matching(handler).ok().map(|pattern| Matched { index, handler, pattern })
    };
    handlers.iter().enumerate().find_map(find)
}

/// Which name of an `ErrorEquals` of this state matches the error, or why none does.
pub fn matching<'s>(
    error_equals: &'s [String],
    state: &State,
    raised: Raised<'_>,
    dialect: Dialect,
) -> Result<&'s str, Mismatch<'s>> {
    if raised.is_fatal() {
        return Err(Mismatch::Fatal);
    }
    let mut names = error_equals.iter().map(String::as_str);
    if let Some(name) = names.clone().find(|name| matches(name, state, raised, dialect)) {
        return Ok(name);
    }
    let wildcard = names.find(|name| matches!(*name, ALL | TASK_FAILED));
    Err(wildcard.map_or(Mismatch::Name, Mismatch::Wildcard))
}

fn matches(pattern: &str, state: &State, raised: Raised<'_>, dialect: Dialect) -> bool {
    let by_origin = match raised.origin {
        Origin::MissedHeartbeat => error_name::matches(pattern, HEARTBEAT_TIMEOUT),
        Origin::Crash(crash) => error_name::matches(pattern, crash),
        Origin::OversizedResult => pattern == ALL && dialect.catches_oversized_results(),
        Origin::Named | Origin::Fatal => false,
    };
    let of_branch = pattern == BRANCH_FAILED
        && matches!(state.kind, Kind::Parallel(_))
        && dialect.matches_branch_failed();
    by_origin || of_branch || error_name::matches(pattern, raised.name)
}

impl<'e> Raised<'e> {
    /// An error of which only the name is known.
    #[must_use]
    pub fn named(name: &'e str) -> Self {
        Self { name, origin: Origin::Named }
    }

    /// Whether nothing retries or catches it.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        self.origin == Origin::Fatal || self.name == RUNTIME
    }

    /// The same error as the state around sees it.
    #[must_use]
    pub fn outside(self) -> Self {
        let origin = match (self.origin, self.name) {
            (_, RUNTIME) | (Origin::Fatal, DATA_LIMIT_EXCEEDED) => Origin::Fatal,
            // What is fatal for a state without Retry and Catch is an ordinary failure of its branch.
            (Origin::Fatal | Origin::OversizedResult, _) => Origin::Named,
            (origin, _) => origin,
        };
        Self { origin, ..self }
    }
}

impl Origin {
    /// Of an error that a task reported under this name.
    #[must_use]
    pub fn of_task(name: &str, resource: &Resource) -> Self {
        if name == DATA_LIMIT_EXCEEDED {
            return Self::OversizedResult;
        }
        // A worker chooses its error names itself.
        match (resource, error_name::crash(name)) {
            (Resource::Activity { .. }, _) | (_, None) => Self::Named,
            (_, Some(crash)) => Self::Crash(crash),
        }
    }
}
