//! What a timer gives its function: what Azure's timers do, and for AWS's schedules what EventBridge does too.

use everstep_invocations::InvocationId;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::plan::{Place, Timer};
use crate::timer::{Clockwork, Tick};

/// `2026-03-29T01:00:00Z`
#[must_use]
pub fn iso(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::MAX).to_string()
}

fn shown(at_ms: i64) -> Value {
    iso(at_ms).into()
}

/// `20260329T010000Z`: what a tick is known by. It can be part of a name.
pub(crate) fn tick_id(at_ms: i64) -> String {
    iso(at_ms).replace(['-', ':'], "")
}

/// The event of a tick; of a run that was not scheduled if there is none.
pub(crate) fn of_timer(
    (name, place): (&str, &Place),
    timer: &Timer,
    clockwork: &Clockwork,
    (tick, id): (Option<Tick>, InvocationId),
    now_ms: i64,
) -> Vec<u8> {
    if let Some(input) = &timer.input {
        return input.clone();
    }
    let at_ms = tick.map_or(now_ms, |tick| tick.at_ms);
    let (last, updated) = match clockwork.last {
        Some((last_ms, accepted_ms)) => (shown(last_ms), shown(accepted_ms)),
        None => (Value::Null, Value::Null),
    };
    let next = timer.schedule.next_after(at_ms).map_or(Value::Null, shown);
    let mut event = json!({});
    if timer.schedule.is_aws() {
        let Place { region, account } = place;
        event = json!({
            "version": "0",
            "id": id.to_string(),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": account,
            "time": shown(at_ms),
            "region": region,
            "resources": [format!("arn:aws:events:{region}:{account}:rule/{name}")],
            "detail": {},
        });
    }
    event["trigger"] = name.into();
    event["schedule"] = json!({ "adjustForDST": true });
    event["scheduleStatus"] = json!({ "last": last, "lastUpdated": updated, "next": next });
    event["isPastDue"] = tick.is_some_and(|tick| tick.is_past_due).into();
    event["scheduledFor"] = tick.map_or(Value::Null, |tick| shown(tick.at_ms));
    event.to_string().into_bytes()
}
