//! The queues of a configuration: created, or brought up to date. Queues that are not in it are left alone.

use std::collections::BTreeMap;

use everstep_config::model::Queue;
use everstep_queues::{Attributes, Creation, Fifo, RedrivePolicy};

use super::error::{Context as _, Result};
use crate::queues::Queues;

pub(super) async fn deploy(queues: &Queues, all: Vec<Queue>) -> Result<()> {
    for queue in all {
        let name = queue.name.clone();
        let set = Box::new(move |before| set(before, &queue));
        let creation = Creation { name: name.clone(), set, tags: BTreeMap::new(), update: true };
        let created = queues.ask(|engine, reply| engine.create(creation, reply)).await;
        created.context(format_args!("cannot create the queue '{name}'"))?;
    }
    Ok(())
}

/// What a configuration can say counts as it is said there, or as it usually is; the rest is left as it was.
fn set(before: Attributes, queue: &Queue) -> Attributes {
    let usual = Attributes::of(&queue.name);
    let or =
        |set: Option<u64>, usual: i64| set.map_or(usual, |ms| i64::try_from(ms).unwrap_or(usual));
    Attributes {
        visibility_ms: or(queue.visibility_timeout_ms, usual.visibility_ms),
        retention_ms: or(queue.retention_ms, usual.retention_ms),
        delay_ms: or(queue.delay_ms, usual.delay_ms),
        wait_ms: or(queue.receive_wait_ms, usual.wait_ms),
        bytes_max: queue.max_message_bytes.unwrap_or(usual.bytes_max),
        redrive: queue.poison.as_ref().map(|poison| RedrivePolicy {
            target: poison.name.clone(),
            receives_max: poison.max_deliveries,
        }),
        fifo: before.fifo.as_ref().map(|fifo| Fifo {
            content_based: queue.content_based_deduplication,
            by_group: queue.deduplicates_by_group,
            ..fifo.clone()
        }),
        ..before
    }
}
