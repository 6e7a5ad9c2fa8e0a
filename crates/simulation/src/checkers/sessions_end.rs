//! A session hears of each of its steps, and ends when the last of them has or one fails that nothing catches;
//! its result is that step's.

use everstep_invocations::{InvocationId, Session, SessionStatus};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "sessions_end"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let ended = |id: InvocationId| {
            evidence.functions.ledger.of(id).any(|life| life.invocation().state.is_over())
        };
        for session in evidence.functions.ledger.sessions() {
            let early = session.steps.iter().find(|step| step.ended && !ended(step.id));
            ensure(early.is_none(), session.id, || {
                format!("it has heard of the end of {early:?}")
            })?;
            check_confirmed(evidence, session)?;
        }
        Ok(())
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        for session in evidence.functions.ledger.sessions() {
            // A letter that is purged before its session has heard of it never tells it.
            let purged = |id: &InvocationId| evidence.functions.purged.contains(id);
            if session.steps.iter().any(|step| purged(&step.id)) {
                continue;
            }
            ensure(session.status != SessionStatus::Running, session.id, || {
                format!("its session never ends: {:?}", session.steps)
            })?;
            result(evidence, session)?;
        }
        Ok(())
    }
}

/// What a step is said to have told its session, the session has.
fn check_confirmed(evidence: &Evidence, session: &Session) -> Verdict {
    for life in evidence.functions.ledger.present() {
        let step = life.invocation();
        let told = step.session == Some(session.id) && step.is_routed();
        let open = session.steps.iter().any(|known| known.id == life.id && !known.ended);
        ensure(!told || !open, session.id, || {
            format!("it has not heard of the end of {}", life.id)
        })?;
    }
    Ok(())
}

/// A session that succeeded has the output of one of its steps, and none of them failed for good without
/// another that follows.
fn result(evidence: &Evidence, session: &Session) -> Verdict {
    let SessionStatus::Succeeded { output } = &session.status else { return Ok(()) };
    let given = session.steps.iter().any(|step| {
        let lives = evidence.functions.ledger.of(step.id);
        let mut versions = lives.flat_map(|life| &life.versions);
        versions.any(|version| version.response.as_ref() == Some(output))
    });
    ensure(given, session.id, || format!("no step has answered {output:?}"))?;
    ensure(session.steps.iter().all(|step| step.ended), session.id, || {
        format!("it succeeded, and steps are open: {:?}", session.steps)
    })
}
