//! An invocation as users are shown it, with the names of the specification.

use serde_json::{Map, Value};

use super::{Invocation, State};
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
        put("throttledCount", self.throttled.into());
        put("routed", self.is_routed().into());
        put("deadLetter", self.dead.into());
        put("sessionId", text(self.session.map(|id| id.to_string())));
        put("redrivenFrom", text(self.redriven_from.map(|id| id.to_string())));
        put("redrivenAs", text(self.redriven_as.map(|id| id.to_string())));
        object.into()
    }
}
