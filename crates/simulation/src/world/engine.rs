//! Engines come and go: opening, turns, the disk, crashes.

use std::sync::Arc;

use everstep_executions::{ExecutionId, Message, Shard};
use everstep_shards::deaths;
use everstep_store::{Shard as StoreShard, Store as _};

use super::{HOUR_MS, MINUTE_MS, Outcome, World, prepare, runtime};
use crate::Fault;
use crate::checkers::{self, Violation};
use crate::disk;
use crate::evidence::Evidence;

impl World {
    pub(super) fn open(&mut self) -> Outcome {
        let seed = self.dice.draw();
        for number in 0..self.evidence.shard_count {
            let runtime = self.evidence.runtime.clone();
            let shard = Shard::open(StoreShard(number), runtime, seed, self.engine_ms())
                .map_err(|error| fold_violation(None, format!("shard {number}: {error}")))?;
            self.evidence.shards.push(shard);
        }
        self.evidence.next_ms = vec![Some(self.evidence.now_ms); self.evidence.shards.len()];
        self.open_functions()?;
        self.absorb()
    }

    pub(super) fn crash(&mut self) -> Outcome {
        self.tally.crashes += 1;
        checkers::before_crash(&mut self.evidence)?;
        self.evidence.shards.clear();
        self.functions_die();
        self.drivers_die();
        disk::crash(&self.evidence.disk, self.fault);
        let durable_to = self.evidence.durable_to();
        self.log.line(None, || format!("crash: what is left ends with batch {durable_to}"));
        self.lose_requests();
        self.true_ms +=
            if self.dice.percent(50) { 0 } else { self.dice.between(0, 20 * MINUTE_MS) };
        self.set_clock();
        self.reopen(durable_to)?;
        checkers::after_crash(&self.evidence)
    }

    pub(super) fn reopen(&mut self, durable_to: u64) -> Outcome {
        self.runner.take_unseen();
        self.functions_begin_again(durable_to);
        self.post = Arc::default();
        let evidence = &mut self.evidence;
        evidence.generation += 1;
        evidence.readings = [evidence.now_ms].into();
        evidence.runtime = runtime(&evidence.disk, &self.runner, &evidence.settings, &self.post);
        for machine in &mut evidence.machines {
            let revision = machine.prepared.revision.clone();
            machine.prepared = prepare(&evidence.runtime, revision);
        }
        let Evidence { ledger, subjects, machines, signs, now_ms, .. } = evidence;
        ledger.crash(durable_to, |id| {
            let subject = subjects.iter().find(|subject| subject.id == id)?;
            Some(&machines[subject.machine].prepared)
        });
        for life in ledger.present() {
            for (attempt, _) in life.execution.heartbeats() {
                signs.insert((life.id, attempt), *now_ms);
            }
        }
        self.blame()?;
        self.open()
    }

    /// An execution was being worked on when the engine died, often the same as last time.
    fn blame(&mut self) -> Outcome {
        self.evidence.deaths.asked.clear();
        if self.calm || !self.dice.percent(self.temper.culprits) {
            return Ok(());
        }
        let present: Vec<ExecutionId> =
            self.evidence.ledger.present().map(|life| life.id).collect();
        let again = self.culprit.filter(|id| present.contains(id) && self.dice.percent(80));
        let Some(id) = again.or_else(|| present.get(self.dice.below(present.len())).copied())
        else {
            return Ok(());
        };
        self.culprit = Some(id);
        self.log.line(Some(id.into()), || "it has ended the engine".to_owned());
        let disk = self.evidence.disk.clone();
        let batches = deaths(&*disk, &[id.subject()], self.evidence.now_ms)
            .map_err(|error| fold_violation(Some(id), error.to_string()))?;
        for batch in batches {
            disk.commit(batch, Box::new(|_| {}));
        }
        disk.settle(usize::MAX);
        let recorded = self.evidence.deaths.recorded.entry(id).or_default();
        recorded.push(self.evidence.disk.durable_to());
        Ok(())
    }

    /// Somebody looks into it, and lets it continue.
    pub(super) fn release(&mut self) -> Outcome {
        let held = self.evidence.reader().quarantined(usize::MAX).unwrap_or_default();
        for (summary, _) in held {
            let id = summary.id();
            self.evidence.deaths.asked.insert(id);
            let (sender, receiver) = std::sync::mpsc::channel();
            let reply = Box::new(move |answer| drop(sender.send(answer)));
            self.log.line(Some(id.into()), || "it is released".to_owned());
            self.handle(Message::Release { id, reply })?;
            self.evidence.disk.settle(usize::MAX);
            self.absorb()?;
            if matches!(receiver.try_recv(), Ok(Ok(true))) {
                let durable_to = self.evidence.durable_to();
                self.evidence.deaths.released.insert(id, durable_to);
            }
        }
        Ok(())
    }

    pub(super) fn tick(&mut self, index: usize) -> Outcome {
        let now = self.engine_ms();
        let (next, troubles) = self.evidence.shards[index].tick(now);
        let next = match self.fault {
            Some(Fault::LateTurns) => next.map(|next| next + HOUR_MS),
            Some(Fault::Restless) => Some(now),
            _ => next,
        };
        self.evidence.next_ms[index] = next;
        self.log.line(None, || format!("tick of shard {index}, next {next:?}"));
        if let Some((id, error)) = troubles.into_iter().next() {
            return Err(fold_violation(Some(id), format!("it cannot go on: {error}")));
        }
        self.absorb()?;
        if self.evidence.shards.iter().all(Shard::is_recovered) {
            self.recover_queues();
        }
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Outcome {
        if self.withheld > 0 {
            self.withheld -= 1;
            return Ok(());
        }
        let waiting = self.evidence.disk.waiting();
        let count = if self.dice.percent(50) { waiting } else { self.dice.below(waiting + 1) };
        self.evidence.disk.settle(count);
        self.log.line(None, || format!("{count} of {waiting} batches become durable"));
        self.absorb()
    }
}

pub(super) fn fold_violation(id: Option<ExecutionId>, what: String) -> Box<Violation> {
    Violation::boxed("recovery_is_a_fold", id.map(Into::into), what)
}
