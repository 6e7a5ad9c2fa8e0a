//! Attempts of invocations are counted exactly, whatever crashes: there are 1 + retries of them, and each ends once;
//! each retry is one of its rule and waits as long as the rule says. An attempt that was interrupted is repeated as
//! itself, so often as the function's terms say: code sees it once, and once more at most for each interruption.

use everstep_invocations::{AttemptRecord, Interrupted, Invocation, Reason, State};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::{Life, Version};
use crate::functions::workload::UNSTARTABLE;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "attempts_exact"
    }

    fn invocation(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let wrong = |what: String| (Some(life.id.into()), what);
        begin(&life.versions[0].invocation).map_err(wrong)?;
        for pair in life.versions.windows(2) {
            change(&pair[0], &pair[1]).map_err(wrong)?;
        }
        budget(life.invocation()).map_err(wrong)?;
        seen(evidence, life)
    }
}

fn begin(first: &Invocation) -> Result<(), String> {
    match first.attempts.started() {
        0 => Ok(()),
        started => Err(format!("it begins {:?} with {started} attempts", first.state)),
    }
}

fn change(before: &Version, after: &Version) -> Result<(), String> {
    let (old, new) = (&before.invocation, &after.invocation);
    let (was, is) = (old.attempts.started(), new.attempts.started());
    let retries = |of: &Invocation| of.retries.iter().sum::<u32>();
    let said = || format!("{:?} {was} becomes {:?} {is}", old.state, new.state);
    if old.terms != new.terms || old.accepted_ms != new.accepted_ms {
        return Err("what was pinned at its acceptance has changed".to_owned());
    }
    let open = open(old);
    // What was interrupted is repeated under its number.
    let begun = if open.is_some() { was } else { was + 1 };
    let same = open.is_none_or(|open| new.attempts.latest().is_some_and(|new| new.id == open.id));
    let retried = retries(new) == retries(old) + 1;
    let right = match (old.state, new.state) {
        (State::Waiting { due_ms }, State::Running) if after.handed_ms < due_ms => false,
        (State::Accepted | State::Waiting { .. }, State::Running) => {
            is == begun && same && retries(new) == retries(old)
        }
        (State::Running, State::Accepted) => {
            is == was && same && is_interruption(old, new) && retries(new) == retries(old)
        }
        // It has not run after all.
        (State::Running, _) if new.throttled > old.throttled => {
            let repeated = open.is_some_and(|open| open.interruptions > 0);
            is + u32::from(!repeated) == was
        }
        (State::Running, State::Waiting { due_ms }) => {
            retried && is == was && fits(old, new, after.handed_ms, due_ms)
        }
        (State::Running, State::Running) => false,
        // It has failed before a worker had it.
        (State::Accepted | State::Waiting { .. }, State::Waiting { due_ms }) if retried => {
            is == begun && same && fits(old, new, after.handed_ms, due_ms)
        }
        (State::Accepted | State::Waiting { .. }, over) if over.is_over() => {
            (is == was || is == begun) && same && new.retries == old.retries
        }
        _ => is == was && new.retries == old.retries,
    };
    if right { Ok(()) } else { Err(said()) }
}

/// The attempt that has not ended.
fn open(invocation: &Invocation) -> Option<&AttemptRecord> {
    invocation.attempts.latest().filter(|latest| latest.ended_ms.is_none())
}

/// One more of the attempt that ran, and not too many.
fn is_interruption(old: &Invocation, new: &Invocation) -> bool {
    let interruptions = |of| open(of).map(|open| open.interruptions);
    match (interruptions(old), interruptions(new), new.terms.interrupted) {
        (Some(was), Some(is), Interrupted::Repeat { most }) => is == was + 1 && is <= most,
        _ => false,
    }
}

/// Whether the wait for a retry is that of its rule, and the failure is of the attempt that ran.
fn fits(old: &Invocation, new: &Invocation, now_ms: i64, due_ms: i64) -> bool {
    let Some(failed) = new.attempts.latest() else { return false };
    let ended = failed.failure.is_some() && failed.ended_ms == Some(now_ms);
    let waited = u64::try_from(due_ms - now_ms).ok();
    let rule = (0..new.retries.len()).find(|rule| new.retries[*rule] != so_far(old, *rule));
    let Some(rule) = rule else { return false };
    let range = new.terms.policy.rules[rule].delay.range_ms(so_far(old, rule));
    ended && waited.is_some_and(|waited| range.0 <= waited && waited <= range.1)
}

fn so_far(invocation: &Invocation, rule: usize) -> u32 {
    invocation.retries.get(rule).copied().unwrap_or(0)
}

/// No rule gives more than it has, and none is given up on before.
fn budget(invocation: &Invocation) -> Result<(), String> {
    let rules = &invocation.terms.policy.rules;
    for (rule, retries) in rules.iter().zip(&invocation.retries) {
        if rule.retries_max.is_some_and(|most| *retries > most) {
            return Err(format!("{retries} retries of at most {:?}", rule.retries_max));
        }
    }
    let exhausted = State::Exhausted { reason: Reason::RetriesExhausted };
    let spent = |(index, rule): (usize, &everstep_retry::Rule)| {
        rule.retries_max == Some(so_far(invocation, index))
    };
    if invocation.state == exhausted {
        let retries: u32 = invocation.retries.iter().sum::<u32>();
        let started = invocation.attempts.started();
        if started != retries + 1 {
            return Err(format!("it gave up after {started} attempts and {retries} retries"));
        }
        let unmatched = invocation.attempts.last_failure().is_none_or(|failure| {
            invocation.terms.policy.rule_for(&failure.error_type, failure.class).is_none()
        });
        if !unmatched && !rules.iter().enumerate().any(spent) {
            return Err(format!("it gave up with retries left: {:?}", invocation.retries));
        }
    }
    Ok(())
}

/// What the record has of its attempts is what workers have seen.
fn seen(evidence: &Evidence, life: &Life) -> Verdict {
    let invocation = life.invocation();
    for record in invocation.attempts.kept() {
        let tried = evidence.functions.witness.tried.get(&record.id).into_iter().flatten();
        let times = tried.filter(|tried| tried.begun == life.begun()).count();
        let least = usize::from(!may_be_unseen(record));
        let repeated = record.interruptions.min(repeats_max(invocation)) as usize;
        ensure((least..=1 + repeated).contains(&times), life.id, || {
            format!("attempt {} ({}) was given to code {times} times", record.n, record.outcome())
        })?;
        let ended = record.ended_ms.is_some() || !invocation.state.is_over();
        ensure(ended, life.id, || format!("attempt {} has not ended", record.n))?;
    }
    Ok(())
}

/// How often an attempt may be repeated.
pub(super) fn repeats_max(invocation: &Invocation) -> u32 {
    match invocation.terms.interrupted {
        Interrupted::Count => 0,
        Interrupted::Repeat { most } => most,
    }
}

/// Of an attempt that was interrupted it is not known whether it had reached its worker; nor of one that was
/// cancelled, or is on its way. One whose worker could not be started has not.
fn may_be_unseen(record: &AttemptRecord) -> bool {
    let unseen = ["Runtime.Cancelled", UNSTARTABLE];
    matches!(record.outcome(), "Interrupted" | "Running")
        || record
            .failure
            .as_ref()
            .is_some_and(|failure| unseen.contains(&failure.error_type.as_str()))
}
