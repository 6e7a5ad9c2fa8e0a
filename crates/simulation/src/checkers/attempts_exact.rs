//! Attempts of invocations are counted exactly, whatever crashes: each that starts adds one, each that never
//! ran takes it back, each retry is one of its rule and waits as long as the rule says; an interruption costs
//! what the function's terms say. Of each attempt that ended, code was given it exactly once.

use everstep_invocations::{AttemptRecord, Invocation, Reason, State};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::{Life, Version};

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
    let started = first.attempts.started();
    let expected = u32::from(first.state == State::Running);
    match started == expected {
        true => Ok(()),
        false => Err(format!("it begins {:?} with {started} attempts", first.state)),
    }
}

fn change(before: &Version, after: &Version) -> Result<(), String> {
    let (old, new) = (&before.invocation, &after.invocation);
    let (was, is) = (old.attempts.started(), new.attempts.started());
    let retries = |of: &Invocation| of.retries.iter().sum::<u32>() + of.interruptions;
    let said = || format!("{:?} {was} becomes {:?} {is}", old.state, new.state);
    if old.terms != new.terms || old.accepted_ms != new.accepted_ms {
        return Err("what was pinned at its acceptance has changed".to_owned());
    }
    let right = match (old.state, new.state) {
        (State::Waiting { due_ms }, State::Running) => {
            is == was + 1 && after.handed_ms >= due_ms && retries(new) == retries(old)
        }
        (State::Accepted, State::Running) => is == was + 1 && retries(new) == retries(old),
        // It has not run after all.
        (State::Running, _) if new.throttled > old.throttled => is + 1 == was,
        (State::Running, State::Waiting { due_ms }) => {
            retries(new) == retries(old) + 1 && is == was && fits(old, new, after.handed_ms, due_ms)
        }
        (State::Running, State::Running | State::Accepted) => false,
        _ => is == was && new.retries == old.retries,
    };
    if right { Ok(()) } else { Err(said()) }
}

/// Whether the wait for a retry is that of its rule, and the failure is of the attempt that ran.
fn fits(old: &Invocation, new: &Invocation, now_ms: i64, due_ms: i64) -> bool {
    let Some(failed) = new.attempts.latest() else { return false };
    let ended = failed.failure.is_some() && failed.ended_ms == Some(now_ms);
    let waited = u64::try_from(due_ms - now_ms).ok();
    let rule = (0..new.retries.len()).find(|rule| new.retries[*rule] != so_far(old, *rule));
    let range = match rule {
        Some(rule) => new.terms.policy.rules[rule].delay.range_ms(so_far(old, rule)),
        // An interruption that costs nothing.
        None => (0, 0),
    };
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
        let retries: u32 = invocation.retries.iter().sum::<u32>() + invocation.interruptions;
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
        let fits = if may_be_unseen(record) { times <= 1 } else { times == 1 };
        ensure(fits, life.id, || {
            format!("attempt {} ({}) was given to code {times} times", record.n, record.outcome())
        })?;
    }
    Ok(())
}

/// Of an attempt that was interrupted it is not known whether it had reached its worker; nor of one that was
/// cancelled, or is on its way.
fn may_be_unseen(record: &AttemptRecord) -> bool {
    let cancelled =
        |failure: &everstep_invocations::Failure| failure.error_type == "Runtime.Cancelled";
    matches!(record.outcome(), "Interrupted" | "Running")
        || record.failure.as_ref().is_some_and(cancelled)
}
