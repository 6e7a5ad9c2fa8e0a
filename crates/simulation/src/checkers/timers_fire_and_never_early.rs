//! Nothing happens before its time by the clock that the engine was given: the end of a Wait, a retry,
//! each kind of timeout. And nothing that is due is left: whenever the engine is quiet it has done what is
//! due, and asks for a turn before the next thing is.

use std::collections::BTreeMap;

use everstep_history::{Attempt, Event, FrameId};
use everstep_invocations::State;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::Life as Invocation;
use crate::ledger::{Life, Step};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "timers_fire_and_never_early"
    }

    /// A heartbeat is not an event, so it is compared at once.
    fn step(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let Some(step) = life.steps.last() else { return Ok(()) };
        for event in &step.events {
            let at_ms = event.at_ms();
            ensure(evidence.readings.contains(&at_ms), life.id, || {
                format!("it is {}, and not yet: {event:?}", evidence.now_ms)
            })?;
            let Event::TaskTimedOut { attempt, heartbeat: true, .. } = event else { continue };
            let Some((
                Event::TaskScheduled { heartbeat_seconds: Some(seconds), at_ms: begun, .. },
                ..,
            )) = evidence.scheduled(life.id, *attempt)
            else {
                return Err((
                    Some(life.id.into()),
                    format!("no heartbeat was expected: {event:?}"),
                ));
            };
            let sign = evidence.signs.get(&(life.id, *attempt)).copied().unwrap_or(*begun);
            if sign >= at_ms {
                // It came when this was decided outside the shard, and not yet written.
                continue;
            }
            let due = sign + i64::try_from(*seconds).unwrap_or(i64::MAX) * 1000;
            ensure(at_ms >= due, life.id, || format!("due at {due}: {event:?}"))?;
        }
        Ok(())
    }

    fn life(&self, _: &Evidence, life: &Life) -> Verdict {
        let mut due = Due::default();
        for step in &life.steps {
            due.take(life, step)?;
        }
        Ok(())
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        for life in evidence.ledger.present() {
            if evidence.is_quarantined(life.id) {
                continue;
            }
            let mut execution = life.execution.clone();
            for (attempt, _) in execution.heartbeats() {
                execution.expect_heartbeat(attempt, i64::MAX);
            }
            let Some(due) = execution.next_due_ms().filter(|due| *due < i64::MAX) else { continue };
            let now = evidence.now_ms;
            ensure(due > now, life.id, || format!("due at {due}, it is {now}, nothing happened"))?;
            let turn = evidence.next_ms[usize::from(life.id.shard(evidence.shard_count).0)];
            ensure(turn.is_some_and(|turn| turn <= due), life.id, || {
                format!("due at {due}, and its shard wants its next turn at {turn:?}")
            })?;
        }
        evidence.functions.ledger.present().try_for_each(|life| retry_in_time(evidence, life))
    }
}

/// The retry of an invocation is not overdue, and its shard asks for a turn in time.
fn retry_in_time(evidence: &Evidence, life: &Invocation) -> Verdict {
    let State::Waiting { due_ms } = life.invocation().state else { return Ok(()) };
    let now = evidence.now_ms;
    // One that is due, or was before the clock was set back, may wait for a slot.
    let shard = usize::from(life.id.shard(evidence.shard_count).0);
    let turn = evidence.functions.engine.next_ms[shard];
    ensure(due_ms <= evidence.latest_ms || turn.is_some_and(|turn| turn <= due_ms), life.id, || {
        format!("due at {due_ms}, it is {now}, and its shard wants its next turn at {turn:?}")
    })
}

/// What may not happen before when.
#[derive(Default)]
struct Due {
    resumes: BTreeMap<FrameId, i64>,
    deadlines: BTreeMap<Attempt, i64>,
    begun: i64,
}

impl Due {
    fn take(&mut self, life: &Life, step: &Step) -> Verdict {
        for event in &step.events {
            let at_ms = event.at_ms();
            let due = self.of(life, event);
            ensure(due.is_none_or(|due| at_ms >= due), life.id, || {
                format!("due at {due:?} and handed over at {}: {event:?}", step.handed_ms)
            })?;
        }
        Ok(())
    }

    /// When an event is due, if it waits for time.
    fn of(&mut self, life: &Life, event: &Event) -> Option<i64> {
        match event {
            Event::ExecutionStarted { at_ms, .. } => self.begun = *at_ms,
            Event::ExecutionRedriven { at_ms, .. } => {
                self.begun = *at_ms;
                self.resumes.clear();
            }
            Event::WaitStarted { frame, until_ms: due, .. }
            | Event::RetryScheduled { frame, due_ms: due, .. } => {
                self.resumes.insert(*frame, *due);
            }
            Event::TaskScheduled { attempt, deadline_ms, .. } => {
                if let Some(due) = deadline_ms {
                    self.deadlines.insert(*attempt, *due);
                }
                return self.resumes.remove(&attempt.frame);
            }
            Event::StateExited { frame, .. }
            | Event::ParallelStarted { frame, .. }
            | Event::MapStarted { frame, .. }
            | Event::MapRunStarted { frame, .. } => return self.resumes.remove(frame),
            Event::StateAborted { frame, .. } => {
                self.resumes.remove(frame);
            }
            Event::TaskTimedOut { attempt, heartbeat: false, .. } => {
                return Some(self.deadlines.get(attempt).copied().unwrap_or(i64::MAX));
            }
            Event::ExecutionTimedOut { .. } => {
                let seconds = life.execution.program().machine.timeout_seconds?;
                return Some(self.begun + i64::try_from(seconds).unwrap_or(i64::MAX) * 1000);
            }
            _ => {}
        }
        None
    }
}
