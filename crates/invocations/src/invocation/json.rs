//! An invocation as users are shown it, with the names of the specification.

use serde_json::{Map, Value, json};

use super::{Invocation, Route, State};
use crate::function::EdgeInput;
use crate::moment::iso;

impl Invocation {
    /// Everything but the event and the answer.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                object.insert(name.to_owned(), value);
            }
        };
        let text = |text: Option<String>| text.map_or(Value::Null, Value::from);
        put("invocationId", self.id.to_string().into());
        put("function", self.function.clone().into());
        put("version", self.version.clone().into());
        put("source", self.source.to_json());
        put("dedupeKey", text(self.key.clone()));
        put("state", self.state.name().into());
        put("reason", text(self.state.reason().map(|reason| reason.name().to_owned())));
        put("acceptedAt", iso(self.accepted_ms).into());
        put("expiresAt", text(self.expires_ms.map(iso)));
        if let State::Waiting { due_ms } = self.state {
            put("dueAt", iso(due_ms).into());
        }
        put("endedAt", text(self.ended_ms.map(iso)));
        put("policy", serde_json::to_value(&self.terms.policy).unwrap_or_default());
        put("attemptCount", self.attempts.started().into());
        put("attempts", self.attempts.to_json());
        if self.attempts.left_out() > 0 {
            put("attemptsLeftOut", self.attempts.left_out().into());
        }
        if self.interruptions > 0 {
            put("interruptions", self.interruptions.into());
        }
        put("throttledCount", self.throttled.into());
        put("destinations", self.destinations());
        put("routed", self.is_routed().into());
        put("deadLetter", self.dead.into());
        put("sessionId", text(self.session.map(|id| id.to_string())));
        put("redrivenFrom", text(self.redriven_from.map(|id| id.to_string())));
        put("redrivenAs", text(self.redriven_as.map(|id| id.to_string())));
        object.into()
    }

    /// The destinations of its end: all possible ones while it runs, those of its actual end afterwards.
    /// Null if there are none.
    fn destinations(&self) -> Value {
        let routes = if self.state.is_over() { self.routed() } else { self.possible_routes() };
        if routes.is_empty() { Value::Null } else { routes.into() }
    }

    fn routed(&self) -> Vec<Value> {
        let on = if self.state == State::Succeeded { SUCCESS } else { FAILURE };
        let route = |(route, index): (Route<'_>, u32)| {
            let (kind, target) = match route {
                Route::Destination(target) => ("destination", target.to_string()),
                Route::Next(edge) => ("next", format!("function:{}", edge.function)),
                Route::Session => return None,
            };
            let delivered = !self.undelivered.contains(&index);
            Some(json!({ "on": on, "kind": kind, "target": target, "delivered": delivered }))
        };
        self.routes().into_iter().zip(0..).filter_map(route).collect()
    }

    fn possible_routes(&self) -> Vec<Value> {
        let destinations = |on, targets: &[crate::Target]| {
            let of = |target: &crate::Target| json!({ "on": on, "kind": "destination", "target": target.to_string() });
            targets.iter().map(of).collect::<Vec<_>>()
        };
        let edge = |edge: &crate::Edge| {
            let on = if edge.input == EdgeInput::Scalar { SUCCESS } else { FAILURE };
            json!({ "on": on, "kind": "next", "target": format!("function:{}", edge.function) })
        };
        let mut all = destinations(SUCCESS, &self.terms.on_success);
        all.extend(destinations(FAILURE, &self.terms.on_failure));
        all.extend(self.terms.next.iter().map(edge));
        all
    }
}

const SUCCESS: &str = "Success";
const FAILURE: &str = "Failure";
