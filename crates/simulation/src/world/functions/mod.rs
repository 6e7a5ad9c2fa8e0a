//! Functions in the world: what happens next to events, attempts and deliveries.

mod clients;
mod deliveries;
mod notifications;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use everstep_executions::Notification;
use everstep_invocations::{AttemptId, FunctionSettings, InvocationId, State};

use super::{HOUR_MS, Outcome, World};
use crate::Fault;
use crate::checkers::Violation;
use crate::dice::Dice;
use crate::functions::destinations::Destinations;
use crate::functions::engine::{Engine, name};
use crate::functions::workers::Workers;
use crate::functions::{Functions, Reply, Request, workload};
use crate::ledger::Moment;

/// What the world knows and the checkers need not.
#[derive(Default)]
pub(super) struct Plans {
    /// What will happen, each with the moment from which it can.
    flights: Vec<(i64, Flight)>,
    replies: Arc<Mutex<Vec<(u64, Reply)>>>,
    requests: u64,
    answers: u64,
    /// Functions as they were drawn.
    drawn: Vec<(String, FunctionSettings)>,
    /// Notifications that are on their way to a function, by request.
    notices: BTreeMap<u64, Notification>,
    /// Starts of executions that are deliveries, by request.
    starts: BTreeMap<u64, Pending>,
}

/// A delivery that has not been answered.
#[derive(Debug, Clone)]
struct Pending {
    number: u64,
    invocation: InvocationId,
    target: String,
}

enum Flight {
    Request(Request),
    /// A worker is ready for the attempt of that number.
    Claim(u64),
    /// A worker answers the attempt of that number.
    Answer(u64, Answered),
    /// A second voice answers an attempt.
    Again(InvocationId, AttemptId),
    /// A destination has the record, or refuses it.
    Delivery(Pending, bool),
}

/// What a worker says of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    Success,
    Failure(&'static str),
    /// It is gone without an answer.
    Vanished,
}

pub(super) fn functions(
    dice: &mut Dice,
    disk: &Arc<crate::disk::Disk>,
    fault: Option<Fault>,
) -> (Functions, Plans) {
    let settings = workload::settings(dice);
    let workers = Arc::new(Workers::new(fault, disk.clone()));
    let destinations = Arc::new(Destinations::new(fault, disk.clone()));
    let count = 1 + dice.below(4);
    let (mut plans, mut slots) = (Plans::default(), BTreeMap::new());
    for number in 0..count {
        let (name, drawn) = (workload::name(number), workload::draw(dice, number, count));
        workers.set(&name, Some(drawn.clone()));
        slots.insert(name.clone(), drawn.concurrency);
        plans.drawn.push((name, drawn));
    }
    let engine = Engine::new(disk, &workers, &destinations, &settings);
    let functions = Functions {
        settings,
        engine,
        workers,
        slots,
        destinations,
        ledger: Default::default(),
        witness: Default::default(),
        delivered: Default::default(),
        facts: Vec::new(),
        purged: Default::default(),
        outstanding: Default::default(),
    };
    (functions, plans)
}

impl World {
    pub(super) fn act_on_functions(&mut self) -> Outcome {
        match self.dice.below(100) {
            0..=64 => self.advance_functions(),
            65..=79 => {
                let shard = self.dice.below(self.evidence.functions.engine.shard_count());
                self.tick_functions(shard)
            }
            80..=96 => self.ask_of_functions(),
            _ => {
                self.reconfigure();
                Ok(())
            }
        }
    }

    /// A message of the engine to itself, or something that is due.
    fn advance_functions(&mut self) -> Outcome {
        if self.dice.percent(50) && self.handle_function_message()? {
            return Ok(());
        }
        let flights = &self.plans.flights;
        let due: Vec<usize> =
            (0..flights.len()).filter(|index| flights[*index].0 <= self.true_ms).collect();
        if due.is_empty() {
            return self.handle_function_message().map(|_| ());
        }
        let index = due[self.dice.below(due.len())];
        let (_, flight) = self.plans.flights.remove(index);
        self.land(flight)
    }

    pub(super) fn land_due_functions(&mut self) -> Outcome {
        while let Some(index) = self.plans.flights.iter().position(|(due, _)| *due <= self.true_ms)
        {
            let (_, flight) = self.plans.flights.remove(index);
            self.land(flight)?;
        }
        Ok(())
    }

    fn land(&mut self, flight: Flight) -> Outcome {
        match flight {
            Flight::Request(request) => self.hand_over_to_functions(request),
            Flight::Claim(number) => self.claim(number),
            Flight::Answer(number, said) => self.answer(number, said),
            Flight::Again(id, attempt) => self.answer_again(id, attempt),
            Flight::Delivery(pending, taken) => self.answer_delivery(&pending, taken),
        }
    }

    pub(super) fn handle_function_message(&mut self) -> Outcome<bool> {
        let Some(message) = self.evidence.functions.engine.next_message(&mut self.dice) else {
            return Ok(false);
        };
        let id = message.id();
        self.log.line(Some(id.into()), || format!("the engine to itself: {}", name(&message)));
        let now = self.engine_ms();
        self.evidence.functions.engine.handle(message, now);
        self.absorb()?;
        Ok(true)
    }

    pub(super) fn tick_functions(&mut self, index: usize) -> Outcome {
        let now = self.engine_ms();
        let engine = &mut self.evidence.functions.engine;
        let next = engine.tick(index, now);
        let next = match self.fault {
            Some(Fault::LateTurns) => next.map(|next| next + HOUR_MS),
            _ => next,
        };
        engine.next_ms[index] = next;
        self.absorb()
    }

    /// A function is removed, forbidden, or as it was drawn.
    fn reconfigure(&mut self) {
        let index = self.dice.below(self.plans.drawn.len());
        let (name, drawn) = &self.plans.drawn[index];
        let settings = match self.dice.below(6) {
            0 => None,
            1 => Some(FunctionSettings { concurrency: 0, ..drawn.clone() }),
            2 => Some(FunctionSettings { version: "2".to_owned(), ..drawn.clone() }),
            _ => Some(drawn.clone()),
        };
        let what = settings.as_ref().map(|settings| (settings.concurrency, &settings.version));
        self.log.line(None, || format!("{name} is now {what:?}"));
        self.evidence.functions.workers.set(name, settings);
    }

    pub(super) fn restore_functions(&mut self) {
        for (name, drawn) in &self.plans.drawn {
            self.evidence.functions.workers.set(name, Some(drawn.clone()));
        }
    }

    pub(super) fn open_functions(&mut self) -> Outcome {
        let (seed, now) = (self.dice.draw(), self.engine_ms());
        let opened = self.evidence.functions.engine.open(self.evidence.shard_count, seed, now);
        opened.map_err(|what| Violation::boxed("accepted_is_never_lost", None, what))
    }

    /// The engine dies with all that ran for it; the ledger keeps what is durable.
    pub(super) fn functions_die(&mut self) {
        let present = || self.evidence.functions.ledger.present();
        let runs = present().any(|life| !life.invocation().state.is_over());
        let delivers = present()
            .any(|life| life.invocation().state.is_over() && !life.invocation().is_routed());
        self.tally.crashes_in_invocations += u64::from(runs);
        self.tally.crashes_in_deliveries += u64::from(delivers);
        let functions = &mut self.evidence.functions;
        functions.workers.die();
        functions.destinations.die();
        functions.engine.die();
        for tried in functions.witness.tried.values_mut().flatten() {
            tried.over = true;
        }
        self.lose_function_requests();
    }

    pub(super) fn functions_begin_again(&mut self, durable_to: u64) {
        let Functions { settings, workers, destinations, engine, ledger, .. } =
            &mut self.evidence.functions;
        ledger.crash(durable_to);
        *engine = Engine::new(&self.evidence.disk, workers, destinations, settings);
    }

    /// Looks at what a batch has written of invocations.
    pub(super) fn absorb_invocations(
        &mut self,
        batch: &everstep_store::Batch,
        moment: Moment,
    ) -> Outcome {
        let touched =
            self.evidence.functions.ledger.take(batch, moment).map_err(|(id, what)| {
                Violation::boxed("invocation_rows_agree", id.map(Into::into), what)
            })?;
        for id in touched {
            let Some(life) = self.evidence.functions.ledger.last(id) else { continue };
            let (invocation, now) = (life.invocation(), self.evidence.now_ms);
            self.log.line(Some(id.into()), || {
                format!(
                    "at {now} batch {}: {} {:?} started {} retries {:?} undelivered {:?} dead {}",
                    moment.batch,
                    invocation.function,
                    invocation.state,
                    invocation.attempts.started(),
                    invocation.retries,
                    invocation.undelivered,
                    invocation.dead,
                )
            });
        }
        Ok(())
    }

    /// Looks at what the engine has asked of workers and destinations, and at its replies.
    pub(super) fn absorb_functions(&mut self) -> Outcome {
        let workers = self.evidence.functions.workers.clone();
        for called in workers.take_unseen() {
            self.called(called)?;
        }
        for receipt in workers.take_receipts() {
            self.settled(receipt)?;
        }
        for (delivery, number, durable_to) in self.evidence.functions.destinations.take_unseen() {
            self.delivery(delivery, number, durable_to)?;
        }
        let mut replies =
            std::mem::take(&mut *self.plans.replies.lock().unwrap_or_else(PoisonError::into_inner));
        // Those that wait for one thing are answered in no order.
        replies.sort_by_key(|(number, _)| *number);
        for (number, reply) in replies {
            self.function_replied(number, reply)?;
        }
        Ok(())
    }

    /// How long until something can happen to an invocation.
    pub(super) fn until_functions(&self) -> Option<i64> {
        let flights = self.plans.flights.iter().map(|(due, _)| due - self.true_ms);
        let functions = &self.evidence.functions;
        let mut due = Vec::new();
        let mut hidden = false;
        for life in functions.ledger.present() {
            let invocation = life.invocation();
            match invocation.state {
                State::Waiting { due_ms } if due_ms > self.evidence.now_ms => {
                    due.push(due_ms - self.evidence.now_ms);
                }
                // Waits between deliveries are known to the engine alone; some wait for a slot.
                state => hidden |= !state.is_over() || !invocation.is_routed(),
            }
        }
        let next = functions.engine.next_ms.iter().flatten().filter(|_| hidden);
        let next = next.map(|next| next - self.evidence.now_ms);
        flights.chain(due).chain(next).min().map(|step| step.max(1))
    }
}
