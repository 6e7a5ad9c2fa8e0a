//! What the engine has written, asked for and said.

use std::sync::PoisonError;

use everstep_executions::{Error, ExecutionId, Notification};

use super::engine::fold_violation;
use super::{Outcome, World};
use crate::Fault;
use crate::checkers::{self, Violation};
use crate::evidence::{Answer, Ask, Evidence, Fact, Reply, Request, Say};
use crate::ledger::Moment;
use crate::tasks::{Asked, Fate};

impl World {
    /// Looks at all that the engine has written, asked for and said since the last look.
    pub(super) fn absorb(&mut self) -> Outcome {
        if let Some(space) = self.evidence.disk.unexpected().first() {
            let what = format!("a batch did not find what it expected in {}", space.name());
            return Err(Violation::boxed("expectations_hold", None, what));
        }
        for (batch, written) in self.evidence.disk.take_unseen() {
            self.log.count(batch);
            for write in &written.writes {
                self.log.count((write.space, &write.key, &write.value));
            }
            let Evidence { generation, now_ms, .. } = self.evidence;
            checkers::batch(&self.evidence, &written)?;
            let moment = Moment { batch, generation, now_ms };
            let Evidence { ledger, subjects, machines, .. } = &mut self.evidence;
            let who = |id: ExecutionId| {
                let subject = subjects.iter().find(|subject| subject.id == id)?;
                Some((subject.arn.as_str(), &*machines[subject.machine].prepared))
            };
            let touched = ledger
                .take(&written, moment, who)
                .map_err(|(id, what)| fold_violation(id, what))?;
            for id in touched {
                self.log_step(id, batch);
                checkers::step(&self.evidence, id)?;
            }
            self.absorb_invocations(&written, moment)?;
        }
        for asked in self.runner.take_unseen() {
            match asked {
                Asked::Dispatch(task, durable_to) => self.dispatched(*task, durable_to)?,
                Asked::Notify(failed, durable_to) => self.failed(*failed, durable_to)?,
                Asked::Cancel(cancelled) => {
                    let (id, attempt) = (cancelled.execution, cancelled.attempt);
                    self.log.line(Some(id.into()), || format!("cancel {attempt:?}"));
                    if let Some(tried) = self.evidence.witness.of(id, attempt) {
                        tried.cancelled = true;
                    }
                    self.cancelled(cancelled);
                }
            }
        }
        self.absorb_functions()?;
        let mut replies =
            std::mem::take(&mut *self.replies.lock().unwrap_or_else(PoisonError::into_inner));
        // Those that wait for one thing are answered in no order.
        replies.sort_by_key(|(number, _)| *number);
        for (number, reply) in replies {
            self.replied(number, reply)?;
        }
        Ok(())
    }

    /// A failure is to be notified; some are held until the engine dies.
    fn failed(&mut self, notification: Notification, durable_to: u64) -> Outcome {
        let (id, started_ms, sequence) =
            (notification.execution, notification.started_ms, notification.sequence);
        self.log.line(Some(id.into()), || format!("step {sequence} is to be notified"));
        self.log.count((id, started_ms, sequence));
        checkers::notify(&self.evidence, &notification, durable_to)?;
        let generation = self.evidence.generation;
        let notified = self.evidence.notified.entry((id, started_ms, sequence)).or_default();
        notified.by.push(generation);
        if self.calm || self.dice.percent(60) {
            self.notify(notification);
        }
        Ok(())
    }

    pub(super) fn log_step(&mut self, id: ExecutionId, batch: u64) {
        let Some(step) = self.evidence.ledger.last(id).and_then(|life| life.steps.last()) else {
            return;
        };
        let now = self.evidence.now_ms;
        self.log.line(Some(id.into()), || format!("at {now} batch {batch}: {:?}", step.events));
    }

    pub(super) fn replied(&mut self, number: u64, reply: Reply) -> Outcome {
        let Some(request) = self.evidence.outstanding.remove(&number) else {
            let what = format!("request {number} is answered, and was not asked");
            return Err(Violation::boxed("every_request_is_answered", None, what));
        };
        let id = self.evidence.subjects[request.subject].id;
        let reply = match (&request.ask, reply) {
            (Ask::Report { .. }, Err(_)) if self.fault == Some(Fault::AcceptsEverything) => {
                Ok(Answer::Counted)
            }
            (_, reply) => reply,
        };
        self.log.line(Some(id.into()), || format!("reply to {number}: {}", brief(&reply)));
        self.log.count((number, reply.is_ok(), self.evidence.now_ms));
        self.note_settled(&request, &reply);
        self.note_fact(id, &request, &reply);
        checkers::reply(&self.evidence, &request, &reply)?;
        self.delivery_started(number, &reply)?;
        match (&request.ask, &reply) {
            (Ask::Report { say: Say::Started, .. }, _) => {
                self.taken(number, (request.subject, &request.ask), &reply);
            }
            (_, Err(Error::Failed(_) | Error::Stopped | Error::Busy)) if self.dice.percent(70) => {
                self.try_again(&request);
            }
            // Workers and clients come back until somebody has looked into it.
            (_, Err(Error::Quarantined(_))) => self.try_again(&request),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn try_again(&mut self, request: &Request) {
        let starts = matches!(request.ask, Ask::Start { .. });
        let idle = matches!(request.ask, Ask::Watch | Ask::Heartbeat { .. });
        if idle || (starts && !self.may_start(request.subject)) {
            return;
        }
        let delay = self.dice.between(100, 3000);
        self.send(request.subject, request.ask.clone(), delay);
    }

    pub(super) fn note_settled(&mut self, request: &Request, reply: &Reply) {
        let subject = &mut self.evidence.subjects[request.subject];
        let id = subject.id;
        match &request.ask {
            Ask::Start { .. } => {
                subject.unsettled -= 1;
                subject.started |= reply.is_ok();
            }
            Ask::Delete => subject.unsettled -= 1,
            Ask::Report { attempt, say } => {
                let Some(tried) = self.evidence.witness.of(id, *attempt) else { return };
                tried.flying -= 1;
                let Say::Result(number, _) = *say else { return };
                for given in tried.answers.iter_mut().filter(|given| given.number == number) {
                    match reply {
                        Ok(_) => given.fate = Fate::Counted,
                        Err(Error::Settled | Error::NoSuchTask | Error::NotFound)
                            if given.fate == Fate::Open =>
                        {
                            given.fate = Fate::Refused;
                        }
                        Err(_) => {}
                    }
                }
            }
            Ask::Heartbeat { attempt } if reply.is_ok() => {
                self.evidence.signs.insert((id, *attempt), request.arrived_ms);
            }
            _ => {}
        }
    }

    pub(super) fn note_fact(&mut self, id: ExecutionId, request: &Request, reply: &Reply) {
        let Ok(answer) = reply else { return };
        if self.evidence.is_express(id) {
            return;
        }
        let fact = match (&request.ask, answer) {
            (_, Answer::Started(started)) => Fact::Started(started.started_ms),
            (Ask::Report { attempt, say }, Answer::Counted) => Fact::Counted(*attempt, *say),
            (Ask::Stop, Answer::At(at)) => Fact::Stopped(*at),
            (Ask::Redrive, Answer::At(at)) => Fact::Redriven(*at),
            (_, Answer::Deleted) => Fact::Deleted,
            (_, Answer::Ended(ended)) => Fact::Ended(ended.clone()),
            _ => return,
        };
        self.evidence.facts.push((id, fact));
    }
}

fn brief(reply: &Reply) -> String {
    match reply {
        Err(Error::AlreadyExists(_)) => "it exists already".to_owned(),
        Err(Error::WrongStatus(known)) => format!("it is {:?}", known.standing),
        other => format!("{other:?}"),
    }
}
