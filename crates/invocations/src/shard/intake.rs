//! How several invocations begin in one commit.

use std::sync::Arc;

use everstep_store::Batch;

use super::Shard;
use super::accept::new_slot;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::function::FunctionSettings;
use crate::id::InvocationId;
use crate::intake::{Intake, Note};
use crate::message::{Acceptance, Accepted, Reply};

/// An event that is new, with what is noted about it.
struct New {
    acceptance: Acceptance,
    function: Arc<FunctionSettings>,
    notes: Vec<Note>,
}

impl Shard {
    /// All of it is stored, or nothing. What was accepted before is found again, and is not noted again.
    pub(super) fn accept_all(&mut self, intake: Intake, reply: Reply<Vec<Accepted>>, now_ms: i64) {
        let Intake { home, items, notes } = intake;
        let (new, accepted) = match self.sort_out(items, now_ms) {
            Ok(sorted) => sorted,
            Err(error) => return reply(Err(error)),
        };
        let mut batch = Batch::new(self.shard);
        let mut after = vec![AfterCommit::reply(reply, Ok(accepted))];
        let mut begun = Vec::new();
        for New { acceptance, function, notes } in new {
            self.sessions.remove(&acceptance.id);
            let end = self.end_at_once(&acceptance, now_ms);
            let mut slot = new_slot(acceptance, &function, now_ms, &mut batch);
            let before = slot.change(end.as_slice());
            self.add(&mut slot, &before, (&mut batch, &mut after), now_ms);
            notes.into_iter().for_each(|note| note.write(home, &mut batch));
            begun.push(slot);
        }
        notes.into_iter().for_each(|note| note.write(home, &mut batch));
        let ticket = self.commit(batch, after);
        for mut slot in begun {
            slot.ticket = ticket;
            self.ready_if_due(slot, now_ms);
        }
    }

    /// Those that are new, and what is answered about all.
    fn sort_out(
        &mut self,
        items: Vec<(Acceptance, Vec<Note>)>,
        now_ms: i64,
    ) -> Result<(Vec<New>, Vec<Accepted>)> {
        let (mut new, mut accepted): (Vec<New>, _) = (Vec::new(), Vec::new());
        for (acceptance, notes) in items {
            let id = acceptance.id;
            let twice = new.iter().any(|new| new.acceptance.id == id);
            let known = twice || self.is_known(id, now_ms)?;
            accepted.push(Accepted { id, known });
            if !known {
                let function = self.shared.functions.function(&acceptance.function);
                let missing = || Error::NoSuchFunction(acceptance.function.clone());
                let function = function.ok_or_else(missing)?;
                new.push(New { acceptance, function, notes });
            }
        }
        Ok((new, accepted))
    }

    fn is_known(&mut self, id: InvocationId, now_ms: i64) -> Result<bool> {
        let slot = self.take(id, now_ms)?;
        let known = slot.is_some();
        slot.into_iter().for_each(|slot| self.put_back(slot));
        Ok(known)
    }
}
