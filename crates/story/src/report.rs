//! What is reported of an execution as a whole: what is under way, what failed, and how much there was.
//!
//! Its size is bounded, whatever the execution did; programs read the same as people.

use everstep_source::words::duration;
use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::frame::path;

/// Failures of one kind that are reported; the rest are counted.
pub(crate) const FAILURES_MAX: usize = 20;
pub(crate) const ACTIVITIES_MAX: usize = 100;

/// Times are milliseconds since the start of the execution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub status: Standing,
    pub elapsed_ms: i64,
    pub states: usize,
    pub retries: usize,
    /// What is under way, or was when the execution was stopped.
    pub activities: Excerpt<Activity>,
    /// Failures that a retrier has taken, of states that have not ended.
    pub open: Excerpt<Entry>,
    /// The states that the failure which ended the execution passed through, from the inside out.
    pub ending: Excerpt<Entry>,
    /// Failures before it that were caught or tolerated.
    pub earlier: Excerpt<Entry>,
}

/// How an execution stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Standing {
    #[default]
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Aborted,
}

/// The latest of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excerpt<T> {
    /// How many came before.
    pub omitted: usize,
    pub shown: Vec<T>,
}

impl<T> Default for Excerpt<T> {
    fn default() -> Self {
        Self { omitted: 0, shown: Vec::new() }
    }
}

impl<T: Clone> Excerpt<T> {
    pub(crate) fn of(all: &[&T], max: usize) -> Self {
        let omitted = all.len().saturating_sub(max);
        Self { omitted, shown: all[omitted..].iter().map(|one| (*one).clone()).collect() }
    }
}

/// What a scope is doing that takes time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    pub scope: Vec<String>,
    pub state: String,
    #[serde(flatten)]
    pub doing: Doing,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "doing", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Doing {
    Running { since_ms: i64 },
    Waiting { until_ms: i64 },
    Retrying { due_ms: i64 },
}

impl Doing {
    /// Counted from another moment.
    pub(crate) fn since(self, start_ms: i64) -> Self {
        match self {
            Self::Running { since_ms } => Self::Running { since_ms: since_ms - start_ms },
            Self::Waiting { until_ms } => Self::Waiting { until_ms: until_ms - start_ms },
            Self::Retrying { due_ms } => Self::Retrying { due_ms: due_ms - start_ms },
        }
    }
}

impl Activity {
    /// `Ship[2] › Charge: next retry in 3.0 s`
    #[must_use]
    pub fn text(&self, elapsed_ms: i64) -> String {
        let doing = match self.doing {
            Doing::Running { since_ms } => {
                format!("running for {}", duration(elapsed_ms - since_ms))
            }
            Doing::Waiting { until_ms } => {
                format!("waiting, {} left", duration(until_ms - elapsed_ms))
            }
            Doing::Retrying { due_ms } => {
                format!("next retry in {}", duration(due_ms - elapsed_ms))
            }
        };
        format!("{}: {doing}", path(&self.scope, &self.state))
    }
}

impl Report {
    /// A line for each activity.
    #[must_use]
    pub fn activity_lines(&self) -> Vec<String> {
        self.activities.shown.iter().map(|activity| activity.text(self.elapsed_ms)).collect()
    }
}
