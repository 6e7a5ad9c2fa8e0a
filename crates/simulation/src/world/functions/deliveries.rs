//! Destinations: a URL that refuses, answers late or never, and a state machine that is started.

use everstep_executions::{Error, ExecutionId};
use everstep_history::Payload;
use everstep_invocations::Delivery;
use serde_json::json;

use super::super::{Outcome, World};
use super::{Flight, Pending};
use crate::Fault;
use crate::checkers;
use crate::drivers::Parent;
use crate::evidence::{Ask, Reply, Subject};
use crate::functions::workload;

impl World {
    pub(super) fn delivery(&mut self, delivery: Delivery, number: u64, durable_to: u64) -> Outcome {
        let (id, target) = (delivery.invocation, delivery.target.to_string());
        self.log.line(Some(id.into()), || format!("delivery {number} to {target}"));
        self.log.count((id, &target, &delivery.record));
        self.tally.deliveries += 1;
        checkers::delivery(&self.evidence, &delivery, durable_to)?;
        let known = self.evidence.functions.delivered.entry((id, target.clone())).or_default();
        known.times += 1;
        let name = delivery.id.to_string();
        known.first.get_or_insert(delivery);
        let pending = Pending { number, invocation: id, target };
        if !self.calm && self.dice.percent(10) {
            // Never answered, until the calm.
            self.fly(365 * 24 * super::HOUR_MS, Flight::Delivery(pending, true));
        } else if pending.target == workload::SINK {
            self.start_for(&name, pending);
        } else {
            let taken = self.calm || self.dice.percent(60);
            let delay = if self.calm { 0 } else { self.dice.pick(&[0, 0, 500, 90_000]) };
            self.fly(delay, Flight::Delivery(pending, taken));
        }
        Ok(())
    }

    /// The record becomes an execution whose name is the delivery's, so that it is started once.
    fn start_for(&mut self, name: &str, pending: Pending) {
        let arn = format!("arn:aws:states:us-east-1:000000000000:execution:sink:{name}");
        let id = ExecutionId::of(&arn);
        let input = Payload::new(json!({"n": 0, "items": []}));
        let known = self.evidence.subjects.iter().position(|subject| subject.id == id);
        let subject = known.unwrap_or_else(|| {
            let machine = self.evidence.machines.iter().position(|machine| machine.sink);
            self.evidence.subjects.push(Subject {
                arn,
                id,
                machine: machine.unwrap_or_default(),
                input: input.clone(),
                started: false,
                delete_sent: false,
                unsettled: 0,
                parent: Parent::Client,
            });
            self.evidence.subjects.len() - 1
        });
        self.send(subject, Ask::Start { input, watched: false }, 0);
        self.plans.starts.insert(self.requests, pending);
    }

    /// The start of an execution has been answered: so is the delivery that it was made for, if any.
    pub(in super::super) fn delivery_started(&mut self, number: u64, reply: &Reply) -> Outcome {
        match self.plans.starts.remove(&number) {
            // Its name is the delivery's own: what has it was started by an earlier delivery.
            Some(pending) => {
                let taken = matches!(reply, Ok(_) | Err(Error::AlreadyExists(_)));
                self.answer_delivery(&pending, taken)
            }
            None => Ok(()),
        }
    }

    pub(super) fn answer_delivery(&mut self, pending: &Pending, taken: bool) -> Outcome {
        let Pending { number, invocation, target } = pending;
        let Some(done) = self.evidence.functions.destinations.take_waiting(*number) else {
            return Ok(());
        };
        self.log.line(Some((*invocation).into()), || {
            format!("delivery {number} is {}", if taken { "taken" } else { "refused" })
        });
        if taken
            && self.fault != Some(Fault::LosesRecords)
            && let Some(known) =
                self.evidence.functions.delivered.get_mut(&(*invocation, target.clone()))
        {
            known.confirmed = true;
        }
        done(if taken { Ok(()) } else { Err("the destination is down".to_owned()) });
        Ok(())
    }

    /// Destinations that were silent take what they were given.
    pub(in super::super) fn answer_silent_destinations(&mut self) {
        for (due, flight) in &mut self.plans.flights {
            if let Flight::Delivery(..) = flight {
                *due = (*due).min(self.true_ms);
            }
        }
    }
}
