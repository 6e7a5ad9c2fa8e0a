//! A task of an activity that no worker has waits for one: whenever the engine is quiet, each is offered. A task whose
//! start was recorded and that a crash kept from its worker is one of them.

use everstep_history::Event;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;
use crate::tasks::{Way, way};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "no_offered_task_is_stranded"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        // Another execution of the same name has attempts of the same numbers.
        let once = |life: &&Life| evidence.ledger.of(life.id).count() == 1;
        // One in quarantine gets its tasks done once it is released.
        let runs = |life: &&Life| !evidence.is_quarantined(life.id);
        for life in evidence.ledger.present().filter(once).filter(runs) {
            for event in life.events() {
                let Event::TaskScheduled { attempt, .. } = event else { continue };
                let key = (life.id, *attempt);
                let tried = evidence.witness.tried.get(&key);
                let activity = tried.is_some_and(|tried| way(&tried.job) == Way::Activity);
                let open = life.execution.awaits(*attempt);
                let drivers = &evidence.drivers;
                let found = drivers.offered.contains(&key) || drivers.held.contains(&key);
                ensure(!activity || !open || found, life.id, || {
                    format!("{attempt:?} waits for a worker, and no worker can find it")
                })?;
            }
        }
        Ok(())
    }
}
