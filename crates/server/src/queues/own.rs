//! Operations of our own on queues, for `everstep queues`.

use everstep_queues::{Peeked, Standing};
use serde_json::{Value, json};

use super::{Queues, refusal};
use crate::functions::Refusal;

/// Messages of one answer.
const PEEKED_MAX: u64 = 100;
/// Queues of one answer.
const LISTED_MAX: usize = 1000;

type Answer = Result<Value, Refusal>;

impl Queues {
    /// `X-Amz-Target` is `Everstep.` and the name. None if it is not one of these.
    pub(crate) async fn operate(&self, operation: &str, body: &Value) -> Option<Answer> {
        match operation {
            "DescribeQueues" => Some(self.describe().await),
            "PeekMessages" => Some(self.peek(body).await),
            _ => None,
        }
    }

    async fn describe(&self) -> Answer {
        let found = self.find_all(String::new(), None, LISTED_MAX).await.map_err(refused)?;
        let mut queues = Vec::with_capacity(found.len());
        for record in found {
            let standing = self.ask(|engine, reply| engine.standing(&record.name, reply)).await;
            // One that was deleted meanwhile is left out.
            queues.extend(standing.ok().map(|standing| self.described(&standing)));
        }
        Ok(json!({ "queues": queues }))
    }

    fn described(&self, standing: &Standing) -> Value {
        let record = &standing.record;
        let redrive = record.attributes.redrive.as_ref();
        json!({
            "name": record.name,
            "ready": standing.ready,
            "delayed": standing.delayed,
            "inFlight": standing.in_flight,
            "oldestMs": standing.oldest_ms,
            "deadLetterQueue": redrive.map(|redrive| redrive.target.clone()),
            "maxReceiveCount": redrive.map(|redrive| redrive.receives_max),
            "nowMs": self.clock.now_ms(),
        })
    }

    async fn peek(&self, body: &Value) -> Answer {
        let name = body["queue"].as_str().unwrap_or_default().to_owned();
        let limit = body["limit"].as_u64().unwrap_or(10).clamp(1, PEEKED_MAX);
        let engine = self.engine.clone();
        let limit = usize::try_from(limit).unwrap_or(1);
        let peeked = tokio::task::spawn_blocking(move || engine.peek(&name, limit)).await;
        let peeked = peeked.unwrap_or(Err(everstep_queues::Error::Stopped));
        let peeked = peeked.map_err(refusal).map_err(refused)?;
        let messages: Vec<Value> = peeked.iter().map(shown).collect();
        Ok(json!({ "messages": messages, "nowMs": self.clock.now_ms() }))
    }
}

fn shown(peeked: &Peeked) -> Value {
    let content = &peeked.message.content;
    json!({
        "id": peeked.message.id.to_string(),
        "body": content.body,
        "group": content.group,
        "sentMs": peeked.message.sent_ms,
        "receives": peeked.receives,
        "hiddenUntilMs": peeked.hidden_until_ms,
        "deadLetterOf": peeked.message.dead_letter_of,
    })
}

fn refused(error: everstep_sqs::Error) -> Refusal {
    Refusal { status: error.status(), name: error.json_name(), message: error.message().to_owned() }
}
