//! What an input does to an invocation: one table.

use everstep_retry::Verdict;

use super::{Event, Invocation, Reason, State};
use crate::function::{Failure, Interrupted, Outcome};
use crate::id::{AttemptId, InvocationId};

/// All that can reach an invocation.
#[derive(Debug)]
pub(crate) enum Input<'i> {
    /// A worker is ready to take it.
    Start {
        attempt: AttemptId,
    },
    /// Its function may not run at all.
    Forbid,
    /// Its function is not there now.
    Postpone,
    End {
        attempt: AttemptId,
        outcome: &'i Outcome,
    },
    /// The engine that ran it is gone.
    Interrupt,
    Cancel,
    Deliver {
        index: u32,
    },
    Redrive {
        into: InvocationId,
    },
}

/// Why nothing happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The result of an attempt that has had one or was given up.
    Stale,
    /// It is not due yet.
    Early { due_ms: i64 },
    /// Not what its state allows.
    WrongState,
}

/// Waits for want of a slot double from the first to the last of these, as Lambda's do.
const THROTTLED_MS_MIN: u64 = 1000;
const THROTTLED_MS_MAX: u64 = 5 * 60 * 1000;

/// The longest delay that a function may ask for.
const RETRY_AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// `unit` is a number from 0 up to 1, drawn for this call: the source of jitter.
pub(crate) fn decide(
    invocation: &Invocation,
    input: &Input<'_>,
    now_ms: i64,
    unit: f64,
) -> Result<Vec<Event>, Refusal> {
    let at_ms = now_ms;
    match (invocation.state, input) {
        (State::Waiting { due_ms }, Input::Start { .. }) if due_ms > now_ms => {
            Err(Refusal::Early { due_ms })
        }
        (State::Accepted | State::Waiting { .. }, Input::Start { attempt }) => {
            Ok(vec![if invocation.expires_ms.is_some_and(|expires| now_ms >= expires) {
                Event::InvocationExpired { at_ms }
            } else {
                Event::AttemptStarted { attempt: *attempt, at_ms }
            }])
        }
        (State::Accepted | State::Waiting { .. }, Input::Forbid) => {
            let reason = Reason::ZeroReservedConcurrency;
            Ok(vec![Event::InvocationExhausted { reason, at_ms }])
        }
        (State::Accepted | State::Waiting { .. }, Input::Postpone) => {
            Ok(vec![Event::AttemptPostponed, throttled(invocation, now_ms)])
        }
        (State::Running, Input::End { attempt, outcome }) if invocation.awaits(*attempt) => {
            Ok(ended(invocation, outcome, now_ms, unit))
        }
        (State::Accepted | State::Waiting { .. }, Input::End { attempt, outcome })
            if invocation.current_attempt() == *attempt =>
        {
            Ok(ended_unstarted(invocation, *attempt, outcome, now_ms, unit))
        }
        (_, Input::End { .. }) => Err(Refusal::Stale),
        (State::Running, Input::Interrupt) => Ok(interrupted(invocation, now_ms, unit)),
        (State::Accepted | State::Running | State::Waiting { .. }, Input::Cancel) => {
            Ok(vec![Event::InvocationCancelled { at_ms }])
        }
        (_, Input::Deliver { index }) if invocation.undelivered.contains(index) => {
            Ok(vec![Event::DestinationDelivered { index: *index }])
        }
        (_, Input::Redrive { into }) if invocation.dead => {
            Ok(vec![Event::InvocationRedriven { into: *into }])
        }
        _ => Err(Refusal::WrongState),
    }
}

impl Invocation {
    fn awaits(&self, attempt: AttemptId) -> bool {
        self.attempts.open().is_some_and(|open| open.id == attempt)
    }
}

fn ended(invocation: &Invocation, outcome: &Outcome, now_ms: i64, unit: f64) -> Vec<Event> {
    match outcome {
        Outcome::Succeeded { worker_pid, .. } => {
            vec![Event::InvocationSucceeded { worker_pid: *worker_pid, at_ms: now_ms }]
        }
        Outcome::Failed { failure, worker_pid, .. } => {
            failed(invocation, failure, *worker_pid, now_ms, unit)
        }
        Outcome::Throttled => {
            vec![Event::AttemptThrottled { at_ms: now_ms }, throttled(invocation, now_ms)]
        }
        Outcome::Interrupted => interrupted(invocation, now_ms, unit),
    }
}

/// No worker took it: it has failed to start, which is an attempt, or the attempt is still to come.
fn ended_unstarted(
    invocation: &Invocation,
    attempt: AttemptId,
    outcome: &Outcome,
    at_ms: i64,
    unit: f64,
) -> Vec<Event> {
    match outcome {
        Outcome::Throttled | Outcome::Interrupted => {
            vec![Event::AttemptPostponed, throttled(invocation, at_ms)]
        }
        Outcome::Succeeded { .. } | Outcome::Failed { .. } => {
            let mut events = vec![Event::AttemptStarted { attempt, at_ms }];
            events.extend(ended(invocation, outcome, at_ms, unit));
            events
        }
    }
}

/// The function did not fail, so no retry is used up, unless it happens too often in a row.
fn interrupted(invocation: &Invocation, at_ms: i64, unit: f64) -> Vec<Event> {
    let before = invocation.attempts.open().map_or(0, |open| open.interruptions);
    match invocation.terms.interrupted {
        Interrupted::Repeat { most } if before < most => vec![Event::AttemptInterrupted { at_ms }],
        Interrupted::Repeat { .. } | Interrupted::Count => {
            let mut events = failed(invocation, &Failure::interrupted(), None, at_ms, unit);
            if let Some(Event::AttemptFailed { interrupted, .. }) = events.first_mut() {
                *interrupted = true;
            }
            events
        }
    }
}

fn failed(
    invocation: &Invocation,
    failure: &Failure,
    worker_pid: Option<u32>,
    at_ms: i64,
    unit: f64,
) -> Vec<Event> {
    let Failure { error_type, class, .. } = failure;
    let policy = &invocation.terms.policy;
    let verdict = match policy.verdict(error_type, *class, &invocation.retries, || unit) {
        Verdict::Retry { .. } if failure.permanent => Err(Reason::NonRetryable),
        Verdict::Retry { rule, delay_ms } => {
            let asked_ms = failure.retry_after_ms.unwrap_or(0).min(RETRY_AFTER_MS_MAX);
            Ok((rule, delay_ms.max(asked_ms)))
        }
        Verdict::Exhausted => Err(Reason::RetriesExhausted),
        Verdict::NonRetryable => Err(Reason::NonRetryable),
    };
    let next = match verdict {
        Err(reason) => Event::InvocationExhausted { reason, at_ms },
        Ok((rule, delay_ms)) => match due(invocation, at_ms, delay_ms) {
            Some(due_ms) => Event::RetryScheduled { rule, delay_ms, due_ms },
            None => Event::InvocationExpired { at_ms },
        },
    };
    let failure = failure.clone();
    vec![Event::AttemptFailed { failure, worker_pid, interrupted: false, at_ms }, next]
}

fn throttled(invocation: &Invocation, now_ms: i64) -> Event {
    let doubled = invocation.throttled_in_a_row.min(32);
    let delay_ms = (THROTTLED_MS_MIN << doubled).min(THROTTLED_MS_MAX);
    match due(invocation, now_ms, delay_ms) {
        Some(due_ms) => Event::WaitScheduled { due_ms },
        None => Event::InvocationExpired { at_ms: now_ms },
    }
}

/// When a wait is over; none if the event would be too old by then. AWS judges ahead too.
fn due(invocation: &Invocation, now_ms: i64, delay_ms: u64) -> Option<i64> {
    let due_ms = now_ms.saturating_add(i64::try_from(delay_ms).unwrap_or(i64::MAX));
    invocation.expires_ms.is_none_or(|expires| due_ms < expires).then_some(due_ms)
}

#[cfg(test)]
mod tests {
    use everstep_retry::{Class, Delay, Policy, Rule};

    use super::*;
    use crate::function::Terms;
    use crate::invocation::{Source, SourceKind};

    fn invocation(retries_max: Option<u32>, delay_ms: u64, age_ms: Option<i64>) -> Invocation {
        let rule = Rule {
            errors: vec!["Error.ALL".to_owned()],
            retries_max,
            delay: Delay::Fixed { ms: delay_ms },
        };
        let policy = Policy { rules: vec![rule], non_retryable: vec!["Never".to_owned()] };
        let id = InvocationId::drawn([1, 2]);
        let named = ("f".to_owned(), "1".to_owned());
        let source = Source::new(SourceKind::Invoke, "f");
        let terms = Terms { policy, ..Terms::default() };
        let mut invocation = Invocation::accepted(id, named, source, terms, 0);
        invocation.expires_ms = age_ms;
        invocation
    }

    /// Letters that say what happens to an invocation, one after the other: `s`tart, `o`k, `e`rror,
    /// `n`ever to be retried, `l`ater (in 9 s), `g`one for ever, `t`hrottled, `i`nterrupted, `c`ancelled, `f`orbidden, `p`ostponed; a digit lets so many
    /// seconds pass. What it says of itself at the end.
    fn check(mut invocation: Invocation, script: &str, expected: &str) {
        let (mut now_ms, mut refused) = (0, String::new());
        for letter in script.chars() {
            if let Some(seconds) = letter.to_digit(10) {
                now_ms += i64::from(seconds) * 1000;
                continue;
            }
            let failure = |name: &str| Outcome::Failed {
                failure: Failure {
                    retry_after_ms: (name == "Later").then_some(9000),
                    permanent: name == "Gone",
                    ..Failure::new(name, Class::User, "")
                },
                payload: None,
                worker_pid: None,
            };
            let outcome = match letter {
                'o' => Outcome::Succeeded { output: Vec::new(), worker_pid: None, log: Vec::new() },
                'e' => failure("E"),
                'n' => failure("Never"),
                'l' => failure("Later"),
                'g' => failure("Gone"),
                _ => Outcome::Throttled,
            };
            let attempt = match invocation.attempts.latest() {
                Some(latest) if invocation.state.is_over() => latest.id,
                _ => invocation.current_attempt(),
            };
            let input = match letter {
                's' => Input::Start { attempt },
                'i' => Input::Interrupt,
                'c' => Input::Cancel,
                'f' => Input::Forbid,
                'p' => Input::Postpone,
                _ => Input::End { attempt, outcome: &outcome },
            };
            match decide(&invocation, &input, now_ms, 0.5) {
                Ok(events) => events.iter().for_each(|event| invocation.apply(event)),
                Err(refusal) => refused = format!(" {refusal:?}"),
            }
        }
        let state = match invocation.state {
            State::Waiting { due_ms } => format!("Waiting({due_ms})"),
            State::Exhausted { reason } => reason.name().to_owned(),
            state => state.name().to_owned(),
        };
        let found = format!("{state} {}{refused}", invocation.attempts.started());
        assert_eq!(found, expected, "{script}");
    }

    #[test]
    fn attempts_are_counted() {
        check(invocation(Some(4), 0, None), "seseso", "Succeeded 3");
        check(invocation(Some(4), 0, None), "sesesesese", "RetriesExhausted 5");
        check(invocation(Some(0), 0, None), "se", "RetriesExhausted 1");
        check(invocation(Some(2), 2000, None), "se", "Waiting(2000) 1");
        check(invocation(Some(2), 2000, None), "s3e", "Waiting(5000) 1");
        check(invocation(Some(2), 0, None), "sn", "NonRetryable 1");
        check(invocation(None, 0, None), &"se".repeat(60), "Waiting(0) 60");
    }

    #[test]
    fn a_failure_may_ask_for_a_delay_or_for_no_retry() {
        check(invocation(Some(2), 2000, None), "sl", "Waiting(9000) 1");
        check(invocation(Some(2), 20_000, None), "sl", "Waiting(20000) 1");
        check(invocation(Some(2), 2000, Some(8000)), "sl", "Expired 1");
        check(invocation(Some(2), 2000, None), "sg", "NonRetryable 1");
        check(invocation(Some(0), 2000, None), "sg", "RetriesExhausted 1");
    }

    #[test]
    fn what_was_interrupted_is_repeated_and_uses_up_no_retry() {
        check(invocation(Some(0), 0, None), "si", "Accepted 1");
        check(invocation(Some(0), 0, None), "siso", "Succeeded 1");
        check(invocation(Some(0), 0, None), "sisisise", "RetriesExhausted 1");
        check(invocation(Some(0), 0, None), "sisisisisis", "Running 1");
        check(invocation(Some(0), 0, None), "sisisisisisi", "RetriesExhausted 1");
        check(invocation(Some(1), 0, None), "sisisisisisi", "Waiting(0) 1");
        check(invocation(Some(1), 0, None), "sisisisisisisisisisisisi", "RetriesExhausted 2");
        check(invocation(Some(1), 0, None), "sisisisisisesisisisisise", "RetriesExhausted 2");
        check(invocation(Some(0), 0, Some(5000)), "si5s", "Expired 1");
        check(invocation(Some(0), 0, None), "sic", "Cancelled 1");
        check(invocation(Some(0), 0, None), "sip1so", "Succeeded 1");
    }

    #[test]
    fn what_was_interrupted_counts_if_that_is_wanted() {
        let count = || {
            let mut invocation = invocation(Some(2), 0, None);
            invocation.terms.interrupted = Interrupted::Count;
            invocation
        };
        check(count(), "sisisi", "RetriesExhausted 3");
        check(count(), "sisese", "RetriesExhausted 3");
    }

    #[test]
    fn what_no_worker_took_was_not_interrupted() {
        check(invocation(Some(0), 0, None), "i", "Accepted 0 WrongState");
        check(invocation(Some(0), 0, None), "t1so", "Succeeded 1");
        check(invocation(Some(1), 0, None), "eso", "Succeeded 2");
    }

    #[test]
    fn events_grow_old() {
        check(invocation(Some(2), 60_000, Some(60_000)), "se", "Expired 1");
        check(invocation(Some(2), 60_000, Some(60_001)), "se", "Waiting(60000) 1");
        check(invocation(Some(2), 0, Some(5000)), "5s", "Expired 0");
        check(invocation(Some(2), 0, Some(5000)), "4so", "Succeeded 1");
    }

    #[test]
    fn what_has_not_run_does_not_count() {
        check(invocation(Some(0), 0, None), "st", "Waiting(1000) 0");
        check(invocation(Some(0), 0, None), "st1st", "Waiting(3000) 0");
        check(invocation(Some(0), 0, None), "st1so", "Succeeded 1");
        check(invocation(Some(0), 0, Some(2000)), "st1st", "Expired 0");
        check(invocation(Some(0), 0, None), "pp", "Waiting(2000) 0");
    }

    #[test]
    fn an_end_is_an_end() {
        check(invocation(Some(2), 0, None), "c", "Cancelled 0");
        check(invocation(Some(2), 9000, None), "sec", "Cancelled 1");
        check(invocation(Some(2), 0, None), "sco", "Cancelled 1 Stale");
        check(invocation(Some(2), 0, None), "soo", "Succeeded 1 Stale");
        check(invocation(Some(2), 0, None), "soc", "Succeeded 1 WrongState");
        check(invocation(Some(2), 0, None), "sos", "Succeeded 1 WrongState");
        check(invocation(Some(2), 0, None), "fs", "ZeroReservedConcurrency 0 WrongState");
        check(invocation(Some(2), 5000, None), "ses", "Waiting(5000) 1 Early { due_ms: 5000 }");
    }
}
