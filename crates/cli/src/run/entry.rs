//! What is worth telling of a run, as facts: the same for people and programs.

use serde::Serialize;

/// One thing that happened to one state.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// Since the start of the execution.
    pub(crate) at_ms: i64,
    /// The branches and items it is in, the outermost first: `Ship[2]`.
    pub(crate) scope: Vec<String>,
    pub(crate) state: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    #[serde(flatten)]
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum What {
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
        /// What happens if the last retry fails the same way.
        otherwise: Option<Otherwise>,
    },
    /// The state failed for good; `next` is where a catcher goes on.
    Failed {
        problem: Problem,
        attempts: u32,
        retriers: Vec<Asked>,
        catchers: Vec<Asked>,
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
    /// A line that a command wrote on standard error.
    Said {
        line: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Problem {
    pub(crate) error: String,
    pub(crate) cause: Option<String>,
    /// What it means where the cause does not say.
    #[serde(skip)]
    pub(crate) note: Option<String>,
}

/// The retrier that takes a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Retrier {
    /// Its place in `Retry`, from 1.
    pub(crate) number: usize,
    pub(crate) of: usize,
    /// What in its `ErrorEquals` matched.
    pub(crate) matched: String,
    pub(crate) retry: u32,
    pub(crate) max_attempts: u64,
    pub(crate) delay_ms: i64,
    /// The delay was drawn by lot, and is not known.
    #[serde(skip)]
    pub(crate) at_most: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum Otherwise {
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

/// A retrier or catcher that a failure came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    pub(crate) error_equals: Vec<String>,
    pub(crate) verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Verdict {
    NoMatch,
    /// It matched and has no retry left, of so many.
    UsedUp(u64),
    TookOver,
    /// One before it matched: the first that matches decides.
    NotAsked,
}
