//! Lists, page by page and status by status, show exactly the executions that are there; their rows are what
//! their journals say; and there is no row in any space that belongs to nothing.

use std::collections::BTreeSet;

use everstep_executions::{ExecutionId, Standing, Summary};
use everstep_history::Event;
use everstep_store::Space;

use super::{Checker, Verdict, ensure};
use crate::disk::Rows;
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "lists_agree"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        // What is half removed is in neither state.
        if evidence.ledger.all().any(|life| life.fading.is_some() && life.gone.is_none()) {
            return Ok(());
        }
        for standing in Standing::ALL.map(Some).into_iter().chain([None]) {
            check_lists(evidence, standing)?;
        }
        let rows = evidence.disk.durable();
        evidence.ledger.present().try_for_each(|life| check_rows(evidence, life, &rows))?;
        check_leaks(evidence, &rows)
    }
}

fn check_lists(evidence: &Evidence, standing: Option<Standing>) -> Verdict {
    for (number, machine) in evidence.machines.iter().enumerate() {
        let list = everstep_executions::ListId::of(&machine.arn);
        let (mut listed, mut from) = (Vec::new(), None);
        loop {
            let page = evidence.reader().list(list, standing, from, 2);
            let page = page.map_err(|error| (None, format!("a list cannot be read: {error}")))?;
            listed.extend(page.executions);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        let sorted = listed.is_sorted_by_key(|summary| -summary.started_ms);
        let shown: BTreeSet<ExecutionId> = listed.iter().map(Summary::id).collect();
        let expected: BTreeSet<ExecutionId> = evidence
            .ledger
            .present()
            .filter(|life| evidence.subject(life.id).is_some_and(|of| of.machine == number))
            .filter(|life| standing.is_none_or(|one| Standing::of(life.execution.status()) == one))
            .map(|life| life.id)
            .collect();
        if shown != expected || listed.len() != shown.len() || !sorted {
            let id = shown.symmetric_difference(&expected).next().copied();
            let what =
                format!("{standing:?}: listed {shown:?}, expected {expected:?}, sorted {sorted}");
            return Err((id.map(Into::into), what));
        }
    }
    Ok(())
}

/// The rows that an execution should have.
fn check_rows(evidence: &Evidence, life: &Life, rows: &Rows) -> Verdict {
    let id = life.id;
    let summary = evidence.reader().summary(id).ok().flatten();
    let redriven = life.events().rev().find_map(|event| match event {
        Event::ExecutionRedriven { at_ms, count } => Some((*count, *at_ms)),
        _ => None,
    });
    let expected = (life.execution.started_ms(), life.stopped_ms(), redriven);
    let shown = summary.as_ref().map(|shown| {
        (shown.started_ms, shown.stopped_ms, shown.redriven_ms.map(|at| (shown.redrives, at)))
    });
    ensure(shown == Some(expected), id, || {
        format!("its row says {shown:?} instead of {expected:?}")
    })?;
    let has = |space, key: Vec<u8>| rows.get(&(id.shard(evidence.shard_count), space, key));
    let near = has(Space::Wakes, [&[0], id.bytes().as_slice()].concat());
    let due = life.execution.next_due_ms();
    let far = due.and_then(|due| {
        has(Space::Wakes, [&[1], ordered(due).as_slice(), id.bytes()].concat()).map(|_| due)
    });
    let execution = &life.execution;
    let asks = execution.has_undelivered() || execution.has_heartbeats() || execution.is_ready();
    let woken = match (near, due) {
        (Some(row), _) if asks => row.len() == 9 && far.is_none(),
        (None, _) if asks => false,
        (Some(row), Some(due)) => {
            let at = row.as_slice().try_into().map(i64::from_be_bytes);
            at.is_ok_and(|at| at <= due) && far.is_none()
        }
        (None, Some(_)) => far.is_some(),
        (near, None) => near.is_none(),
    };
    ensure(woken, id, || format!("asks {asks}, due {due:?}, but its rows are {near:?} and {far:?}"))
}

/// Every row belongs to an execution that should have it.
fn check_leaks(evidence: &Evidence, rows: &Rows) -> Verdict {
    let present = |id: ExecutionId| evidence.ledger.last(id).filter(|life| life.is_there());
    for ((_, space, key), value) in rows {
        let tail = key.len().checked_sub(16).and_then(|from| ExecutionId::from_bytes(&key[from..]));
        let head = key.get(..16).and_then(ExecutionId::from_bytes);
        // An execution may be removed before what it has cancelled is confirmed.
        let cancels = *space == Space::Outbox && key.len() == 20;
        if cancels && head.is_some_and(|id| evidence.drivers.cancelling.contains(&id)) {
            continue;
        }
        let life = match space {
            Space::Executions | Space::Outbox => head.and_then(present),
            Space::Journal => key.get(8..24).and_then(ExecutionId::from_bytes).and_then(present),
            Space::Lists | Space::Wakes | Space::Closed => tail.and_then(present),
            // The runtime writes nothing there that belongs to an execution.
            Space::Catalog
            | Space::Invocations
            | Space::InvocationOrders
            | Space::Triggers
            | Space::Queues
            | Space::QueueOrders => continue,
        };
        let right = life.is_some_and(|life| match space {
            Space::Lists => {
                let list = evidence.list(life.id).map(|list| list_key(evidence, life, list));
                list.is_some_and(|wanted| *key == wanted)
            }
            Space::Closed => life.stopped_ms().is_some_and(|at| key.starts_with(&ordered(at))),
            Space::Wakes => {
                life.stopped_ms().is_none()
                    && (key[0] == 0
                        || life
                            .execution
                            .next_due_ms()
                            .is_some_and(|due| key[1..].starts_with(&ordered(due))))
            }
            Space::Outbox => is_unnotified(evidence, life, key),
            _ => true,
        });
        if !right {
            let id = head.filter(|id| present(*id).is_some()).or(tail);
            return Err((
                id.map(Into::into),
                format!("a row of {} belongs to nothing: {key:?} {value:?}", space.name()),
            ));
        }
    }
    Ok(())
}

/// Whether a row of the outbox is about a failure that left this engine and was not confirmed.
fn is_unnotified(evidence: &Evidence, life: &Life, key: &[u8]) -> bool {
    let started_ms = life.execution.started_ms();
    let sequence = key.get(16..20).and_then(|part| part.try_into().ok()).map(u32::from_be_bytes);
    let notified =
        sequence.and_then(|number| evidence.notified.get(&(life.id, started_ms, number)));
    let now = evidence.generation;
    key.get(20..) == Some(&ordered(started_ms))
        && notified
            .is_some_and(|notified| notified.by.contains(&now) && notified.answered != Some(now))
}

fn list_key(_: &Evidence, life: &Life, list: everstep_executions::ListId) -> Vec<u8> {
    let standing = Standing::of(life.execution.status()) as u8;
    let latest_first = u64::from_be_bytes(ordered(life.execution.started_ms()));
    let at = (!latest_first).to_be_bytes();
    [list.bytes().as_slice(), &[standing], &at, life.id.bytes()].concat()
}

/// A moment as keys have it: in the order of the signed number.
fn ordered(at_ms: i64) -> [u8; 8] {
    (at_ms.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}
