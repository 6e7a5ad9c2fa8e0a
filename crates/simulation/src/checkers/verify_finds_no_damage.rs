//! When all is durable and at rest, every row can be read and belongs to something: `everstep store verify` finds nothing.

use std::sync::Arc;

use everstep_store::Store;

use super::{Checker, Verdict};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "verify_finds_no_damage"
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        let store: Arc<dyn Store> = evidence.disk.clone();
        let mut first = None;
        let mut damaged = |damage: everstep_shards::Damage| {
            first.get_or_insert(damage);
        };
        everstep_executions::verify(&store, &mut damaged);
        everstep_invocations::verify(&*store, &mut damaged);
        first.map_or(Ok(()), |damage| Err((None, damage.to_string())))
    }
}
