//! What clients ask of invocations, and what they do when they get no answer.

use std::sync::PoisonError;

use everstep_invocations::{Error, InvocationId, Message, Resend};

use super::super::{Outcome, World};
use super::Flight;
use crate::Fault;
use crate::checkers;
use crate::functions::engine::{Mode, acceptance};
use crate::functions::{Answer, Ask, Fact, Reply, Request, Said};

/// Invocations after which clients start no more.
const INVOCATIONS_MAX: usize = 24;
/// The number of a watcher is that of the acceptance and this.
const WATCHER: u64 = 1 << 32;

impl World {
    pub(super) fn ask_of_functions(&mut self) -> Outcome {
        let present: Vec<InvocationId> =
            self.evidence.functions.ledger.present().map(|life| life.id).collect();
        let full = self.evidence.functions.ledger.len() >= INVOCATIONS_MAX;
        if present.is_empty() || (!full && self.dice.percent(40)) {
            self.new_event();
            return Ok(());
        }
        let id = present[self.dice.below(present.len())];
        let ask = match self.dice.below(10) {
            0 => Ask::Cancel,
            1..=3 => Ask::Watch,
            4..=7 => Ask::Redrive(Resend {
                latest: self.dice.percent(50),
                payload: None,
                not_before_ms: self
                    .dice
                    .percent(20)
                    .then(|| self.evidence.now_ms + self.dice.between(0, 20 * 60_000)),
            }),
            _ => Ask::Purge { undelivered: self.dice.percent(30) },
        };
        self.send_to_functions(id, ask, 0);
        Ok(())
    }

    fn new_event(&mut self) {
        let index = self.dice.below(self.plans.drawn.len());
        let function = self.plans.drawn[index].0.clone();
        let key = self.dice.percent(50).then(|| format!("k{}", self.dice.below(3)));
        let mode = match self.dice.below(20) {
            0 => Mode::Unparseable,
            1..=7 if key.is_some() => Mode::Synchronous,
            _ => Mode::Asynchronous,
        };
        let id = match &key {
            Some(key) => InvocationId::of_key(&function, key),
            None => self.drawn_id(),
        };
        let acceptance = acceptance(id, &function, &function, key, mode);
        let watched = mode == Mode::Synchronous || self.dice.percent(10);
        let ask = Ask::Accept { acceptance: Box::new(acceptance), watched };
        self.send_to_functions(id, ask, 0);
    }

    fn drawn_id(&mut self) -> InvocationId {
        InvocationId::drawn([self.dice.draw(), self.dice.draw()])
    }

    pub(super) fn send_to_functions(&mut self, id: InvocationId, ask: Ask, delay_ms: i64) -> u64 {
        if let Ask::Purge { .. } = ask {
            self.evidence.functions.purged.insert(id);
        }
        self.plans.requests += 1;
        let number = self.plans.requests;
        self.fly(delay_ms, Flight::Request(Request { number, id, ask }));
        number
    }

    pub(super) fn hand_over_to_functions(&mut self, mut request: Request) -> Outcome {
        let Request { number, id, .. } = request;
        if self.fault == Some(Fault::ForgetsKeys)
            && let Ask::Accept { acceptance, .. } = &mut request.ask
        {
            acceptance.id = self.drawn_id();
            request.id = acceptance.id;
        }
        self.log.line(Some(id.into()), || format!("request {number}: {:?}", request.ask));
        let message = self.function_message(&request);
        if let Ask::Accept { watched: true, .. } = request.ask {
            let watch = Request { number: number + WATCHER, ask: Ask::Watch, ..request.clone() };
            self.evidence.functions.outstanding.insert(watch.number, watch);
        }
        self.evidence.functions.outstanding.insert(number, request);
        let now = self.engine_ms();
        self.evidence.functions.engine.handle(message, now);
        self.absorb()
    }

    fn function_message(&self, request: &Request) -> Message {
        let Request { number, id, ask } = request;
        let (number, id) = (*number, *id);
        match ask {
            Ask::Accept { acceptance, watched } => {
                let reply = self.function_reply(number, Answer::Accepted);
                let watcher =
                    watched.then(|| self.function_reply(number + WATCHER, Answer::Finished));
                Message::Accept { acceptance: acceptance.clone(), reply, watcher }
            }
            Ask::Watch => {
                Message::Watch { id, reply: self.function_reply(number, Answer::Finished) }
            }
            Ask::Cancel => {
                Message::Cancel { id, reply: self.function_reply(number, |()| Answer::Cancelled) }
            }
            Ask::Redrive(redrive) => Message::Redrive {
                id,
                redrive: redrive.clone(),
                reply: self.function_reply(number, Answer::Redriven),
            },
            Ask::Purge { undelivered } => Message::Purge {
                id,
                undelivered: *undelivered,
                reply: self.function_reply(number, |()| Answer::Purged),
            },
        }
    }

    fn function_reply<T: 'static>(
        &self,
        number: u64,
        wrap: impl FnOnce(T) -> Answer + Send + 'static,
    ) -> everstep_invocations::Reply<T> {
        let replies = self.plans.replies.clone();
        Box::new(move |answer| {
            let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
            replies.push((number, answer.map(wrap)));
        })
    }

    pub(super) fn function_replied(&mut self, number: u64, reply: Reply) -> Outcome {
        let Some(request) = self.evidence.functions.outstanding.remove(&number) else {
            let what = format!("request {number} is answered, and was not asked");
            return Err(checkers::Violation::boxed("every_request_is_answered", None, what));
        };
        let id = request.id;
        self.log.line(Some(id.into()), || format!("reply to {number}: {reply:?}"));
        self.log.count((number, reply.is_ok(), self.evidence.now_ms));
        self.note_said(id, &reply);
        checkers::invocation_reply(&self.evidence, &request, &reply)?;
        if self.notice_replied(number, &reply) {
            return Ok(());
        }
        let passing = matches!(
            reply,
            Err(Error::Failed(_) | Error::Stopped | Error::Busy | Error::NoSuchFunction(_))
        );
        if passing && self.dice.percent(60) {
            self.ask_again(request);
        }
        Ok(())
    }

    fn note_said(&mut self, id: InvocationId, reply: &Reply) {
        let Ok(answer) = reply else { return };
        let said = match answer.clone() {
            Answer::Accepted(accepted) => Said::Accepted { known: accepted.known },
            Answer::Finished(finished) => {
                Said::Finished { state: finished.state, response: finished.response }
            }
            Answer::Cancelled => Said::Cancelled,
            Answer::Redriven(into) => Said::Redriven(into),
            Answer::Purged => Said::Purged,
        };
        self.evidence.functions.facts.push(Fact { id, said });
    }

    /// What the engine had taken is not answered any more, and some of what is on its way is lost.
    pub(super) fn lose_function_requests(&mut self) {
        self.plans.replies.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.plans.starts.clear();
        let notices = std::mem::take(&mut self.plans.notices);
        for (_, request) in std::mem::take(&mut self.evidence.functions.outstanding) {
            if !notices.contains_key(&request.number) && self.dice.percent(70) {
                self.ask_again(request);
            }
        }
        for (due, flight) in std::mem::take(&mut self.plans.flights) {
            match flight {
                // It comes again from the outbox.
                Flight::Request(request) if notices.contains_key(&request.number) => {}
                Flight::Request(request) => {
                    self.plans.flights.push((due, Flight::Request(request)));
                }
                Flight::Again(..) => self.plans.flights.push((due, flight)),
                Flight::Claim(_) | Flight::Answer(..) | Flight::Delivery(..) => {}
            }
        }
    }

    /// A client that gets no answer repeats what it asked for, unless that is idle.
    fn ask_again(&mut self, request: Request) {
        let Request { mut id, mut ask, .. } = request;
        if let Ask::Accept { acceptance, .. } = &mut ask
            && acceptance.key.is_none()
        {
            id = self.drawn_id();
            acceptance.id = id;
        }
        if !matches!(ask, Ask::Watch) {
            let delay = self.dice.between(0, 5000);
            self.send_to_functions(id, ask, delay);
        }
    }
}
