//! What clients ask for, and what they do when they get no answer.

use std::sync::PoisonError;

use everstep_executions::ExecutionId;
use everstep_history::Payload;

use super::{Outcome, SUBJECTS_MAX, World};
use crate::drivers::Parent;
use crate::evidence::{Ask, Request, Say, Subject};
use crate::workload;

impl World {
    pub(super) fn ask(&mut self) -> Outcome {
        let count = self.evidence.subjects.len();
        let own = self.evidence.subjects.iter().filter(|known| known.parent == Parent::Client);
        if count == 0 || (own.count() < SUBJECTS_MAX && self.dice.percent(35)) {
            self.new_start();
            return Ok(());
        }
        let subject = self.dice.below(count);
        let known = &self.evidence.subjects[subject];
        let roll = self.dice.below(20);
        // What has a parent is started, redriven and removed by that alone.
        if known.parent != Parent::Client && !matches!(roll, 6..=8 | 16..=18) {
            return Ok(());
        }
        match roll {
            0..=4 if self.may_start(subject) => {
                let input = known.input.clone();
                let watched = self.dice.percent(30);
                self.send(subject, Ask::Start { input, watched }, 0);
            }
            5 if self.may_start(subject) => {
                let input = Payload::new(workload::input(&mut self.dice, 2));
                let watched = self.dice.percent(50);
                self.send(subject, Ask::Start { input, watched }, 0);
            }
            6..=8 => self.send(subject, Ask::Stop, 0),
            9..=13 => self.send(subject, Ask::Redrive, 0),
            14 | 15 if known.unsettled == 0 => self.send(subject, Ask::Delete, 0),
            16..=18 => self.send(subject, Ask::Watch, 0),
            _ => {}
        }
        Ok(())
    }

    /// A name that may be removed is given again only where no task could be confused by it.
    pub(super) fn may_start(&self, subject: usize) -> bool {
        let known = &self.evidence.subjects[subject];
        let machine = &self.evidence.machines[known.machine];
        let confusing = known.delete_sent || (machine.express && known.started);
        machine.plain || machine.long || !confusing
    }

    pub(super) fn new_start(&mut self) {
        let number = self.evidence.subjects.len();
        let own: Vec<usize> = (0..self.evidence.machines.len())
            .filter(|machine| !self.evidence.machines[*machine].child)
            .collect();
        let machine = own[self.dice.below(own.len())];
        let of = self.evidence.machines[machine].arn.rsplit(':').next().unwrap_or_default();
        let arn = format!("arn:aws:states:us-east-1:000000000000:execution:{of}:e{number}");
        let input = Payload::new(workload::input(&mut self.dice, 1));
        let id = ExecutionId::of(&arn);
        let (started, delete_sent, unsettled) = (false, false, 0);
        let kept = input.clone();
        self.evidence.subjects.push(Subject {
            arn,
            id,
            machine,
            input: kept,
            started,
            delete_sent,
            unsettled,
            parent: Parent::Client,
        });
        let watched = self.evidence.machines[machine].express || self.dice.percent(30);
        self.send(number, Ask::Start { input: input.clone(), watched }, 0);
        if self.dice.percent(20) {
            self.send(number, Ask::Start { input, watched: false }, 0);
        }
    }

    /// What the engine had taken is not answered any more, and some of what is on its way is lost.
    pub(super) fn lose_requests(&mut self) {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let outstanding = std::mem::take(&mut self.evidence.outstanding);
        for request in outstanding.into_values() {
            self.unanswered(request);
        }
        let flights = std::mem::take(&mut self.flights);
        for (due, request) in flights {
            let inside = matches!(request.ask, Ask::Report { say: Say::Started, .. });
            if inside || (!self.calm && self.dice.percent(15)) {
                self.unanswered(request);
            } else {
                self.flights.push((due, request));
            }
        }
    }

    /// A client that gets no answer tries again, mostly.
    pub(super) fn unanswered(&mut self, request: Request) {
        let again = self.dice.percent(70);
        let Request { subject, ask, .. } = request;
        let id = self.evidence.subjects[subject].id;
        match &ask {
            Ask::Start { .. } | Ask::Delete => self.evidence.subjects[subject].unsettled -= 1,
            Ask::Report { attempt, say } => {
                if let Some(tried) = self.evidence.witness.of(id, *attempt) {
                    tried.flying -= 1;
                }
                // Who was to have the task is gone.
                if *say == Say::Started {
                    return;
                }
            }
            Ask::Watch | Ask::Heartbeat { .. } => return,
            Ask::Stop | Ask::Redrive => {}
        }
        if matches!(ask, Ask::Start { .. }) && !self.may_start(subject) {
            return;
        }
        if again {
            let delay = self.dice.between(0, 5000);
            self.send(subject, ask, delay);
        }
    }
}
