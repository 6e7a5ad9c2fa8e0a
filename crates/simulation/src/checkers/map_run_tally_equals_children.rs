//! A Map Run's tally is that of its children: when it is over, its record has each child once, with the status that
//! the child has. The record of the end is durable before the parent hears of it.

use std::collections::BTreeMap;

use everstep_drivers::map_run::{Status, record_of};
use everstep_executions::Standing;
use everstep_history::Event;

use super::{Checker, Verdict, ensure};
use crate::drivers::{Run, RunId};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "map_run_tally_equals_children"
    }

    fn step(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let events = life.steps.last().map(|step| step.events.as_slice()).unwrap_or_default();
        let ends = events.iter().any(|event| matches!(event, Event::MapRunSucceeded { .. }));
        if !ends {
            return Ok(());
        }
        let runs = evidence.drivers.runs.keys().filter(|(id, started_ms, _)| {
            *id == life.id && *started_ms == life.execution.started_ms()
        });
        let over = |(id, _, run): &RunId| {
            let record = record_of(&evidence.reader(), *id, *run).ok().flatten();
            record.is_some_and(|record| record.status == Status::Succeeded)
        };
        ensure(runs.into_iter().any(over), life.id, || {
            "its Map Run has succeeded, and no record says so".to_owned()
        })
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        evidence.drivers.runs.iter().try_for_each(|(id, run)| check(evidence, *id, run))
    }
}

fn check(evidence: &Evidence, (parent, started_ms, number): RunId, run: &Run) -> Verdict {
    let life = evidence.ledger.last(parent).filter(|life| life.is_there());
    if life.is_none_or(|life| life.execution.started_ms() != started_ms) {
        return Ok(());
    }
    let record = record_of(&evidence.reader(), parent, number).ok().flatten();
    let Some(record) = record.filter(|record| record.status != Status::Running) else {
        return Ok(());
    };
    let shown = record.tallies.executions.shown();
    ensure(shown["total"] == run.children, parent, || {
        format!("run {number} has {} children and counts {shown}", run.children)
    })?;
    if run.express {
        return Ok(());
    }
    let Some(expected) = count(evidence, run) else { return Ok(()) };
    // A child that waits for its redrive is over, and not counted as that.
    let of = |names: &[&str]| names.iter().filter_map(|name| shown[*name].as_u64()).sum::<u64>();
    let same = of(&["succeeded"]) == expected["succeeded"]
        && of(&["running"]) == expected["running"]
        && of(&["failed", "timedOut", "aborted", "pendingRedrive"])
            == expected["failed"] + expected["timedOut"] + expected["aborted"];
    let exact = ["failed", "timedOut", "aborted"].map(|name| of(&[name]) == expected[name]);
    let redriven = of(&["pendingRedrive"]) > 0;
    ensure(same && (redriven || exact.into_iter().all(|same| same)), parent, || {
        format!("run {number} counts {shown}, and its children are {expected:?}")
    })
}

/// How the children of a run stand, by the names that users see; nothing if one of them has been removed.
fn count(evidence: &Evidence, run: &Run) -> Option<BTreeMap<&'static str, u64>> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for name in ["succeeded", "failed", "timedOut", "aborted", "running"] {
        counts.insert(name, 0);
    }
    for id in run.started.values().flatten() {
        let Some(life) = evidence.ledger.last(*id) else { continue };
        if !life.is_there() {
            return None;
        }
        let name = match Standing::of(life.execution.status()) {
            Standing::Succeeded => "succeeded",
            Standing::Failed => "failed",
            Standing::TimedOut => "timedOut",
            Standing::Aborted => "aborted",
            Standing::Running => "running",
        };
        *counts.entry(name).or_default() += 1;
    }
    Some(counts)
}
