//! Invocations that are not continued, because they have ended the engine: see [`Quarantine`].
//!
//! They stay in the store as they are, and can be shown, cancelled and released.

use everstep_shards::Quarantine;
use everstep_store::{Batch, Shard as StoreShard, Space};

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::{InvocationId, KIND};
use crate::layout::{self, Part};
use crate::message::{Message, Reply};
use crate::shared::Shared;

/// What a shard knows of failures, and what it need not know any more.
pub(super) fn read(
    shared: &Shared,
    shard: StoreShard,
    now_ms: i64,
) -> Result<(Quarantine<InvocationId>, Batch)> {
    let store = &*shared.store;
    let is_stored = |id| {
        let key = layout::part(id, Part::Record);
        Ok(store.get(shard, Space::Invocations, &key)?.is_some())
    };
    let register = shared.quarantine.clone();
    Ok(Quarantine::open(store, shard, KIND, register, now_ms, is_stored)?)
}

impl Shard {
    /// Names all who are quarantined, once for each start.
    pub(super) fn open_quarantine(&mut self, forgotten: Batch) {
        if !forgotten.is_empty() {
            self.commit(forgotten, Vec::new());
        }
        for (id, held) in self.quarantine.held() {
            self.shared.observer.quarantined(id, &held.why);
        }
    }

    /// Refuses what is for an invocation in quarantine. Should the engine die after that, the invocation may be why.
    pub(super) fn pass_quarantine(&self, message: Message) -> Option<Message> {
        let id = message.id();
        match self.quarantine.holds(id) {
            Some(held) if !message.reaches_quarantined() => {
                message.refuse(Error::Quarantined(held.why.clone()));
                return None;
            }
            // Nothing of a call is stored.
            _ if matches!(message, Message::Call { .. }) => {}
            _ => self.begin_work(id),
        }
        Some(message)
    }

    /// Whether the shard may look at an invocation by itself.
    pub(super) fn may_work_on(&self, id: InvocationId) -> bool {
        let may = self.quarantine.holds(id).is_none();
        if may {
            self.begin_work(id);
        }
        may
    }

    fn begin_work(&self, id: InvocationId) {
        self.shared.settings.shards.in_flight.begin(id.subject());
    }

    /// Lets an invocation in quarantine continue, as after a start.
    pub(super) fn release(&mut self, id: InvocationId, reply: Reply<bool>, now_ms: i64) {
        let mut batch = Batch::new(self.shard);
        let was_held = self.quarantine.forget(id, &mut batch);
        let answer = vec![AfterCommit::reply(reply, Ok(was_held))];
        if batch.is_empty() {
            return self.follow(self.ledger.last(), answer);
        }
        self.commit(batch, answer);
        let Some(slot) = self.take_or_strand(id, now_ms) else { return };
        for index in &slot.invocation.undelivered {
            self.shared.mailbox.post(Message::Deliver { id, index: *index });
        }
        self.ready_if_due(slot, now_ms);
    }
}
