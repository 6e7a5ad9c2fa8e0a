//! One step: decide, write down, and only then act.

use everstep_history::{Event, Failure};
use everstep_interpreter::{Effect, Input, effects};
use everstep_shards::Effect as _;
use everstep_store::{Batch, Space};

use super::Shard;
use super::slot::Slot;
use super::wake::Wake;
use crate::after_commit::AfterCommit;
use crate::layout::{self, Position};
use crate::message::Message;
use crate::notification::{Ending, Notification};
use crate::revision::Prepared;
use crate::summary::{Standing, Summary};
use crate::task::{Job, Task};
use crate::work::{Decision, decide};

impl Shard {
    /// Lets an execution decide on inputs, all in one step; `after` and what the step asks for follow
    /// when it is durable. The execution goes back into memory, unless that takes long: then it does so later.
    pub(super) fn step(
        &mut self,
        slot: Box<Slot>,
        inputs: impl IntoIterator<Item = Input>,
        now_ms: i64,
        after: Vec<AfterCommit>,
    ) {
        self.begin_work(&slot);
        let inputs: Vec<_> = inputs.into_iter().map(|input| (input, self.draw())).collect();
        if inputs.iter().any(|(input, _)| self.takes_long(&slot, input)) {
            return self.lend(slot, inputs, now_ms, after);
        }
        let (id, prepared, turn) = (slot.id, slot.prepared.clone(), self.turn(&slot));
        let missing = self.missing_activities(&prepared);
        match decide(slot, inputs, now_ms, &missing, &turn) {
            Ok(decision) => {
                let slot = self.write(decision, now_ms, after);
                self.put_back(slot, now_ms);
            }
            Err(panicked) => self.panicked(id, panicked, after, now_ms),
        }
    }

    /// Writes down what an execution has decided, and what follows from it.
    pub(super) fn write(
        &mut self,
        decision: Decision,
        now_ms: i64,
        mut after: Vec<AfterCommit>,
    ) -> Box<Slot> {
        let Decision { mut slot, events, record } = decision;
        if slot.is_unfinished && !slot.is_continuing {
            slot.is_continuing = true;
            slot.next_turn_ms = self.shared.pace.after(record.len(), now_ms);
            after.push(AfterCommit::Post(Message::Continue { id: slot.id }));
        }
        if events.is_empty() {
            self.follow(slot.ticket, after);
            return slot;
        }
        let was = Shown::of(&slot);
        slot.note(&events);
        self.ask_for(&slot, &events, &mut after);
        after.extend(self.notification(&slot, &events).map(AfterCommit::Notify));
        if !slot.is_running() {
            let ended = slot.ended();
            let watchers = std::mem::take(&mut slot.watchers);
            let answer = |reply| AfterCommit::reply(reply, Ok(ended.clone()));
            after.extend(watchers.into_iter().map(answer));
        }
        if self.shared.observer.wants_steps(&slot.prepared) {
            after.insert(0, slot.observed(&events));
        }
        self.record(&mut slot, was, record, after);
        slot
    }

    pub(super) fn missing_activities<'p>(&self, prepared: &'p Prepared) -> Vec<&'p str> {
        let named = prepared.activities.iter().map(String::as_str);
        named.filter(|arn| self.shared.runner.lacks_activity(arn)).collect()
    }

    /// What the events ask the shared for.
    fn ask_for(&self, slot: &Slot, events: &[Event], after: &mut Vec<AfterCommit>) {
        let mut cancelled = Vec::new();
        for effect in effects(&slot.execution, events) {
            match effect {
                Effect::CancelTask { attempt } => cancelled.push(attempt),
                effect => after.extend(self.task(slot, effect, false).map(AfterCommit::Dispatch)),
            }
        }
        if !cancelled.is_empty() {
            let arn = slot.execution.identity().execution_arn.clone();
            let (id, sequence, attempts) = (slot.id, slot.sequence, cancelled);
            after.push(AfterCommit::Cancel { id, arn, attempts, sequence });
        }
    }

    /// The notification, if the execution has failed and its machine names a destination.
    fn notification(&self, slot: &Slot, events: &[Event]) -> Option<Box<Notification>> {
        if !slot.is_durable() {
            return None;
        }
        let target = slot.prepared.revision.on_failure.clone()?;
        let failure = events.iter().rev().find_map(|event| failure(slot, event))?;
        let text = |said: &Option<_>| said.as_ref().map(ToString::to_string);
        let Summary { standing, started_ms, redrives, redriven_ms, .. } = slot.summary;
        Some(Box::new(Notification {
            execution: slot.id,
            execution_arn: slot.execution.identity().execution_arn.clone(),
            started_ms,
            sequence: slot.sequence,
            ending: Ending {
                target,
                standing,
                stopped_ms: slot.summary.stopped_ms.unwrap_or_default(),
                redrives,
                redriven_ms,
                error: text(&failure.error),
                cause: text(&failure.cause),
            },
            mailbox: self.shared.mailbox.clone(),
        }))
    }

    /// The task that an effect asks for, if it asks for one.
    pub(super) fn task(&self, slot: &Slot, effect: Effect, again: bool) -> Option<Box<Task>> {
        let (attempt, state, job) = match effect {
            Effect::ScheduleTask { attempt, state, resource, parameters, credentials } => {
                (attempt, state, Job::Call { resource, parameters, credentials })
            }
            Effect::StartMapRun { attempt, state, frame, plan } => {
                (attempt, state, Job::MapRun { frame, plan })
            }
            _ => return None,
        };
        Some(Box::new(Task {
            execution: slot.id,
            execution_arn: slot.execution.identity().execution_arn.clone(),
            attempt,
            state,
            job,
            again,
            started_ms: slot.execution.handed_out_ms(attempt),
            mailbox: self.shared.mailbox.clone(),
        }))
    }

    /// Writes a step down.
    fn record(&mut self, slot: &mut Slot, was: Shown, record: Vec<u8>, after: Vec<AfterCommit>) {
        if !slot.is_durable() {
            after.into_iter().for_each(|action| action.run(&self.shared));
            return;
        }
        let mut batch = Batch::new(self.shard);
        let step = layout::step(slot.summary.started_ms, slot.id, slot.sequence);
        batch.put(Space::Journal, step, record);
        slot.show(was, &mut batch);
        self.completes_a_step(slot, &mut batch);
        let wanted = Wake::wanted(slot, &self.timers);
        slot.wake = slot.wake.change(wanted, slot.id, &mut batch);
        for action in &after {
            match action {
                AfterCommit::Cancel { id, attempts, sequence, .. } => {
                    let row = super::outbox::encode(attempts);
                    batch.put(Space::Outbox, layout::outbox(*id, *sequence), row);
                }
                AfterCommit::Notify(failed) => {
                    let key = layout::notification(failed.key());
                    batch.put(Space::Outbox, key, failed.ending.encoded());
                }
                _ => {}
            }
        }
        slot.sequence += 1;
        slot.ticket = self.commit(batch, after);
    }

    /// Hands a batch over; `after` follows when it is durable. Returns its ticket.
    pub(super) fn commit(&mut self, batch: Batch, after: Vec<AfterCommit>) -> u64 {
        self.ledger.commit(batch, after)
    }

    /// What depends on commits that have been made already, the last of them `ticket`.
    pub(super) fn follow(&mut self, ticket: u64, after: Vec<AfterCommit>) {
        self.ledger.follow(ticket, after);
    }
}

impl Slot {
    /// The step, for the observer.
    fn observed(&self, events: &[Event]) -> AfterCommit {
        AfterCommit::Observe(Box::new(crate::observer::Step {
            execution: self.id,
            execution_arn: self.execution.identity().execution_arn.clone(),
            prepared: self.prepared.clone(),
            sequence: self.sequence,
            events: events.to_vec(),
        }))
    }

    /// Keeps the summary true.
    fn note(&mut self, events: &[Event]) {
        self.summary.standing = Standing::of(self.execution.status());
        let last_ms = events.last().filter(|_| !self.is_running()).map(Event::at_ms);
        self.summary.stopped_ms = last_ms;
        let shown_events = self.execution.shown_events();
        self.summary.shown_events = (!self.is_running()).then_some(shown_events);
        for event in events {
            if let Event::ExecutionRedriven { at_ms, count } = event {
                self.summary.redrives = *count;
                self.summary.redriven_ms = Some(*at_ms);
            }
        }
    }

    /// Writes what lists show, where it has changed.
    fn show(&self, was: Shown, batch: &mut Batch) {
        let Self { id, summary, .. } = self;
        let at = Position::new(summary.started_ms, *id);
        if let Shown::As { standing, stopped_ms, redrives } = was {
            // A redrive may fail again within its own step.
            if (standing, redrives) == (summary.standing, summary.redrives) {
                return;
            }
            for list in &summary.lists {
                batch.remove(Space::Lists, layout::listed(*list, standing, at));
            }
            if let Some(stopped_ms) = stopped_ms {
                batch.remove(Space::Closed, layout::closed(stopped_ms, *id));
            }
        }
        for list in &summary.lists {
            batch.put(Space::Lists, layout::listed(*list, summary.standing, at), Vec::new());
        }
        if let Some(stopped_ms) = summary.stopped_ms {
            batch.put(Space::Closed, layout::closed(stopped_ms, *id), Vec::new());
        }
        batch.put(Space::Executions, layout::execution(*id), summary.encoded());
    }
}

/// The failure that an event ends an execution with.
fn failure(slot: &Slot, event: &Event) -> Option<Failure> {
    match event {
        Event::ExecutionFailed { failure, .. } | Event::ExecutionAborted { failure, .. } => {
            Some(failure.clone())
        }
        Event::ExecutionTimedOut { .. } => Some(slot.execution.program().shown_timeout()),
        _ => None,
    }
}

/// What lists show of an execution before a step.
enum Shown {
    NotYet,
    As { standing: Standing, stopped_ms: Option<i64>, redrives: u32 },
}

impl Shown {
    fn of(slot: &Slot) -> Self {
        if slot.sequence == 0 {
            return Self::NotYet;
        }
        let Summary { standing, stopped_ms, redrives, .. } = slot.summary;
        Self::As { standing, stopped_ms, redrives }
    }
}
