//! A seeded world in which the real interpreter and the real shards run on a virtual clock, beside a disk
//! that is slow, fails and forgets, workers that answer late, twice or never, and clients that retry.
//!
//! The same seed gives the same run. What must always hold are the checkers, one file each. See
//! `docs/design/simulation.md`.

mod checkers;
mod dice;
mod disk;
mod drivers;
mod evidence;
mod fault;
mod functions;
mod ledger;
mod log;
mod post;
mod tally;
mod tasks;
mod whose;
mod workload;
mod world;

#[cfg(test)]
mod tests;

use std::fmt;

pub use checkers::names;
pub use fault::Fault;
pub use tally::Tally;

/// How a run is made.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Actions of the rough part of the run.
    pub actions: usize,
    /// Keep every line of what happens.
    pub record: bool,
    /// A part that is broken on purpose.
    pub fault: Option<Fault>,
}

impl Default for Options {
    fn default() -> Self {
        Self { actions: 400, record: false, fault: None }
    }
}

/// A checker that was not satisfied.
#[derive(Debug, Clone)]
pub struct Failure {
    pub seed: u64,
    pub checker: &'static str,
    pub what: String,
    /// What happened to the execution concerned, or all that happened.
    pub timeline: Vec<String>,
    actions: usize,
}

/// Runs the world of a seed.
pub fn simulate(seed: u64, options: &Options) -> Result<Tally, Box<Failure>> {
    run(seed, options).or_else(|failure| {
        // Once more, keeping the lines.
        run(seed, &Options { record: true, ..*options })?;
        Err(failure)
    })
}

/// All that happens in the world of a seed.
#[must_use]
pub fn timeline(seed: u64, options: &Options) -> Vec<String> {
    match world::World::new(seed, &Options { record: true, ..*options }) {
        Ok(mut world) => {
            let outcome = world.run(options.actions);
            let mut lines = world.log.lines(None);
            lines.extend(outcome.err().map(|violation| violation.to_string()));
            lines
        }
        Err(violation) => vec![violation.to_string()],
    }
}

fn run(seed: u64, options: &Options) -> Result<Tally, Box<Failure>> {
    let failure = |violation: Box<checkers::Violation>, timeline| {
        let checkers::Violation { checker, what, .. } = *violation;
        Box::new(Failure { seed, checker, what, timeline, actions: options.actions })
    };
    let mut world =
        world::World::new(seed, options).map_err(|violation| failure(violation, Vec::new()))?;
    match world.run(options.actions) {
        Ok(()) => Ok(Tally {
            executions: world.evidence.subjects.len() as u64,
            dispatches: world.evidence.witness.dispatches,
            invocations: world.evidence.functions.ledger.len() as u64,
            attempts: world.evidence.functions.witness.starts,
            digest: world.log.digest(),
            ..world.tally
        }),
        Err(violation) => {
            let timeline = world.log.lines(violation.id);
            Err(failure(violation, timeline))
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.timeline {
            writeln!(f, "  {line}")?;
        }
        writeln!(f, "seed {}: {}: {}", self.seed, self.checker, self.what)?;
        let standard = Options::default().actions == self.actions;
        let steps = if standard { String::new() } else { format!(" --steps {}", self.actions) };
        write!(f, "repeat it with: cargo xtask simulate --seed {}{steps} --verbose", self.seed)
    }
}
