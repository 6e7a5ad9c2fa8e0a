//! What happened in a run, in numbers: a reader sees that faults really hit what they are meant for.

use std::fmt;
use std::ops::AddAssign;

#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub steps: u64,
    pub crashes: u64,
    pub executions: u64,
    pub dispatches: u64,
    pub invocations: u64,
    pub attempts: u64,
    pub deliveries: u64,
    pub map_runs: u64,
    pub children: u64,
    pub nested: u64,
    /// Crashes while an invocation was open, and while a record was on its way.
    pub crashes_in_invocations: u64,
    pub crashes_in_deliveries: u64,
    /// Crashes while a Map Run, or a task that had started an execution, was driven.
    pub crashes_in_map_runs: u64,
    pub crashes_in_nested: u64,
    /// Of everything that happened.
    pub digest: u64,
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.steps += other.steps;
        self.crashes += other.crashes;
        self.executions += other.executions;
        self.dispatches += other.dispatches;
        self.invocations += other.invocations;
        self.attempts += other.attempts;
        self.deliveries += other.deliveries;
        self.map_runs += other.map_runs;
        self.children += other.children;
        self.nested += other.nested;
        self.crashes_in_map_runs += other.crashes_in_map_runs;
        self.crashes_in_nested += other.crashes_in_nested;
        self.crashes_in_invocations += other.crashes_in_invocations;
        self.crashes_in_deliveries += other.crashes_in_deliveries;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, executions, dispatches, invocations, attempts, deliveries, .. } = self;
        writeln!(f, "{steps} steps")?;
        writeln!(f, "{executions} executions, {dispatches} tasks dispatched")?;
        writeln!(f, "{invocations} invocations, {attempts} attempts, {deliveries} deliveries")?;
        let Self { map_runs, children, nested, .. } = self;
        writeln!(
            f,
            "{map_runs} Map Runs taken up, {children} children, {nested} nested executions"
        )?;
        write!(
            f,
            "{} crashes: {} inside Map Runs, {} inside nested executions, {} inside invocations, {} \
             inside deliveries",
            self.crashes,
            self.crashes_in_map_runs,
            self.crashes_in_nested,
            self.crashes_in_invocations,
            self.crashes_in_deliveries
        )
    }
}
