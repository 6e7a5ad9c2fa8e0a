//! What workers say of the attempts they are given, when, and how often.

use everstep_invocations::{Attempt, AttemptId, Failure, InvocationId, Message, Outcome as Ended};
use everstep_retry::Class;

use super::super::{Outcome, World};
use super::{Answered, Flight};
use crate::Fault;
use crate::checkers;
use crate::functions::workers::{Called, Fate, Given, Receipt, Tried};
use crate::functions::workload;

impl World {
    pub(super) fn called(&mut self, called: Called) -> Outcome {
        match called {
            Called::Wanted(number) => {
                let delay = self.start_delay();
                self.fly(delay, Flight::Claim(number));
                Ok(())
            }
            Called::Start(attempt, number, durable_to) => {
                self.started(&attempt, number, durable_to)
            }
            Called::Kill(attempt) => {
                self.evidence.functions.workers.forget_waiting(attempt);
                let running = self.evidence.functions.workers.running();
                for (number, _) in running.into_iter().filter(|(_, id)| *id == attempt) {
                    let delay = self.dice.between(0, 2000);
                    self.fly(delay, Flight::Answer(number, Answered::Failure("Killed")));
                }
                Ok(())
            }
        }
    }

    /// How long it takes until a process is ready.
    fn start_delay(&mut self) -> i64 {
        match self.dice.below(4) {
            _ if self.calm => self.dice.between(0, 20),
            0 => self.dice.between(1, 2000),
            _ => 0,
        }
    }

    /// A worker is ready to take the attempt of that number, or cannot be started.
    pub(super) fn claim(&mut self, number: u64) -> Outcome {
        let workers = self.evidence.functions.workers.clone();
        let roll = if self.calm { 100 } else { self.dice.below(100) };
        match roll {
            0..=3 => workers.drop_waiting(number, Some(Ended::Throttled)),
            4 => workers.drop_waiting(number, None),
            5..=6 => {
                let failure = Failure::new(workload::UNSTARTABLE, Class::Runtime, "");
                let outcome = Ended::Failed { failure, payload: None, worker_pid: None };
                workers.drop_waiting(number, Some(outcome));
            }
            _ => {
                if let Some(attempt) = workers.take_waiting(number, roll > 8) {
                    *self.evidence.functions.witness.taken.entry(attempt).or_default() += 1;
                }
            }
        }
        self.absorb()
    }

    fn started(&mut self, attempt: &Attempt, number: u64, durable_to: u64) -> Outcome {
        let id = attempt.invocation;
        self.log.line(Some(id.into()), || format!("attempt {} starts", attempt.n));
        self.log.count((id, attempt.n, attempt.id, self.evidence.now_ms));
        checkers::attempt_started(&self.evidence, attempt, durable_to)?;
        let functions = &mut self.evidence.functions;
        functions.witness.starts += 1;
        let tried = Tried {
            number,
            invocation: id,
            begun: functions.ledger.last(id).map_or(0, |life| life.begun()),
            n: attempt.n,
            function: attempt.function.clone(),
            over: false,
            answers: Vec::new(),
        };
        functions.witness.tried.entry(attempt.id).or_default().push(tried);
        let said = self.said();
        if let Some(said) = said {
            let delay = self.function_delay();
            self.fly(delay, Flight::Answer(number, said));
        }
        if !self.calm && self.dice.percent(8) {
            let delay = self.function_delay() + self.dice.between(0, 3000);
            self.fly(delay, Flight::Again(id, attempt.id));
        }
        Ok(())
    }

    /// What a worker is going to say, unless it hangs.
    fn said(&mut self) -> Option<Answered> {
        let failures = if self.calm { 5 } else { self.temper.task_failures };
        let roll = self.dice.below(100);
        match roll {
            0..=7 if !self.calm => None,
            8..=13 if !self.calm => Some(Answered::Vanished),
            _ if self.dice.percent(failures) => {
                Some(Answered::Failure(self.dice.pick(&workload::ERRORS)))
            }
            _ => Some(Answered::Success),
        }
    }

    fn function_delay(&mut self) -> i64 {
        if self.calm {
            return self.dice.between(0, 20);
        }
        match self.dice.below(20) {
            0..=11 => 0,
            12..=16 => self.dice.between(1, 2000),
            17..=18 => self.dice.between(2000, 6 * super::super::MINUTE_MS),
            _ => self.dice.between(super::HOUR_MS, 3 * super::HOUR_MS),
        }
    }

    pub(super) fn fly(&mut self, delay_ms: i64, flight: Flight) {
        self.plans.flights.push((self.true_ms + delay_ms, flight));
    }

    pub(super) fn answer(&mut self, number: u64, said: Answered) -> Outcome {
        let Some((attempt, done)) = self.evidence.functions.workers.take_running(number) else {
            return Ok(());
        };
        let Some(tried) = self.evidence.functions.witness.numbered(number) else { return Ok(()) };
        tried.over = true;
        self.plans.answers += 1;
        let answer = self.plans.answers;
        let (id, n) = (tried.invocation, tried.n);
        if said != Answered::Vanished {
            tried.answers.push(Given { answer, fate: Fate::Open });
        }
        self.log.line(Some(id.into()), || format!("attempt {n} answers {answer}: {said:?}"));
        match outcome(said, answer) {
            Some(outcome) => {
                done(outcome, self.evidence.functions.workers.receipt(attempt, answer));
            }
            None => drop(done),
        }
        self.absorb()
    }

    /// A worker that is thought to be gone answers too, or one answers twice.
    pub(super) fn answer_again(&mut self, id: InvocationId, attempt: AttemptId) -> Outcome {
        let last = self.evidence.functions.ledger.last(id);
        if !last.is_some_and(|life| life.is_there()) {
            return Ok(());
        }
        self.plans.answers += 1;
        let answer = self.plans.answers;
        let failed = self.dice.percent(50);
        let said = if failed { Answered::Failure("Flaky") } else { Answered::Success };
        let Some(outcome) = outcome(said, answer) else { return Ok(()) };
        let functions = &mut self.evidence.functions;
        if let Some(tried) =
            functions.witness.tried.get_mut(&attempt).and_then(|all| all.last_mut())
        {
            tried.answers.push(Given { answer, fate: Fate::Open });
        }
        self.log.line(Some(id.into()), || format!("a second voice answers {answer}: {said:?}"));
        let receipt = functions.workers.receipt(attempt, answer);
        functions.engine.post(Message::Ended { id, attempt, outcome, receipt });
        Ok(())
    }

    pub(super) fn settled(&mut self, mut receipt: Receipt) -> Outcome {
        if self.fault == Some(Fault::AcceptsStaleAnswers) {
            receipt.counts = Ok(());
        }
        let Receipt { attempt, answer, .. } = receipt;
        self.log.count((attempt, answer, receipt.counts.is_ok()));
        let tried = self.evidence.functions.witness.tried.get_mut(&attempt);
        for given in tried.into_iter().flatten().flat_map(|tried| &mut tried.answers) {
            if given.answer == answer {
                given.fate = match receipt.counts {
                    Ok(()) => Fate::Counted,
                    Err(everstep_invocations::Error::StaleResult) => Fate::Refused,
                    Err(_) => Fate::Open,
                };
            }
        }
        checkers::attempt_settled(&self.evidence, &receipt)
    }

    /// Workers that hang come to an end after all.
    pub(in super::super) fn answer_hanging(&mut self) {
        for number in self.evidence.functions.workers.waiting() {
            let planned = |(_, flight): &(i64, Flight)| matches!(flight, Flight::Claim(planned) if *planned == number);
            if !self.plans.flights.iter().any(planned) {
                self.fly(0, Flight::Claim(number));
            }
        }
        for (number, _) in self.evidence.functions.workers.running() {
            let planned = |(_, flight): &(i64, Flight)| matches!(flight, Flight::Answer(planned, _) if *planned == number);
            if !self.plans.flights.iter().any(planned) {
                let said = self.said().unwrap_or(Answered::Success);
                self.fly(0, Flight::Answer(number, said));
            }
        }
    }
}

fn outcome(said: Answered, answer: u64) -> Option<Ended> {
    Some(match said {
        Answered::Success => Ended::Succeeded {
            output: format!("{{\"answer\":{answer}}}").into_bytes(),
            worker_pid: None,
            log: Vec::new(),
        },
        Answered::Failure(error) => Ended::Failed {
            failure: Failure::new(error, Class::User, &format!("answer {answer}")),
            payload: None,
            worker_pid: None,
        },
        Answered::Vanished => return None,
    })
}
