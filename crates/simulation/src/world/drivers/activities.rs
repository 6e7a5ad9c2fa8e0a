//! Activities: workers poll, are given tasks, and vanish.

use std::sync::Arc;

use everstep_drivers::activities::{Input, ON_ITS_WAY_MS, Request, Started};
use everstep_executions::{Cancelled, Error, Task};

use super::super::{Outcome, World};
use crate::Fault;
use crate::evidence::{Ask, Reply, Say};

/// All tasks are of one activity.
const ACTIVITY: &str = "arn:aws:states:us-east-1:000000000000:activity:a";

impl World {
    pub(in super::super) fn offer(&mut self, task: Task) {
        if self.fault == Some(Fault::ForgetsOffers) {
            return;
        }
        if !self.shells.queues.has_worker(&task) {
            self.evidence.drivers.offered.insert((task.execution, task.attempt));
        }
        let now = self.engine_ms();
        let requests =
            self.shells.queues.handle(Input::Offered { activity: activity(), task }, now);
        self.served(requests);
    }

    /// A worker asks for a task.
    pub(in super::super) fn poll(&mut self) -> Outcome {
        self.shells.polled += 1;
        let poll = self.shells.polled;
        self.shells.polls.push(poll);
        let now = self.engine_ms();
        let requests = self.shells.queues.handle(Input::Polled { activity: activity(), poll }, now);
        self.served(requests);
        Ok(())
    }

    /// A worker has waited long enough, or has died.
    pub(super) fn leave(&mut self) -> Outcome {
        if self.shells.polls.is_empty() {
            return Ok(());
        }
        let index = self.dice.below(self.shells.polls.len());
        let poll = self.shells.polls.remove(index);
        let now = self.engine_ms();
        let requests = self.shells.queues.handle(Input::Left { poll }, now);
        self.served(requests);
        Ok(())
    }

    /// All that the engine before has left open was dispatched again.
    pub(in super::super) fn recover_queues(&mut self) {
        self.shells.queues.recover();
    }

    /// The clock was set, which the shell sees before long.
    pub(in super::super) fn tick_queues(&mut self) {
        let now = self.engine_ms();
        self.shells.queues.tick(now);
    }

    /// What the next engine finds: the mark as it was written last.
    pub(super) fn mark_ms(&mut self) -> i64 {
        let now = self.engine_ms();
        match self.fault {
            Some(Fault::MarksEarly) => now,
            _ => self.shells.queues.mark_ms(now, ON_ITS_WAY_MS) - self.dice.between(0, 2000),
        }
    }

    /// In the calm there is a worker for every task that waits.
    pub(in super::super) fn poll_for_all(&mut self) -> Outcome {
        for _ in self.shells.polls.len()..self.evidence.drivers.offered.len() {
            self.poll()?;
        }
        Ok(())
    }

    fn served(&mut self, requests: Vec<Request>) {
        for request in requests {
            match request {
                Request::Start { poll, execution, attempt } => {
                    let subjects = &self.evidence.subjects;
                    let subject = subjects.iter().position(|subject| subject.id == execution);
                    if let Some(subject) = subject {
                        self.send(subject, Ask::Report { attempt, say: Say::Started }, 0);
                        self.shells.taking.insert(self.requests, poll);
                    }
                }
                Request::Give { poll, task } => {
                    self.shells.polls.retain(|known| *known != poll);
                    let key = (task.execution, task.attempt);
                    self.evidence.drivers.offered.remove(&key);
                    self.evidence.drivers.held.insert(key);
                    let subjects = &self.evidence.subjects;
                    let subject = subjects.iter().position(|subject| subject.id == task.execution);
                    if let Some(subject) = subject {
                        self.plan_result(subject, task.attempt);
                    }
                }
                Request::Withdraw { execution, attempt } => {
                    self.evidence.drivers.offered.remove(&(execution, attempt));
                }
                Request::Refuse { poll } | Request::Fail { poll } => {
                    self.shells.polls.retain(|known| *known != poll);
                }
            }
        }
    }

    /// Whether the engine has recorded that a worker has a task.
    pub(in super::super) fn taken(&mut self, number: u64, task: (usize, &Ask), reply: &Reply) {
        let Some(poll) = self.shells.taking.remove(&number) else { return };
        let outcome = match reply {
            Ok(_) => Started::Durable,
            Err(Error::Settled | Error::NoSuchTask | Error::NotFound) => Started::Settled,
            Err(_) => Started::Refused,
        };
        if let (Started::Settled, (subject, Ask::Report { attempt, .. })) = (outcome, task) {
            let id = self.evidence.subjects[subject].id;
            self.evidence.drivers.offered.remove(&(id, *attempt));
        }
        let now = self.engine_ms();
        let requests = self.shells.queues.handle(Input::Started { poll, outcome }, now);
        self.served(requests);
    }

    pub(super) fn withdraw(&mut self, cancelled: &Cancelled) {
        let Cancelled { execution, attempt, .. } = *cancelled;
        let now = self.engine_ms();
        let requests = self.shells.queues.handle(Input::Cancelled { execution, attempt }, now);
        self.served(requests);
    }
}

fn activity() -> Arc<str> {
    ACTIVITY.into()
}
