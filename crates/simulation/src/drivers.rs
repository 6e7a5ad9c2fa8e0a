//! Map Runs, nested executions and activities, as those outside the engine know them.

use std::collections::{BTreeMap, BTreeSet};

use everstep_executions::ExecutionId;
use everstep_history::Attempt;

#[derive(Default)]
pub(crate) struct Drivers {
    pub(crate) runs: BTreeMap<RunId, Run>,
    /// EXPRESS children that run now.
    pub(crate) express: BTreeSet<ExecutionId>,
    /// The executions that a task has started.
    pub(crate) nested: BTreeMap<(ExecutionId, Attempt), BTreeSet<ExecutionId>>,
    /// Executions that have cancelled something and are not told yet that it has been seen to.
    pub(crate) cancelling: BTreeSet<ExecutionId>,
    /// Tasks of activities that wait for a worker.
    pub(crate) offered: BTreeSet<(ExecutionId, Attempt)>,
    /// Tasks of activities that a worker was given. Workers outlive the engine.
    pub(crate) held: BTreeSet<(ExecutionId, Attempt)>,
}

/// A Map Run, by its parent, the parent's start and its number there.
pub(crate) type RunId = (ExecutionId, i64, u32);

pub(crate) struct Run {
    pub(crate) express: bool,
    /// How many children it has.
    pub(crate) children: usize,
    /// The executions that were started for each child.
    pub(crate) started: BTreeMap<u32, BTreeSet<ExecutionId>>,
}

/// What started an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    Client,
    /// A Map Run of this execution.
    MapRun(ExecutionId),
    /// A task of this execution.
    Task(ExecutionId, Attempt),
}
