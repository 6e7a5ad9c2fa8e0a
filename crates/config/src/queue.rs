//! `queues`: names, and how long messages are hidden, kept and redelivered.

use std::ops::RangeInclusive;

use everstep_source::duration;

use crate::model::{PoisonQueue, Queue};
use crate::reader::{Field, Fields, Setting as _};
use crate::rule::Rule;
use crate::target::Names;

const SECOND: u64 = 1000;
const DAY: u64 = 24 * 60 * 60 * SECOND;

pub(crate) fn queue(entry: &Field<'_>, names: &Names) -> Option<Queue> {
    let name = &*entry.name;
    let fields = entry.settings(format!("queue `{name}`"))?;
    let time = |name, bounds| fields.get(name).and_then(|field| within(&field, bounds));
    let mut queue = Queue {
        visibility_timeout_ms: time("visibilityTimeout", 0..=12 * 60 * 60 * SECOND),
        retention_ms: time("retention", 60 * SECOND..=14 * DAY),
        delay_ms: time("delay", 0..=15 * 60 * SECOND),
        receive_wait_ms: time("receiveWait", 0..=20 * SECOND),
        max_message_bytes: fields
            .get("maxMessageSize")
            .and_then(|field| field.integer(1024..=1 << 20)),
        poison: poison(&fields, entry, names),
        ..Queue::new(name, entry.line())
    };
    read_fifo(&fields, &mut queue);
    fields.finish_plain();
    Some(queue)
}

fn within(field: &Field<'_>, bounds: RangeInclusive<u64>) -> Option<u64> {
    let ms = field.duration()?;
    if bounds.contains(&ms) {
        return Some(ms);
    }
    let (least, most) = (duration::exact(*bounds.start()), duration::exact(*bounds.end()));
    let message = format!("`{}` must be from {least} to {most}", field.name);
    field.cx.report(field.report(Rule::OutOfRange, message));
    None
}

fn read_fifo(fields: &Fields<'_>, queue: &mut Queue) {
    let scopes = [("queue", false), ("messageGroup", true)];
    let content = fields.get("contentBasedDeduplication");
    let scope = fields.get("deduplicationScope");
    if !queue.is_fifo() {
        for field in content.iter().chain(&scope) {
            let message = format!("`{}` is for FIFO queues", field.name);
            let found = field.at_name(Rule::MisplacedField, message);
            field.cx.report(found.hint(format!("name the queue `{}.fifo`", queue.name)));
        }
        return;
    }
    queue.content_based_deduplication = content.and_then(|field| field.boolean()).unwrap_or(false);
    queue.deduplicates_by_group = scope.and_then(|field| field.word(&scopes)).unwrap_or(false);
}

/// Where messages go that were received too often: `<name>-poison`, unless another one is named.
fn poison(fields: &Fields<'_>, entry: &Field<'_>, names: &Names) -> Option<PoisonQueue> {
    let most = fields.get("maxDeliveries");
    let named = fields.get("poisonQueue");
    let Some(most) = most else {
        if let Some(named) = named {
            let found = named.at_name(Rule::RequiredField, "`poisonQueue` needs `maxDeliveries`");
            let hint =
                "it says how often a message is received before it goes there: maxDeliveries: 5";
            named.cx.report(found.hint(hint));
        }
        return None;
    };
    let max_deliveries = most.integer(1..=1000)?;
    let name = match named {
        Some(named) => {
            let name = named.plain()?.to_owned();
            check_poison(&named, &entry.name, &name).then_some(name)?
        }
        None => poison_name(&entry.name).or_else(|| {
            let message = format!("`{}` has no poison queue of its own", entry.name);
            let found = most.at_name(Rule::InvalidName, message);
            most.cx.report(found.hint("name one with `poisonQueue`"));
            None
        })?,
    };
    names.bring_queue(&name);
    names.poison.add(&entry.name, &name, &most);
    Some(PoisonQueue { name, max_deliveries })
}

fn check_poison(field: &Field<'_>, queue: &str, name: &str) -> bool {
    let message = if name == queue {
        format!("`{name}` cannot be its own poison queue")
    } else if !Names::is_queue_name(name) {
        format!("`{name}` cannot be the name of a queue")
    } else if name.ends_with(".fifo") != queue.ends_with(".fifo") {
        format!("the poison queue of `{queue}` must be of the same kind: both FIFO, or neither")
    } else {
        return true;
    };
    field.cx.report(field.report(Rule::InvalidName, message));
    false
}

/// None for queues that are poison queues themselves, and for names that leave no room.
fn poison_name(queue: &str) -> Option<String> {
    let (plain, ending) = match queue.strip_suffix(".fifo") {
        Some(plain) => (plain, ".fifo"),
        None => (queue, ""),
    };
    let name = format!("{plain}-poison{ending}");
    (!plain.ends_with("-poison") && Names::is_queue_name(&name)).then_some(name)
}
