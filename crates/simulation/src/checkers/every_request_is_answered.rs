//! Every request is answered exactly once, or the engine that took it is gone. Who watches an execution or an
//! invocation is answered when it is over.

use super::{Checker, Verdict, ensure};
use crate::evidence::{Ask, Evidence};
use crate::functions::Ask as InvocationAsk;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "every_request_is_answered"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        for request in evidence.outstanding.values() {
            let subject = &evidence.subjects[request.subject];
            let running = || {
                let life = evidence.ledger.last(subject.id).filter(|life| life.is_there());
                life.is_some_and(|life| life.stopped_ms().is_none())
            };
            let may_wait = evidence.machines[subject.machine].express || running();
            if !matches!(request.ask, Ask::Watch) || !may_wait {
                return Err((Some(subject.id.into()), format!("never answered: {request:?}")));
            }
        }
        for request in evidence.functions.outstanding.values() {
            let life = evidence.functions.ledger.last(request.id).filter(|life| life.is_there());
            let open = life.is_some_and(|life| !life.invocation().state.is_over());
            ensure(open && matches!(request.ask, InvocationAsk::Watch), request.id, || {
                format!("never answered: {request:?}")
            })?;
        }
        Ok(())
    }
}
