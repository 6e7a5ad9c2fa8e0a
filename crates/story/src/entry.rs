//! What is worth reporting of a run, as facts: the same for people and programs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One thing that happened to one state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Since the start of the execution.
    pub at_ms: i64,
    /// The branches and items it is in, the outermost first: `Ship[2]`.
    pub scope: Vec<String>,
    pub state: String,
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    #[serde(flatten)]
    pub happened: Happened,
    /// Which visit of the story it belongs to.
    #[serde(skip)]
    pub visit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        /// What happens if this retry, the last one, fails the same way.
        otherwise: Option<Otherwise>,
        #[serde(default)]
        retriers: Vec<Handler>,
        /// What they would do if no retry were left.
        #[serde(default)]
        catchers: Vec<Handler>,
        /// What happens if all retries that are left fail the same way.
        #[serde(default)]
        finally: Otherwise,
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
    /// The execution continues from where it had failed.
    Redriven {
        count: u32,
    },
    /// A command wrote a line on standard error.
    Said {
        line: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    pub error: String,
    pub cause: Option<String>,
    /// What it means where the cause does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The retrier that takes a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The delay of the retry after this one; nothing if this is the last.
    #[serde(default)]
    pub next_delay_ms: Option<i64>,
    /// Delays are drawn at random: the next one is at most that long.
    #[serde(default)]
    pub jitter: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

impl Default for Otherwise {
    fn default() -> Self {
        Self::Fails { what: None }
    }
}

/// A retrier or catcher of a state that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handler {
    pub error_equals: Vec<String>,
    pub verdict: Verdict,
    /// Why it does not match, where its names alone do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    NoMatch,
    /// It matched and has no retry left, of so many.
    UsedUp(u64),
    TookOver,
    /// One before it matched: the first that matches decides.
    NotAsked,
}

impl Happened {
    /// About as many as its texts take.
    pub(crate) fn bytes(&self) -> usize {
        let of = |handlers: &[Handler]| {
            let names = handlers.iter().flat_map(|handler| &handler.error_equals);
            names.map(|name| name.len() + 80).sum::<usize>()
        };
        match self {
            Self::Retried { problem, retriers, catchers, .. }
            | Self::Failed { problem, retriers, catchers, .. } => {
                problem.cause.as_ref().map_or(0, String::len) + of(retriers) + of(catchers)
            }
            _ => 0,
        }
    }
}

impl Entry {
    /// What went wrong, if this is a failure.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match &self.happened {
            Happened::Retried { problem, .. } | Happened::Failed { problem, .. } => Some(problem),
            _ => None,
        }
    }

    /// Whether a catcher took it.
    #[must_use]
    pub fn is_caught(&self) -> bool {
        matches!(self.happened, Happened::Failed { next: Some(_), .. })
    }
}
