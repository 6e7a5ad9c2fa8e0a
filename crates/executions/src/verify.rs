//! Whether all that is stored of executions can be read, and belongs together.

use std::sync::Arc;

use everstep_interpreter::Execution;
use everstep_shards::{Damage, Damaged, visit_rows};
use everstep_store::{Shard, Space, Store};

use crate::error::Result;
use crate::id::ExecutionId;
use crate::layout::{self, OutboxKey, Position};
use crate::reader::Reader;
use crate::shard::load::Steps;
use crate::summary::{Standing, Summary};
use crate::work::guarded;

/// What was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    pub executions: u64,
    /// Executions whose removal has begun: the next engine removes the rest.
    pub in_removal: u64,
    pub steps: u64,
    /// Rows of lists, of what is to be woken, and of what is to be done outside.
    pub entries: u64,
}

/// Reads all executions of a store, folds their journals, and looks whether every row belongs to one.
pub fn verify(store: &Arc<dyn Store>, damaged: Damaged<'_>) -> Verified {
    let verifier = Verifier { reader: Reader::new(store.clone()), store: &**store };
    let mut verified = Verified::default();
    for number in 0..store.shards() {
        verifier.executions(Shard(number), &mut verified, damaged);
        verifier.journal(Shard(number), &mut verified, damaged);
        for space in [Space::Lists, Space::Wakes, Space::Closed, Space::Outbox] {
            verified.entries += verifier.entries((Shard(number), space), damaged);
        }
    }
    verified
}

struct Verifier<'s> {
    reader: Reader,
    store: &'s dyn Store,
}

impl Verifier<'_> {
    fn executions(&self, shard: Shard, verified: &mut Verified, damaged: Damaged<'_>) {
        let place = (shard, Space::Executions);
        visit_rows(self.store, place, damaged, &mut |(key, row), damaged| {
            verified.executions += 1;
            match Summary::decode(&row) {
                Ok(summary) if layout::execution(summary.id()) != key => {
                    damaged(Damage::new(summary.arn, "its row is that of another execution"));
                }
                Ok(summary) => match guarded(|| self.fold(shard, &summary)) {
                    Ok(Ok(status)) if status == summary.standing => {}
                    // Its last steps are gone already.
                    Ok(Ok(Standing::Running)) => verified.in_removal += 1,
                    Ok(Ok(status)) => {
                        let what =
                            format!("its row says {:?}, its journal {status:?}", summary.standing);
                        damaged(Damage::new(summary.arn, what));
                    }
                    Ok(Err(error)) => damaged(Damage::new(summary.arn, error.to_string())),
                    Err(panicked) => {
                        let what = format!("folding its journal panicked: {}", panicked.message);
                        damaged(Damage::new(summary.arn, what));
                    }
                },
                Err(error) => damaged(Damage::of_row(place, &key, error.to_string())),
            }
        });
    }

    /// How an execution stands, by its journal.
    fn fold(&self, shard: Shard, summary: &Summary) -> Result<Standing> {
        let prepared = self.reader.prepared(summary)?;
        let identity = prepared.identity(&summary.arn);
        let mut execution = Execution::new(prepared.program.clone(), identity);
        let mut steps = Steps::of(summary);
        while !steps.is_over() {
            for event in steps.next(self.store, shard)?.iter().flatten() {
                execution.apply(event);
            }
        }
        Ok(Standing::of(execution.status()))
    }

    /// Every step belongs to an execution. That they can be read, folding them has shown.
    fn journal(&self, shard: Shard, verified: &mut Verified, damaged: Damaged<'_>) {
        let place = (shard, Space::Journal);
        let mut last = None;
        verified.steps += visit_rows(self.store, place, damaged, &mut |(key, _), damaged| {
            let owner = key.get(..24).map(<[u8]>::to_vec);
            if owner == last {
                return;
            }
            let found = owner.as_deref().is_some_and(|owner| self.has_steps(shard, owner));
            if !found {
                damaged(Damage::of_row(place, &key, "these steps belong to no execution"));
            }
            last = owner;
        });
    }

    fn has_steps(&self, shard: Shard, owner: &[u8]) -> bool {
        let id = owner.get(8..).and_then(ExecutionId::from_bytes);
        let summary = id.and_then(|id| self.summary(shard, id));
        summary.is_some_and(|summary| layout::steps(summary.started_ms, summary.id()) == owner)
    }

    fn summary(&self, shard: Shard, id: ExecutionId) -> Option<Summary> {
        let row = self.store.get(shard, Space::Executions, &layout::execution(id)).ok()??;
        Summary::decode(&row).ok()
    }

    fn entries(&self, place: (Shard, Space), damaged: Damaged<'_>) -> u64 {
        visit_rows(self.store, place, damaged, &mut |(key, _), damaged| {
            let owner = match place.1 {
                Space::Lists => {
                    Owner::of(key.get(9..).and_then(Position::from_bytes).and_then(|at| at.id()))
                }
                Space::Wakes if key.first() == Some(&layout::FAR) => {
                    Owner::of(everstep_shards::keys::parse_at(&key).map(|(_, id)| id))
                }
                Space::Wakes => Owner::of(layout::parse_near(&key)),
                Space::Closed => Owner::of(layout::parse_closed(&key).map(|(_, id)| id)),
                _ => match layout::parse_outbox(&key) {
                    // It may be removed before what it has cancelled is confirmed.
                    Some(OutboxKey::Cancel { .. }) => Owner::Nobody,
                    Some(OutboxKey::Notify(id)) => Owner::Execution(id.execution),
                    None => Owner::Unreadable,
                },
            };
            let what = match owner {
                Owner::Nobody => return,
                Owner::Unreadable => "its key cannot be read",
                Owner::Execution(id) if self.summary(place.0, id).is_some() => return,
                Owner::Execution(_) => "it belongs to no execution",
            };
            damaged(Damage::of_row(place, &key, what));
        })
    }
}

enum Owner {
    Nobody,
    Unreadable,
    Execution(ExecutionId),
}

impl Owner {
    fn of(id: Option<ExecutionId>) -> Self {
        id.map_or(Self::Unreadable, Self::Execution)
    }
}
