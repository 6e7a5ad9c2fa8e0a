//! The sessions of a shard.

use everstep_store::{Batch, Space};

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::error::Result;
use crate::id::InvocationId;
use crate::layout::{self, Order, Part};
use crate::message::Reply;
use crate::session::{Session, StepEnd};

impl Shard {
    /// A step is over. It says so until that is confirmed, so it may have said it before.
    pub(super) fn step_ended(
        &mut self,
        id: InvocationId,
        end: StepEnd,
        reply: Reply<()>,
        now_ms: i64,
    ) {
        let (mut session, ticket) = match self.session(id) {
            Ok(Some(found)) => found,
            // The session has been over for so long that it was removed.
            Ok(None) => return reply(Ok(())),
            Err(error) => return reply(Err(error)),
        };
        let after = vec![AfterCommit::reply(reply, Ok(()))];
        if !session.take(end, self.shared.settings.session_steps_max, now_ms) {
            self.sessions.insert(id, (session, ticket));
            return self.follow(ticket, after);
        }
        let mut batch = Batch::new(self.shard);
        batch.put(Space::Invocations, layout::part(id, Part::Session), session.encoded());
        if let Some(ended_ms) = session.ended_ms {
            let key = layout::at(Order::Sessions, ended_ms, id);
            batch.put(Space::InvocationOrders, key, Vec::new());
        }
        let ticket = self.commit(batch, after);
        self.sessions.insert(id, (session, ticket));
    }

    pub(super) fn session(&self, id: InvocationId) -> Result<Option<(Session, u64)>> {
        if let Some(found) = self.sessions.get(&id) {
            return Ok(Some(found.clone()));
        }
        let key = layout::part(id, Part::Session);
        let row = self.shared.store.get(self.shard, Space::Invocations, &key)?;
        row.map(|row| Ok((Session::decode(&row)?, 0))).transpose()
    }
}
