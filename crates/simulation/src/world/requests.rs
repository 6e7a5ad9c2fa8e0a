//! Requests on their way to the engine, and how they arrive.

use std::sync::PoisonError;

use everstep_executions::{Message, Report, Start};
use everstep_history::{Failure, FailureStage, Payload};
use serde_json::json;

use super::{Outcome, World};
use crate::Fault;
use crate::evidence::{Answer, Ask, Request, Say};

impl World {
    pub(super) fn send(&mut self, subject: usize, ask: Ask, delay_ms: i64) {
        let known = &mut self.evidence.subjects[subject];
        match &ask {
            Ask::Start { .. } => known.unsettled += 1,
            Ask::Delete => {
                known.unsettled += 1;
                known.delete_sent = true;
            }
            Ask::Report { attempt, .. } => {
                let id = known.id;
                if let Some(tried) = self.evidence.witness.of(id, *attempt) {
                    tried.flying += 1;
                }
            }
            _ => {}
        }
        self.requests += 1;
        let request = Request { number: self.requests, subject, ask, arrived_ms: 0 };
        self.flights.push((self.true_ms + delay_ms, request));
    }

    pub(super) fn deliver(&mut self) -> Outcome {
        if !self.post.is_empty() && self.dice.percent(50) {
            return self.deliver_post().map(|_| ());
        }
        let due: Vec<usize> = (0..self.flights.len())
            .filter(|index| self.flights[*index].0 <= self.true_ms)
            .collect();
        if due.is_empty() {
            return self.deliver_post().map(|_| ());
        }
        let index = due[self.dice.below(due.len())];
        let (_, request) = self.flights.remove(index);
        self.hand_over(request)
    }

    pub(super) fn deliver_post(&mut self) -> Outcome<bool> {
        let Some(message) = self.post.take(&mut self.dice) else { return Ok(false) };
        self.log.line(Some(message.id().into()), || format!("the engine to itself: {message:?}"));
        self.handle(message)?;
        Ok(true)
    }

    pub(super) fn handle(&mut self, message: Message) -> Outcome {
        let shard = usize::from(message.id().shard(self.evidence.shard_count).0);
        let now = self.engine_ms();
        self.evidence.shards[shard].handle(message, now);
        self.absorb()
    }

    pub(super) fn hand_over(&mut self, mut request: Request) -> Outcome {
        let id = self.evidence.subjects[request.subject].id;
        request.arrived_ms = self.evidence.now_ms;
        if let Ask::Heartbeat { attempt } = request.ask {
            // Until it is answered it may have counted or not; the clock may have been set back.
            let begun = self.evidence.scheduled(id, attempt).map(|(event, ..)| event.at_ms());
            let begun = begun.unwrap_or(request.arrived_ms);
            let sign = self.evidence.signs.entry((id, attempt)).or_insert(begun);
            *sign = request.arrived_ms.min(*sign);
        }
        self.log.line(Some(id.into()), || format!("request {}: {:?}", request.number, request.ask));
        if let Ask::Start { watched: true, .. } = request.ask {
            // The watcher's own number follows.
            let watch = Request { number: request.number + WATCHER, ..request.clone() };
            let watch = Request { ask: Ask::Watch, ..watch };
            self.evidence.outstanding.insert(watch.number, watch);
        }
        let message = self.message(&request);
        if let (Some(Fault::LosesResults), Ask::Report { say: Say::Result(..), .. }) =
            (self.fault, &request.ask)
        {
            return Ok(());
        }
        self.evidence.outstanding.insert(request.number, request);
        self.handle(message)
    }

    pub(super) fn message(&self, request: &Request) -> Message {
        let subject = &self.evidence.subjects[request.subject];
        let (id, number) = (subject.id, request.number);
        match &request.ask {
            Ask::Start { input, watched } => {
                let prepared = self.evidence.machines[subject.machine].prepared.clone();
                let start = Box::new(Start::new(&subject.arn, prepared, input.clone()));
                let watcher = watched.then(|| self.reply(number + WATCHER, Answer::Ended));
                Message::Start { start, reply: self.reply(number, Answer::Started), watcher }
            }
            Ask::Report { attempt, say } => {
                let reply = Some(self.reply(number, |()| Answer::Counted));
                Message::Report { id, attempt: *attempt, report: report(*say), reply }
            }
            Ask::Heartbeat { attempt } => {
                let reply = self.reply(number, |()| Answer::Counted);
                Message::Heartbeat { id, attempt: *attempt, reply }
            }
            Ask::Stop => {
                let failure = Failure::new("Stopped", "by a client");
                Message::Stop { id, failure, reply: self.reply(number, Answer::At) }
            }
            Ask::Redrive => Message::Redrive { id, reply: self.reply(number, Answer::At) },
            Ask::Watch => Message::Watch { id, reply: self.reply(number, Answer::Ended) },
            Ask::Delete => Message::Delete { id, reply: self.reply(number, |()| Answer::Deleted) },
        }
    }

    pub(super) fn reply<T: 'static>(
        &self,
        number: u64,
        wrap: impl FnOnce(T) -> Answer + Send + 'static,
    ) -> everstep_executions::Reply<T> {
        let replies = self.replies.clone();
        let swallow = self.fault == Some(Fault::SwallowsReplies) && number.is_multiple_of(5);
        Box::new(move |answer| {
            if !swallow {
                let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
                replies.push((number, answer.map(wrap)));
            }
        })
    }
}

/// The number of a start's watcher is that of the start and this.
const WATCHER: u64 = 1 << 32;

fn report(say: Say) -> Report {
    match say {
        Say::Started => Report::Started { worker: Some("w".into()) },
        Say::Submitted => Report::Submitted { output: Payload::new(json!({})) },
        Say::Result(number, None) => {
            Report::Succeeded { output: Payload::new(json!({"answer": number})) }
        }
        Say::Result(number, Some(error)) => Report::Failed {
            failure: Failure::new(error, format!("answer {number}")),
            stage: FailureStage::Run,
        },
    }
}
