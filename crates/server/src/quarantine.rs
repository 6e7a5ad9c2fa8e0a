//! What is quarantined, for those who look after the server: a list, a release, and what `/ready` says of it.

use std::sync::Arc;

use everstep_executions::{ExecutionId, Message};
use everstep_expr::timestamp::format_millis;
use everstep_shards::Quarantined;
use serde_json::{Value, json};

use crate::functions::Refusal;
use crate::service::{Service, engine_error};

type Answer = Result<Value, Refusal>;

/// Of each kind, in one answer.
const LISTED_MAX: usize = 1000;
/// Names that `/ready` shows.
const NAMED_MAX: usize = 10;

/// `Everstep.ListQuarantined`
pub(crate) async fn list(service: &Arc<Service>) -> Answer {
    let (executions, invocations) = all(service, LISTED_MAX).await?;
    Ok(json!({
        "executions": executions,
        "invocations": invocations,
        "executionCount": service.reader.quarantined_count(),
        "invocationCount": invocation_count(service),
    }))
}

/// `Everstep.ReleaseExecution`
pub(crate) async fn release(service: &Arc<Service>, body: &Value) -> Answer {
    let Some(arn) = body["executionArn"].as_str() else {
        return Err(Refusal::new(400, "ValidationException", "executionArn is missing"));
    };
    let id = ExecutionId::of(arn);
    let known = service.reader.summary(id).map_err(refused)?;
    if known.is_none() {
        let message = format!("Execution Does Not Exist: '{arn}'");
        return Err(Refusal::new(400, "ExecutionDoesNotExist", message));
    }
    let released = service.ask(|reply| Message::Release { id, reply }).await.map_err(refused)?;
    Ok(json!({ "released": released }))
}

/// How many are quarantined, and the names of the first ones if the caller may know them.
pub(crate) async fn summary(service: &Arc<Service>, is_named: bool) -> Value {
    let mut summary = json!({
        "executions": service.reader.quarantined_count(),
        "invocations": invocation_count(service),
    });
    if is_named && let Ok((executions, invocations)) = all(service, NAMED_MAX).await {
        let arns = executions.iter().map(|execution| execution["executionArn"].clone());
        let ids = invocations.iter().map(|invocation| invocation["invocationId"].clone());
        summary["first"] = arns.chain(ids).take(NAMED_MAX).collect();
    }
    summary
}

fn invocation_count(service: &Service) -> usize {
    service.functions.as_ref().map_or(0, |functions| functions.quarantined_count())
}

/// Executions and invocations, at most so many of each. Those that came first come first.
async fn all(service: &Arc<Service>, limit: usize) -> Result<(Vec<Value>, Vec<Value>), Refusal> {
    let reader = service.reader.clone();
    let found = tokio::task::spawn_blocking(move || reader.quarantined(limit)).await;
    let found = found.unwrap_or(Err(everstep_executions::Error::Stopped)).map_err(refused)?;
    let execution = |(summary, held): &(everstep_executions::Summary, Quarantined)| {
        described("executionArn", &summary.arn, held)
    };
    let executions = found.iter().map(execution).collect();
    let invocations = service.functions.as_ref().map(|functions| functions.quarantined(limit));
    let invocations = invocations.unwrap_or_default();
    let invocation = |(id, held): &(everstep_invocations::InvocationId, Quarantined)| {
        described("invocationId", &id.to_string(), held)
    };
    Ok((executions, invocations.iter().map(invocation).collect()))
}

fn described(member: &str, name: &str, held: &Quarantined) -> Value {
    json!({ member: name, "since": format_millis(held.since_ms), "why": *held.why })
}

fn refused(error: everstep_executions::Error) -> Refusal {
    let error = engine_error(error);
    Refusal::new(error.status(), error.name(), error.message())
}
