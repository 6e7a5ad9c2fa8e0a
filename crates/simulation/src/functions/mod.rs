//! The other half of the world: functions, the events for them, and where their records go.
//!
//! It shares disk, clock and dice with the executions. Here is what is known of it from outside the engine.

pub(crate) mod destinations;
pub(crate) mod engine;
pub(crate) mod ledger;
pub(crate) mod workers;
pub(crate) mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everstep_invocations::{
    Acceptance, Accepted, Error, Finished, InvocationId, Resend, Settings, State,
};

use destinations::{Confirmed, Destinations};
use engine::Engine;
use ledger::Ledger;
use workers::{Witness, Workers};

pub(crate) struct Functions {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) workers: Arc<Workers>,
    /// How many attempts of each function may run at a time.
    pub(crate) slots: BTreeMap<String, u32>,
    pub(crate) destinations: Arc<Destinations>,
    pub(crate) ledger: Ledger,
    pub(crate) witness: Witness,
    /// Deliveries to what is not a function, by invocation and target.
    pub(crate) delivered: BTreeMap<(InvocationId, String), Confirmed>,
    /// What replies have said.
    pub(crate) facts: Vec<Fact>,
    /// Dead letters that a client has asked to be purged.
    pub(crate) purged: BTreeSet<InvocationId>,
    /// Requests that an engine has taken and not answered.
    pub(crate) outstanding: BTreeMap<u64, Request>,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) id: InvocationId,
    pub(crate) ask: Ask,
}

#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Accept { acceptance: Box<Acceptance>, watched: bool },
    Watch,
    Cancel,
    Redrive(Resend),
    Purge { undelivered: bool },
}

#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Accepted(Accepted),
    Finished(Finished),
    Cancelled,
    Redriven(InvocationId),
    Purged,
}

pub(crate) type Reply = Result<Answer, Error>;

/// What a reply has said of an invocation.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) id: InvocationId,
    pub(crate) said: Said,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Accepted { known: bool },
    Finished { state: State, response: Option<Vec<u8>> },
    Cancelled,
    Redriven(InvocationId),
    Purged,
}

impl Functions {
    /// Whether an invocation may have been removed because of its age.
    pub(crate) fn may_be_expired(&self, life: &ledger::Life, latest_ms: i64) -> bool {
        let invocation = life.invocation();
        let kept = if invocation.dead {
            self.settings.dead_letter_retention_ms
        } else {
            Some(self.settings.retention_ms)
        };
        // The clock may have been set back since its end.
        let over = life.versions.iter().filter(|version| version.invocation.state.is_over());
        let ended = over.map(|version| version.handed_ms).chain(invocation.ended_ms).min();
        kept.zip(ended).is_some_and(|(kept, ended)| ended <= latest_ms - kept)
    }
}
