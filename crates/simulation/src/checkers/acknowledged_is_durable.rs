//! What a reply has said is durable when it is said, and so after every crash: started, counted, stopped,
//! redriven, ended, deleted.

use everstep_executions::{Ended, ExecutionId};
use everstep_history::Event;
use everstep_interpreter::Status;

use super::a_result_counts_once::{ends, number};
use super::{Checker, Verdict, ensure};
use crate::evidence::{Evidence, Fact, Reply, Request, Say};
use crate::ledger::{Life, is_end};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "acknowledged_is_durable"
    }

    fn reply(&self, evidence: &Evidence, request: &Request, reply: &Reply) -> Verdict {
        let id = evidence.subjects[request.subject].id;
        match evidence.facts.last() {
            Some((of, fact)) if reply.is_ok() && *of == id => check(evidence, id, fact),
            _ => Ok(()),
        }
    }

    fn after_crash(&self, evidence: &Evidence) -> Verdict {
        let lasting = evidence.facts.iter().filter(|(_, fact)| !matches!(fact, Fact::Deleted));
        lasting.into_iter().try_for_each(|(id, fact)| check(evidence, *id, fact))
    }
}

fn check(evidence: &Evidence, id: ExecutionId, fact: &Fact) -> Verdict {
    let durable_to = evidence.durable_to();
    let holds = match fact {
        Fact::Deleted => {
            let gone = |life: &Life| life.gone.is_some_and(|batch| batch <= durable_to);
            let mut lives = evidence.ledger.of(id).peekable();
            lives.peek().is_none() || lives.any(gone)
        }
        fact => evidence
            .ledger
            .of(id)
            .any(|life| life.events_to(durable_to).any(|event| is(fact, event))),
    };
    ensure(holds, id, || format!("a reply said {fact:?}, and that is not durable"))
}

/// Whether an event is what a reply spoke of.
fn is(fact: &Fact, event: &Event) -> bool {
    match (fact, event) {
        (Fact::Started(at), Event::ExecutionStarted { at_ms, .. })
        | (Fact::Redriven(at), Event::ExecutionRedriven { at_ms, .. }) => at == at_ms,
        (Fact::Stopped(at), event) => is_end(event) && event.at_ms() == *at,
        (Fact::Counted(of, Say::Started), Event::TaskStarted { attempt, .. })
        | (Fact::Counted(of, Say::Submitted), Event::TaskSubmitted { attempt, .. }) => {
            of == attempt
        }
        (Fact::Counted(of, Say::Result(answer, _)), event) => {
            ends(event) == Some(*of) && number(event) == Some(*answer)
        }
        (Fact::Ended(Ended { status, stopped_ms, .. }), event) => {
            event.at_ms() == *stopped_ms && matches(status, event)
        }
        _ => false,
    }
}

fn matches(status: &Status, event: &Event) -> bool {
    match (status, event) {
        (Status::Succeeded { output }, Event::ExecutionSucceeded { output: recorded, .. }) => {
            output == recorded
        }
        (Status::Failed { failure }, Event::ExecutionFailed { failure: recorded, .. })
        | (Status::Aborted { failure }, Event::ExecutionAborted { failure: recorded, .. }) => {
            failure == recorded
        }
        (Status::TimedOut, Event::ExecutionTimedOut { .. }) => true,
        _ => false,
    }
}
