//! Several events that are accepted in one commit, with the notes of who sends them.
//!
//! A trigger must not accept an event twice, nor forget that it has. So what it accepts and what it notes about that (how
//! far it has come, what is in flight) are rows of one batch. What notes say is not known here.

use everstep_store::{Batch, Scan, Shard, Space, Store, after_prefix};

use crate::error::Result;
use crate::id::HomeId;
use crate::message::Acceptance;

/// Events whose ids are all of [`crate::InvocationId::of_item`] with this home.
#[derive(Debug, Clone)]
pub struct Intake {
    pub home: HomeId,
    /// Each with what is noted if it is new.
    pub items: Vec<(Acceptance, Vec<Note>)>,
    /// What is noted in any case.
    pub notes: Vec<Note>,
}

/// A row beside the invocations of a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub key: Vec<u8>,
    /// None removes it.
    pub value: Option<Vec<u8>>,
}

impl Note {
    pub(crate) fn write(self, home: HomeId, batch: &mut Batch) {
        let key = [home.bytes().as_slice(), &self.key].concat();
        match self.value {
            Some(value) => batch.put(Space::Triggers, key, value),
            None => batch.remove(Space::Triggers, key),
        }
    }
}

/// All notes of a home, by their keys.
pub(crate) fn notes(store: &dyn Store, home: HomeId) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let from = home.bytes();
    let (shard, to) = (home_shard(store, home), after_prefix(from));
    let rows = store.scan(shard, Space::Triggers, Scan::between(from, &to, usize::MAX))?;
    Ok(rows.into_iter().map(|(key, value)| (key[from.len()..].to_vec(), value)).collect())
}

fn home_shard(store: &dyn Store, home: HomeId) -> Shard {
    home.shard(store.shards())
}
