//! What callers of the API ask of triggers.

use everstep_triggers::{Counters, Last, Settled, Standing, iso};
use serde_json::{Value, json};

use super::{Control, Event, Live, Planned, Triggers, request};
use crate::functions::Refusal;

type Answer = Result<Value, Refusal>;

impl Triggers {
    /// All triggers, by name.
    pub(crate) async fn list(&self) -> Answer {
        let mut shown = Vec::new();
        for live in self.all() {
            shown.push(live.show().await?);
        }
        Ok(json!({ "triggers": shown }))
    }

    pub(crate) async fn show(&self, name: &str) -> Answer {
        self.named(name)?.show().await
    }

    /// Pauses or resumes a trigger. Answered when that is durable.
    pub(crate) async fn control(&self, name: &str, control: Control) -> Answer {
        let live = self.named(name)?;
        live.ask(|answer| Event::Control(control, answer)).await.ok_or_else(stopped)?;
        live.show().await
    }

    /// Lets a trigger fire now, whatever its state. Answered when what it starts is durable.
    pub(crate) async fn fire(&self, name: &str, payload: Option<Vec<u8>>) -> Answer {
        let live = self.named(name)?;
        match live.ask(|answer| Event::Fire(payload, answer)).await.ok_or_else(stopped)? {
            Settled::Accepted { id, .. } => Ok(json!({ "invocationId": id.to_string() })),
            Settled::Refused(why) => Err(request::refusal(&why)),
            Settled::Completed(_) => Err(stopped()),
        }
    }

    fn named(&self, name: &str) -> Result<Live, Refusal> {
        self.find(name).ok_or_else(|| {
            let message = format!("there is no trigger '{name}'");
            Refusal::new(404, "ResourceNotFoundException", message)
        })
    }
}

impl Live {
    async fn show(&self) -> Answer {
        let standing = self.ask(Event::Show).await.ok_or_else(stopped)?;
        Ok(shown(&self.planned, &standing))
    }
}

fn stopped() -> Refusal {
    Refusal::new(503, "ServiceUnavailable", "the trigger is being stopped")
}

fn shown(planned: &Planned, standing: &Standing) -> Value {
    let described = &planned.described;
    let moment = |at_ms: Option<i64>| at_ms.map_or(Value::Null, |at_ms| iso(at_ms).into());
    let mut shown = json!({
        "name": planned.plan.name,
        "kind": described.kind,
        "from": described.from,
        "target": described.target,
        "state": standing.state.name(),
        "inFlight": standing.in_flight,
        "waiting": standing.waiting,
        "maxBacklog": planned.plan.backlog_max,
        "accepted": standing.accepted,
        "counters": counters(&standing.counters),
        "last": standing.last.iter().map(last).collect::<Vec<_>>(),
    });
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            shown[name] = value;
        }
    };
    put("timezone", described.zone.clone().map_or(Value::Null, Value::from));
    put("next", moment(standing.next_ms));
    put("lastTick", moment(standing.last_tick_ms));
    put("oldestInFlight", moment(standing.oldest_ms));
    put("position", standing.position.clone().map_or(Value::Null, Value::from));
    put("cursor", standing.cursor.clone().map_or(Value::Null, Value::from));
    put("trouble", standing.trouble.clone().map_or(Value::Null, Value::from));
    if !standing.blocked_by.is_empty() {
        let ids: Vec<String> = standing.blocked_by.iter().map(ToString::to_string).collect();
        put("blockedBy", ids.into());
    }
    shown
}

fn counters(counters: &Counters) -> Value {
    json!({
        "succeeded": counters.succeeded,
        "failed": counters.failed,
        "cancelled": counters.cancelled,
        "unknown": counters.unknown,
        "deadLettered": counters.dead_lettered,
        "duplicates": counters.duplicates,
        "coalesced": counters.coalesced,
        "skipped": counters.skipped,
        "refused": counters.refused,
    })
}

fn last(last: &Last) -> Value {
    let mut shown = json!({
        "item": last.item,
        "invocationId": last.invocation.to_string(),
        "outcome": last.outcome,
        "endedAt": iso(last.ended_ms),
    });
    if let Some(error) = &last.error {
        shown["error"] = error.as_str().into();
    }
    shown
}
