//! The orders that invocations stand in are what their records say: an open one is due exactly once and in time,
//! one that is over is listed for its removal once, each delivery that is left has its row; and no row belongs
//! to nothing.

use std::collections::BTreeMap;

use everstep_invocations::{InvocationId, State};
use everstep_store::Space;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::Life;

const DUE: u8 = 0;
const ACCEPTED: u8 = 1;
const CLOSED: u8 = 3;
const SESSIONS: u8 = 5;
const DELIVERY: u8 = 6;

pub(super) struct Check;

/// The rows of an invocation, by order: the moments, and the deliveries.
#[derive(Default)]
struct Rows {
    at: BTreeMap<u8, Vec<i64>>,
    deliveries: Vec<u32>,
}

impl Checker for Check {
    fn name(&self) -> &'static str {
        "invocation_rows_agree"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let mut all: BTreeMap<InvocationId, Rows> = BTreeMap::new();
        for (_, space, key) in evidence.disk.durable().keys() {
            if *space == Space::InvocationOrders {
                let (id, row) =
                    parse(key).ok_or((None, format!("a row cannot be read: {key:?}")))?;
                let rows = all.entry(id).or_default();
                match row {
                    Row::At(order, at_ms) => rows.at.entry(order).or_default().push(at_ms),
                    Row::Delivery(index) => rows.deliveries.push(index),
                }
            }
        }
        for life in evidence.functions.ledger.present() {
            check(life, &all.remove(&life.id).unwrap_or_default())?;
        }
        let sessions = |id| evidence.functions.ledger.sessions().any(|session| session.id == id);
        for (id, rows) in all {
            let alone =
                rows.deliveries.is_empty() && rows.at.keys().all(|order| *order == SESSIONS);
            ensure(alone && sessions(id), id, || format!("it is gone, and has {:?}", rows.at))?;
        }
        Ok(())
    }
}

fn check(life: &Life, rows: &Rows) -> Verdict {
    let invocation = life.invocation();
    let at = |order| rows.at.get(&order).map_or(&[][..], Vec::as_slice);
    let due = match invocation.state {
        State::Waiting { due_ms } => at(DUE).len() == 1 && at(DUE)[0] <= due_ms,
        state if state.is_over() => at(DUE).is_empty(),
        _ => at(DUE).len() == 1,
    };
    ensure(due, life.id, || format!("{:?}, and due at {:?}", invocation.state, at(DUE)))?;
    ensure(at(ACCEPTED) == [invocation.accepted_ms], life.id, || {
        format!("it is listed as accepted at {:?}", at(ACCEPTED))
    })?;
    let closed = usize::from(invocation.state.is_over() && !invocation.dead);
    ensure(at(CLOSED).len() == closed, life.id, || {
        format!("{:?}, and listed as over at {:?}", invocation.state, at(CLOSED))
    })?;
    let mut open = invocation.undelivered.clone();
    open.sort_unstable();
    let mut deliveries = rows.deliveries.clone();
    deliveries.sort_unstable();
    ensure(open == deliveries, life.id, || {
        format!("left to deliver are {open:?}, and rows have {deliveries:?}")
    })
}

enum Row {
    At(u8, i64),
    Delivery(u32),
}

fn parse(key: &[u8]) -> Option<(InvocationId, Row)> {
    let order = *key.first()?;
    if order == DELIVERY {
        let id = InvocationId::from_bytes(key.get(9..25)?)?;
        return Some((id, Row::Delivery(u32::from_be_bytes(key.get(25..)?.try_into().ok()?))));
    }
    let moment = u64::from_be_bytes(key.get(1..9)?.try_into().ok()?);
    let at_ms = (moment ^ (1 << 63)).cast_signed();
    Some((InvocationId::from_bytes(key.get(9..)?)?, Row::At(order, at_ms)))
}
