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
    /// Crashes while an invocation was open, and while a record was on its way.
    pub crashes_in_invocations: u64,
    pub crashes_in_deliveries: u64,
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
        write!(
            f,
            "{} crashes: {} with open invocations, {} with records on their way",
            self.crashes, self.crashes_in_invocations, self.crashes_in_deliveries
        )
    }
}
