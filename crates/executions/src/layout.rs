//! Where the runtime's rows are: the keys of each space. `docs/design/storage.md` says the same in
//! words.

use everstep_shards::Cursor;
use everstep_shards::keys::{self, ordered, parse_ordered};
use everstep_store::after_prefix;

use crate::id::{ExecutionId, ListId};
use crate::notification::NotificationId;
use crate::revision::RevisionId;
use crate::summary::Standing;

/// `Executions`: an execution → its summary.
pub(crate) fn execution(id: ExecutionId) -> Vec<u8> {
    id.bytes().to_vec()
}

/// `Journal`: a step of an execution → its record. Steps count from 0 without a gap.
///
/// Executions are in the order of their starts, so that what is new lies together and what is old is left
/// alone: a store that merges sorted files then merges little.
pub(crate) fn step(started_ms: i64, id: ExecutionId, sequence: u32) -> Vec<u8> {
    [steps(started_ms, id).as_slice(), &sequence.to_be_bytes()].concat()
}

/// What the keys of all steps of an execution begin with.
pub(crate) fn steps(started_ms: i64, id: ExecutionId) -> Vec<u8> {
    [ordered(started_ms).as_slice(), id.bytes()].concat()
}

/// `Outbox`: a step that must be followed by something outside → what.
pub(crate) fn outbox(id: ExecutionId, sequence: u32) -> Vec<u8> {
    [id.bytes().as_slice(), &sequence.to_be_bytes()].concat()
}

/// `Outbox`: a step that ended an execution, of which a destination must be notified → what. The start
/// distinguishes executions of one name.
pub(crate) fn notification(id: NotificationId) -> Vec<u8> {
    [outbox(id.execution, id.sequence).as_slice(), &ordered(id.started_ms)].concat()
}

/// Where notifications are to be read from.
pub(crate) fn outbox_from(cursor: &Cursor) -> Vec<u8> {
    match cursor {
        Cursor::Start => Vec::new(),
        Cursor::After(key) => [key.as_slice(), &[0]].concat(),
    }
}

/// What a row of the outbox is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutboxKey {
    Cancel { id: ExecutionId, sequence: u32 },
    Notify(NotificationId),
}

pub(crate) fn parse_outbox(key: &[u8]) -> Option<OutboxKey> {
    let (id, rest) = key.split_at_checked(16)?;
    let (sequence, started) = rest.split_at_checked(4)?;
    let id = ExecutionId::from_bytes(id)?;
    let sequence = u32::from_be_bytes(sequence.try_into().ok()?);
    Some(match started {
        [] => OutboxKey::Cancel { id, sequence },
        started => {
            let started_ms = parse_ordered(started)?;
            OutboxKey::Notify(NotificationId { execution: id, sequence, started_ms })
        }
    })
}

/// `Lists`: a list's executions of one status, latest first.
pub(crate) fn listed(list: ListId, standing: Standing, at: Position) -> Vec<u8> {
    [&list_prefix(list, standing), at.bytes().as_slice()].concat()
}

pub(crate) fn list_prefix(list: ListId, standing: Standing) -> Vec<u8> {
    [list.bytes().as_slice(), &[standing as u8]].concat()
}

/// A place in a list: latest start first, then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position([u8; 24]);

impl Position {
    pub(crate) fn new(started_ms: i64, id: ExecutionId) -> Self {
        let Self(mut bytes) = Self::first(started_ms);
        bytes[8..].copy_from_slice(id.bytes());
        Self(bytes)
    }

    /// Before all that were started then.
    pub(crate) fn first(started_ms: i64) -> Self {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&ordered(started_ms).map(|byte| !byte));
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 24] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn id(&self) -> Option<ExecutionId> {
        ExecutionId::from_bytes(&self.0[8..])
    }
}

const NEAR: u8 = 0;
pub(crate) const FAR: u8 = 1;

/// `Wakes`: an execution that a start of the engine must look at → when it is due, or nothing if that is
/// at once.
pub(crate) fn near(id: ExecutionId) -> Vec<u8> {
    [&[NEAR], id.bytes().as_slice()].concat()
}

pub(crate) fn near_all() -> (Vec<u8>, Vec<u8>) {
    (vec![NEAR], after_prefix(&[NEAR]))
}

pub(crate) fn parse_near(key: &[u8]) -> Option<ExecutionId> {
    ExecutionId::from_bytes(key.get(1..)?)
}

/// `Wakes`: executions that nobody needs to look at before they are due, in the order of time.
pub(crate) fn far(due_ms: i64, id: ExecutionId) -> Vec<u8> {
    keys::at(FAR, due_ms, id)
}

/// `Closed`: executions by the moment of their end.
pub(crate) fn closed(stopped_ms: i64, id: ExecutionId) -> Vec<u8> {
    [ordered(stopped_ms).as_slice(), id.bytes()].concat()
}

pub(crate) fn closed_before(at_ms: i64) -> Vec<u8> {
    ordered(at_ms).to_vec()
}

pub(crate) fn parse_closed(key: &[u8]) -> Option<(i64, ExecutionId)> {
    let (at, id) = key.split_at_checked(8)?;
    Some((parse_ordered(at)?, ExecutionId::from_bytes(id)?))
}

/// `Catalog`: a revision by its digest → its content.
pub(crate) fn revision(id: RevisionId) -> Vec<u8> {
    [b"revision/".as_slice(), id.bytes()].concat()
}

/// `Catalog`, in the shard of an execution: a note that is kept beside it.
pub(crate) fn note(id: ExecutionId, key: &[u8]) -> Vec<u8> {
    [b"note/".as_slice(), id.bytes(), key].concat()
}

/// `Catalog`, in each shard: its owner. Every commit expects to find itself there.
pub(crate) const OWNER: &[u8] = b"owner";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_what_they_name() {
        let id = ExecutionId::of("a");
        let moments = [i64::MIN, -1, 0, 1, 1_700_000_000_000, i64::MAX];
        assert!(moments.map(|at| far(at, id)).is_sorted());
        assert!(moments.map(|at| closed(at, id)).is_sorted());
        let latest_first = moments.map(|at| Position::new(at, id));
        assert!(latest_first.iter().rev().is_sorted());
        assert!([0, 1, 255, 256, u32::MAX].map(|sequence| step(5, id, sequence)).is_sorted());
        assert!(moments.map(|at| step(at, id, 3)).is_sorted());
    }

    #[test]
    fn keys_say_what_they_name() {
        let id = ExecutionId::of("a");
        let cancel = OutboxKey::Cancel { id, sequence: 7 };
        assert_eq!(parse_outbox(&outbox(id, 7)), Some(cancel));
        let failed = NotificationId { execution: id, sequence: 7, started_ms: -3 };
        assert_eq!(parse_outbox(&notification(failed)), Some(OutboxKey::Notify(failed)));
        assert_eq!(parse_near(&near(id)), Some(id));
        assert_eq!(keys::parse_at(&far(-5, id)), Some((-5, id)));
        assert_eq!(parse_closed(&closed(99, id)), Some((99, id)));
        assert_eq!(Position::new(3, id).id(), Some(id));
        assert_eq!(parse_outbox(b"short"), None);
    }
}
