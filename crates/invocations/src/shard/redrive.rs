//! Dead letters that are sent back, or thrown away.

use everstep_store::{Batch, Space};

use super::Shard;
use super::accept::{given, later};
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::InvocationId;
use crate::invocation::{Event, Input, Invocation, Source, SourceKind, decide};
use crate::layout::{self, Order, Part};
use crate::message::{Reply, Resend};
use crate::session::Session;

impl Shard {
    /// One batch ends the letter and begins the invocation: whenever the engine dies, it is one or the
    /// other.
    pub(super) fn redrive(
        &mut self,
        id: InvocationId,
        redrive: Resend,
        reply: Reply<InvocationId>,
        now_ms: i64,
    ) {
        let (mut letter, reply) = match self.letter(id, now_ms) {
            Ok(letter) => (letter, reply),
            Err(error) => return reply(Err(error)),
        };
        let into = InvocationId::of_redrive(id, letter.invocation.accepted_ms);
        let events = decide(&letter.invocation, &Input::Redrive { into }, now_ms, 0.0);
        let begun = events.map_err(|_| Error::WrongState).and_then(|events| {
            let mut batch = Batch::new(self.shard);
            let slot = self.resent(&mut letter, into, redrive, now_ms, &mut batch)?;
            Ok((events, batch, slot))
        });
        match begun {
            Err(error) => {
                self.follow(letter.ticket, vec![AfterCommit::reply(reply, Err(error))]);
                self.put_back(letter);
            }
            Ok((events, mut batch, mut slot)) => {
                let before = letter.change(&events);
                self.rows(&mut letter, &before, &mut batch, now_ms);
                let before = slot.change(&[]);
                let after = vec![AfterCommit::reply(reply, Ok(into))];
                self.write(&mut slot, &before, batch, after, now_ms);
                letter.ticket = slot.ticket;
                self.put_back(letter);
                self.ready_if_due(slot, now_ms);
            }
        }
    }

    fn letter(&mut self, id: InvocationId, now_ms: i64) -> Result<Box<Slot>> {
        self.take(id, now_ms)?.ok_or(Error::NotFound)
    }

    fn resent(
        &self,
        letter: &mut Slot,
        into: InvocationId,
        redrive: Resend,
        now_ms: i64,
        batch: &mut Batch,
    ) -> Result<Box<Slot>> {
        let Resend { latest, payload, not_before_ms } = redrive;
        let payload = match payload {
            Some(payload) => payload.into(),
            None => letter.payload(&self.shared, self.shard)?,
        };
        let mut invocation = again(&letter.invocation, into, now_ms);
        if latest {
            let name = &invocation.function;
            let function = self.shared.functions.function(name);
            let function = function.ok_or_else(|| Error::NoSuchFunction(name.clone()))?;
            invocation.version = function.version.clone();
            invocation.terms = function.terms.clone();
            invocation.expires_ms = function.event_age_max_ms.map(|age_ms| later(now_ms, age_ms));
        }
        if let Some(due_ms) = not_before_ms.filter(|due_ms| *due_ms > now_ms) {
            // It does not grow old while it is held back.
            let held_ms = due_ms - now_ms;
            invocation.expires_ms =
                invocation.expires_ms.map(|at_ms| at_ms.saturating_add(held_ms));
            invocation.apply(&Event::WaitScheduled { due_ms });
        }
        if !invocation.terms.next.is_empty() {
            invocation.session = Some(into);
            let row = Session::begun(into, &invocation.function, now_ms).encoded();
            batch.put(Space::Invocations, layout::part(into, Part::Session), row);
        }
        Ok(given(invocation, payload, batch))
    }

    pub(super) fn purge(
        &mut self,
        id: InvocationId,
        undelivered: bool,
        reply: Reply<()>,
        now_ms: i64,
    ) {
        match self.letter(id, now_ms) {
            Ok(slot) if slot.invocation.dead && (undelivered || slot.invocation.is_routed()) => {
                let ended_ms = slot.invocation.ended_ms.unwrap_or(now_ms);
                let key = layout::at(Order::Dead, ended_ms, id);
                self.remove(slot, key, vec![AfterCommit::reply(reply, Ok(()))]);
            }
            Ok(slot) => {
                self.follow(slot.ticket, vec![AfterCommit::reply(reply, Err(Error::WrongState))]);
                self.put_back(slot);
            }
            Err(error) => reply(Err(error)),
        }
    }

    /// Removes an invocation, and its place in the order of those that can be removed.
    pub(super) fn remove(&mut self, mut slot: Box<Slot>, place: Vec<u8>, after: Vec<AfterCommit>) {
        let mut batch = Batch::new(self.shard);
        let Invocation { id, accepted_ms, .. } = slot.invocation;
        self.quarantine.forget(id, &mut batch);
        for part in [Part::Record, Part::Payload, Part::Response] {
            batch.remove(Space::Invocations, layout::part(id, part));
        }
        batch.remove(Space::InvocationOrders, layout::at(Order::Accepted, accepted_ms, id));
        batch.remove(Space::InvocationOrders, place);
        for index in std::mem::take(&mut slot.invocation.undelivered) {
            let key = layout::delivery(slot.invocation.recipient(index), id, index);
            batch.remove(Space::InvocationOrders, key);
            self.outbox.remove((id, index));
        }
        slot.gone = true;
        slot.ticket = self.commit(batch, after);
        self.put_back(slot);
    }
}

/// The invocation that a dead letter becomes: the same event with a fresh budget.
fn again(letter: &Invocation, into: InvocationId, now_ms: i64) -> Invocation {
    let named = (letter.function.clone(), letter.version.clone());
    let source = Source::new(SourceKind::Redrive, letter.id.to_string());
    let mut invocation = Invocation::accepted(into, named, source, letter.terms.clone(), now_ms);
    let age_ms = letter.expires_ms.map(|expires_ms| expires_ms.saturating_sub(letter.accepted_ms));
    invocation.expires_ms = age_ms.map(|age_ms| now_ms.saturating_add(age_ms));
    invocation.redriven_from = Some(letter.id);
    invocation
}
