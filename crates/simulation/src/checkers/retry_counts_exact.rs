//! Retries are counted exactly: in each visit of a state, attempts are scheduled once and once more for each
//! retry, each attempt but the last has failed, no retrier gives more than its `MaxAttempts`, none is given
//! up on before, and each delay is that of its number. A crash consumes nothing.

use std::collections::BTreeMap;

use everstep_asl::model::{Jitter, Retrier, State};
use everstep_history::{Event, FrameId};
use everstep_interpreter::Execution;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

#[derive(Default)]
struct Visit {
    scheduled: u64,
    failed: u64,
    retries: BTreeMap<u32, u64>,
}

impl Checker for Check {
    fn name(&self) -> &'static str {
        "retry_counts_exact"
    }

    fn life(&self, _: &Evidence, life: &Life) -> Verdict {
        let known = &life.execution;
        let mut execution = Execution::new(known.program().clone(), known.identity().clone());
        let mut visits: BTreeMap<FrameId, Visit> = BTreeMap::new();
        for event in life.events() {
            execution.apply(event);
            if let Event::ExecutionRedriven { .. } = event {
                visits.clear();
            }
            if let Event::StateEntered { frame, .. } = event {
                visits.insert(*frame, Visit::default());
            }
            let Some(frame) = frame_of(event) else { continue };
            let visit = visits.entry(frame).or_default();
            let state = execution.state_of(frame);
            take(visit, state, event)
                .map_err(|what| (Some(life.id.into()), format!("{what}: {event:?}")))?;
        }
        ensure(true, life.id, String::new)
    }
}

fn frame_of(event: &Event) -> Option<FrameId> {
    match event {
        Event::TaskScheduled { attempt, .. }
        | Event::TaskFailed { attempt, .. }
        | Event::TaskTimedOut { attempt, .. } => Some(attempt.frame),
        Event::RetryScheduled { frame, .. } | Event::StateFailed { frame, .. } => Some(*frame),
        _ => None,
    }
}

fn take(visit: &mut Visit, state: Option<&State>, event: &Event) -> Result<(), String> {
    match event {
        Event::TaskScheduled { .. } => {
            visit.scheduled += 1;
            let retries: u64 = visit.retries.values().sum();
            if visit.scheduled != retries + 1 {
                return Err(format!("attempt {} after {retries} retries", visit.scheduled));
            }
        }
        Event::TaskFailed { .. } | Event::TaskTimedOut { .. } => {
            visit.failed += 1;
            if visit.failed != visit.scheduled {
                return Err(format!("failure {} of {} attempts", visit.failed, visit.scheduled));
            }
        }
        Event::RetryScheduled { retrier: index, at_ms, due_ms, .. } => {
            let retrier = retrier(state, *index).ok_or("no such retrier")?;
            let so_far = visit.retries.entry(*index).or_default();
            judge_delay(retrier, *so_far, due_ms - at_ms)?;
            *so_far += 1;
            if *so_far > retrier.max_attempts {
                return Err(format!("retry {so_far} of at most {}", retrier.max_attempts));
            }
        }
        Event::StateFailed { retrier: Some(index), .. } => {
            let retrier = retrier(state, *index).ok_or("no such retrier")?;
            let so_far = visit.retries.get(index).copied().unwrap_or(0);
            if so_far != retrier.max_attempts {
                return Err(format!("given up after {so_far} of {}", retrier.max_attempts));
            }
        }
        _ => {}
    }
    Ok(())
}

fn retrier(state: Option<&State>, index: u32) -> Option<&Retrier> {
    state?.retry().get(index as usize)
}

fn judge_delay(retrier: &Retrier, so_far: u64, delay_ms: i64) -> Result<(), String> {
    let expected = retrier.delay_seconds(so_far) * 1000.0;
    // Delays are short.
    let delay = delay_ms as f64;
    let fits = match retrier.jitter {
        Jitter::None => (delay - expected).abs() <= 0.5,
        Jitter::Full => delay <= expected + 0.5 && delay >= 0.0,
    };
    if fits { Ok(()) } else { Err(format!("a delay of {delay} ms instead of {expected}")) }
}
