//! Happened is worth telling of a run, as facts: the same for people and programs.

use serde::Serialize;

/// One thing that happened to one state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Since the start of the execution.
    pub at_ms: i64,
    /// The branches and items it is in, the outermost first: `Ship[2]`.
    pub scope: Vec<String>,
    pub state: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(flatten)]
    pub happened: Happened,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Happened {
    Succeeded {
        duration_ms: i64,
        attempts: u32,
        next: Option<String>,
    },
    /// An attempt failed, and a retrier took it.
    Retried {
        problem: Problem,
        attempt: u32,
        retrier: Retrier,
        /// Happened happens if the last retry fails the same way.
        otherwise: Option<Otherwise>,
    },
    /// The state failed for good; `next` is the target of the catcher that matched.
    Failed {
        problem: Problem,
        attempts: u32,
        retriers: Vec<Handler>,
        catchers: Vec<Handler>,
        next: Option<String>,
    },
    Waiting {
        duration_ms: i64,
    },
    BranchesStarted {
        branches: u32,
    },
    ItemsStarted {
        items: usize,
        distributed: bool,
    },
    Aborted,
    /// A command wrote a line on standard error.
    Said {
        line: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    pub error: String,
    pub cause: Option<String>,
    /// What it means where the cause does not say.
    #[serde(skip)]
    pub note: Option<String>,
}

/// The retrier that takes a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retrier {
    /// Its place in `Retry`, from 1.
    pub number: usize,
    pub of: usize,
    /// Which name in its `ErrorEquals` matched.
    pub matched: String,
    pub retry: u32,
    pub max_attempts: u64,
    pub delay_ms: i64,
    /// The delay was drawn at random and is not known: it is at most this long.
    #[serde(skip)]
    pub at_most: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Otherwise {
    Caught {
        number: usize,
        of: usize,
        error_equals: Vec<String>,
        next: String,
    },
    /// The branch or item it is in fails, or the execution.
    Fails {
        what: Option<String>,
    },
}

/// A retrier or catcher of a state that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Handler {
    pub error_equals: Vec<String>,
    pub verdict: Verdict,
    /// Why it does not match, where its names alone do not show it.
    #[serde(skip)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    NoMatch,
    /// It matched and has no retry left, of so many.
    UsedUp(u64),
    TookOver,
    /// One before it matched: the first that matches decides.
    NotAsked,
}
