//! Letting the engine come to rest, for a moment or for good.

use everstep_executions::ExecutionId;
use everstep_history::Attempt;

use super::{Outcome, World};
use crate::checkers::{self, Violation};
use crate::drivers::Parent;
use crate::evidence::Ask;
use crate::tasks::{Fate, Way, way};

impl World {
    /// Lets the engine finish what it can do now, and looks at the result.
    pub(super) fn rest(&mut self) -> Outcome {
        self.drain()?;
        self.note_cancelling();
        checkers::quiet(&mut self.evidence)
    }

    pub(super) fn drain(&mut self) -> Outcome {
        for _ in 0..300 {
            let mut busy = false;
            if self.has_failed() {
                self.crash()?;
            }
            // Some of them ask until something else has happened.
            for _ in 0..500 {
                let any = self.deliver_post()?
                    || self.handle_function_message()?
                    || self.advance_drivers()?;
                if !any {
                    break;
                }
                busy = true;
            }
            while self.evidence.disk.waiting() > 0 {
                busy = true;
                self.evidence.disk.settle(usize::MAX);
                self.absorb()?;
            }
            for index in 0..self.evidence.shards.len() {
                self.tick(index)?;
                busy |= self.evidence.next_ms[index].is_some_and(|next| next <= self.engine_ms());
            }
            for index in 0..self.evidence.functions.engine.shard_count() {
                self.tick_functions(index)?;
                let next = self.evidence.functions.engine.next_ms[index];
                busy |= next.is_some_and(|next| next <= self.engine_ms());
            }
            let failed = self.has_failed()
                || !self.evidence.functions.engine.is_idle()
                || !self.drivers_are_idle();
            if !busy && !failed && self.evidence.disk.waiting() == 0 && self.post.is_empty() {
                return Ok(());
            }
        }
        let what = format!(
            "shards want a turn at {:?}, and it is {}",
            self.evidence.next_ms, self.evidence.now_ms
        );
        Err(Violation::boxed("the_engine_comes_to_rest", None, what))
    }

    pub(super) fn calm_down(&mut self) -> Outcome {
        self.calm = true;
        self.log.line(None, || "calm".to_owned());
        self.restore_functions();
        self.release()?;
        self.rest()?;
        for _ in 0..8000 {
            self.release()?;
            self.deliver_due()?;
            self.land_due_functions()?;
            self.drain()?;
            self.answer_open();
            self.answer_hanging();
            self.poll_for_all()?;
            self.answer_silent_destinations();
            let Some(step) = self.until_something() else { break };
            self.true_ms += step.max(0);
            self.set_clock();
        }
        self.rest()?;
        let functions = &self.evidence.functions.settings;
        let kept = self.evidence.settings.retention_ms.unwrap_or(0);
        let sweep_every_ms =
            self.evidence.settings.shards.sweep_every_ms.max(functions.shards.sweep_every_ms);
        {
            self.true_ms += kept.max(functions.retention_ms);
            for _ in 0..12 {
                self.true_ms += sweep_every_ms + 1;
                self.set_clock();
                self.rest()?;
            }
        }
        Ok(())
    }

    pub(super) fn deliver_due(&mut self) -> Outcome {
        while let Some(index) = self.flights.iter().position(|(due, _)| *due <= self.true_ms) {
            let (_, request) = self.flights.remove(index);
            self.hand_over(request)?;
        }
        Ok(())
    }

    /// What was not going to be answered is, but for some that may wait for ever.
    pub(super) fn answer_open(&mut self) {
        let quiet: Vec<(ExecutionId, Attempt, Way)> = self
            .evidence
            .witness
            .tried
            .iter()
            .filter(|(_, tried)| tried.flying == 0 && !tried.held)
            .filter(|(key, tried)| {
                way(&tried.job) != Way::Driven && !self.evidence.drivers.offered.contains(*key)
            })
            // Whether what is not stored is open is known only by what was said of it.
            .filter(|((id, _), tried)| {
                let unsaid = tried.answers.iter().all(|given| given.fate == Fate::Open);
                !self.evidence.is_express(*id) || (unsaid && !tried.cancelled)
            })
            .filter(|((id, attempt), _)| self.is_open(*id, *attempt))
            .map(|((id, attempt), tried)| (*id, *attempt, way(&tried.job)))
            .collect();
        for (id, attempt, way) in quiet {
            let forever = !self.limits(id, attempt).0;
            // Parents wait for their children, so those are not held up.
            let subject = self.evidence.subject(id);
            let alone = subject.is_some_and(|subject| subject.parent == Parent::Client);
            let holds = way != Way::Call && forever && alone && self.dice.percent(30);
            if holds && let Some(tried) = self.evidence.witness.of(id, attempt) {
                tried.held = true;
                continue;
            }
            if let Some(subject) = self.evidence.subjects.iter().position(|known| known.id == id) {
                self.plan_result(subject, attempt);
            }
        }
    }

    pub(super) fn is_open(&self, id: ExecutionId, attempt: Attempt) -> bool {
        match self.evidence.ledger.last(id) {
            Some(life) => life.is_there() && life.execution.awaits(attempt),
            None => self.express_runs(id),
        }
    }

    pub(super) fn express_runs(&self, id: ExecutionId) -> bool {
        let driven = self.evidence.drivers.express.contains(&id);
        driven
            || self.evidence.is_express(id)
                && self.evidence.outstanding.values().any(|request| {
                    matches!(request.ask, Ask::Watch)
                        && self.evidence.subjects[request.subject].id == id
                })
    }

    /// How long until something can happen.
    pub(super) fn until_something(&self) -> Option<i64> {
        let flights = self.flights.iter().map(|(due, _)| due - self.true_ms);
        let lives = self.evidence.ledger.present();
        let due = lives.filter_map(|life| life.execution.next_due_ms());
        let due = due.map(|due| due - self.evidence.now_ms).filter(|step| *step > 0);
        // Heartbeats, turns and what is not stored are known to the engine alone.
        let express = self.evidence.subjects.iter().any(|subject| self.express_runs(subject.id));
        let hidden = express
            || self
                .evidence
                .ledger
                .present()
                .any(|life| life.execution.has_heartbeats() || life.execution.is_ready());
        let next = self.evidence.next_ms.iter().flatten().filter(|_| hidden);
        let next = next.map(|next| next - self.evidence.now_ms);
        let executions = flights.chain(due).min().or(next.min()).map(|step| step.max(1));
        let others = self.until_functions().into_iter().chain(self.until_drivers());
        executions.into_iter().chain(others).min()
    }
}
