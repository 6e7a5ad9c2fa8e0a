//! Operations on functions and invocations: Lambda's, and our own.

use std::str::FromStr as _;

use everstep_invocations::{
    Bookmark, Error, Filter, Finished, Functions as _, Invocation, InvocationId, Invocations,
    Redrive, Reply, Request, Source, SourceKind, State,
};
use everstep_shards::{Error as EngineError, Quarantined};
use serde_json::{Value, json};

use super::Functions;
use super::calls::Calls;
use super::request::{InvocationType, Invoke, Invoked, Refusal};
use crate::page_token::Listing;
use crate::triggers::Control;

type Answer = Result<Value, Refusal>;

impl Functions {
    /// Lambda's `Invoke`.
    pub(crate) async fn invoke(&self, invoke: Invoke) -> Result<Invoked, Refusal> {
        let Invoke { function, invocation_type, payload, client_context, key, qualifier: _ } =
            invoke;
        let settings = self.calls.function(&function);
        let Some(settings) = settings else {
            return Err(self.catalog.missing(&function));
        };
        let source = Source::new(SourceKind::Invoke, &function);
        let request = Request { function, payload, source, key, unparseable: false };
        let version = settings.version.clone();
        let answered = |id: InvocationId, payload, failed, log| {
            Ok(Invoked { id: id.to_string(), version, payload, failed, log })
        };
        match invocation_type {
            InvocationType::DryRun if settings.concurrency == 0 => Err(refusal(&Error::Forbidden)),
            InvocationType::DryRun => {
                let bits = uuid::Uuid::new_v4().as_u64_pair();
                answered(InvocationId::drawn([bits.0, bits.1]), Vec::new(), false, Vec::new())
            }
            // As in Lambda, asynchronous calls ignore the client context.
            InvocationType::Event => {
                self.admit()?;
                let accepted = ask(|reply| self.invocations.accept(request, reply)).await?;
                answered(accepted.id, Vec::new(), false, Vec::new())
            }
            InvocationType::RequestResponse => {
                let Finished { id, state, response, log } =
                    ask(|reply| self.invocations.invoke(request, client_context, reply)).await?;
                let response = response.unwrap_or_else(|| b"null".to_vec());
                answered(id, response, state != State::Succeeded, log)
            }
        }
    }

    /// An operation of our own: `X-Amz-Target` is `Everstep.` and its name.
    pub(crate) async fn operate(&self, operation: &str, body: Value) -> Answer {
        match operation {
            "ListFunctions" => Ok(self.catalog.all()),
            "ListInvocations" => {
                let now_ms = self.clock.now_ms();
                let mut found = self.blocking(move |all| list(all, &body, now_ms)).await?;
                let all = found["invocations"].as_array_mut().into_iter().flatten();
                all.for_each(|invocation| mark_missing_function(&self.calls, invocation));
                Ok(found)
            }
            "ShowInvocation" => {
                let mut found = self.blocking(move |all| show(all, &body)).await?;
                mark_missing_function(&self.calls, &mut found);
                Ok(found)
            }
            "DescribeSession" => self.blocking(move |all| session(all, &body)).await,
            "CancelInvocation" => {
                let id = id(&body)?;
                ask(|reply| self.invocations.cancel(id, reply)).await?;
                Ok(json!({}))
            }
            "ReleaseInvocation" => {
                let id = id(&body)?;
                self.blocking(move |all| show(all, &body)).await?;
                let released = ask(|reply| self.invocations.release(id, reply)).await?;
                Ok(json!({ "released": released }))
            }
            "RedriveDeadLetters" => {
                self.admit()?;
                self.blocking(move |all| redrive(all, &body)).await
            }
            "ListTriggers" => self.triggers.list().await,
            "ShowTrigger" => self.triggers.show(&trigger(&body)?).await,
            "PauseTrigger" => self.triggers.control(&trigger(&body)?, Control::Pause).await,
            "ResumeTrigger" => self.triggers.control(&trigger(&body)?, Control::Resume).await,
            "FireTrigger" => {
                self.admit()?;
                let payload = body.get("payload").map(|payload| payload.to_string().into_bytes());
                self.triggers.fire(&trigger(&body)?, payload).await
            }
            "PurgeDeadLetters" => self.blocking(move |all| purge(all, &body)).await,
            other => Err(Refusal::unknown_operation(other)),
        }
    }

    pub(crate) fn quarantined_count(&self) -> usize {
        self.invocations.quarantined_count()
    }

    pub(crate) fn quarantined(&self, limit: usize) -> Vec<(InvocationId, Quarantined)> {
        self.invocations.quarantined(limit)
    }

    /// Refuses new work if there is no room for it.
    fn admit(&self) -> Result<(), Refusal> {
        match self.admission.refusal() {
            Some(reason) => Err(Refusal::new(503, "ServiceUnavailable", &*reason)),
            None => Ok(()),
        }
    }

    /// Reads the store on a thread that may block.
    async fn blocking(&self, work: impl FnOnce(&Invocations) -> Answer + Send + 'static) -> Answer {
        let invocations = self.invocations.clone();
        let done = tokio::task::spawn_blocking(move || work(&invocations)).await;
        done.unwrap_or_else(|_| Err(Refusal::new(500, "InternalFailure", "the engine stops")))
    }
}

async fn ask<T: Send + 'static>(send: impl FnOnce(Reply<T>)) -> Result<T, Refusal> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    send(Box::new(move |answer| {
        let _ = sender.send(answer);
    }));
    receiver.await.unwrap_or(Err(Error::Stopped)).map_err(|error| refusal(&error))
}

fn refusal(error: &Error) -> Refusal {
    let (status, name) = match error {
        Error::Busy | Error::Throttled | Error::Forbidden => (429, "TooManyRequestsException"),
        Error::NoSuchFunction(_) | Error::NotFound => (404, "ResourceNotFoundException"),
        Error::NotJson(_) => (400, "InvalidRequestContentException"),
        Error::ContextWithKey => (400, "InvalidParameterValueException"),
        Error::TooLarge { .. } => (413, "RequestTooLargeException"),
        Error::WrongState | Error::StaleResult | Error::Quarantined(_) => {
            (409, "ResourceConflictException")
        }
        Error::Stopped | Error::Failed(EngineError::Panicked { .. }) => (503, "ServiceUnavailable"),
        Error::Failed(_) => (500, "ServiceException"),
    };
    Refusal::new(status, name, error.to_string())
}

fn wrong(message: String) -> Refusal {
    Refusal::new(400, "ValidationException", message)
}

fn text(body: &Value, name: &str) -> Result<Option<String>, Refusal> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(format!("{name} must be a string, not {other}"))),
    }
}

fn number(body: &Value, name: &str) -> Result<Option<u64>, Refusal> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(wrong(format!("{name} must be a non-negative number, not {value}"))),
        },
    }
}

fn id(body: &Value) -> Result<InvocationId, Refusal> {
    let text = text(body, "id")?.ok_or_else(|| wrong("id is missing".to_owned()))?;
    InvocationId::from_str(&text).map_err(|error| wrong(error.to_string()))
}

fn trigger(body: &Value) -> Result<String, Refusal> {
    text(body, "name")?.ok_or_else(|| wrong("name is missing".to_owned()))
}

fn filter(body: &Value) -> Result<Filter, Refusal> {
    let ids = match body.get("ids") {
        None | Some(Value::Null) => Vec::new(),
        Some(ids) => {
            let of = |id: &Value| InvocationId::from_str(id.as_str().unwrap_or_default());
            let ids = ids.as_array().ok_or_else(|| wrong("ids must be a list".to_owned()))?;
            ids.iter()
                .map(of)
                .collect::<Result<_, _>>()
                .map_err(|error| wrong(error.to_string()))?
        }
    };
    Ok(Filter {
        dead: body["deadLetters"].as_bool().unwrap_or(false),
        function: text(body, "function")?,
        state: text(body, "state")?,
        error: text(body, "error")?,
        reason: text(body, "reason")?,
        source: text(body, "source")?,
        since_ms: number(body, "sinceMs")?.and_then(|ms| i64::try_from(ms).ok()),
        ids,
    })
}

const PAGE: u64 = 100;

fn list(all: &Invocations, body: &Value, now_ms: i64) -> Answer {
    let filter = filter(body)?;
    let limit = number(body, "maxResults")?.unwrap_or(PAGE).clamp(1, 1000);
    let listing = Listing { operation: "Everstep.ListInvocations", request: body };
    let invalid = || wrong("invalid nextToken".to_owned());
    let after = match listing.position(now_ms).map_err(|_| invalid())? {
        Some(position) => Some(bookmark(&position).ok_or_else(invalid)?),
        None => None,
    };
    let page = all.list(&filter, after, usize::try_from(limit).unwrap_or(1000));
    let page = page.map_err(|error| refusal(&error))?;
    let shown: Vec<Value> = page.invocations.iter().map(Invocation::to_json).collect();
    let mut answer = json!({ "invocations": shown });
    if let Some(next) = page.next {
        let position = format!("{}/{}", next.at_ms, next.id);
        answer["nextToken"] = listing.token(position.as_bytes(), now_ms).into();
    }
    Ok(answer)
}

fn bookmark(position: &[u8]) -> Option<Bookmark> {
    let (at_ms, id) = std::str::from_utf8(position).ok()?.split_once('/')?;
    Some(Bookmark { at_ms: at_ms.parse().ok()?, id: InvocationId::from_str(id).ok()? })
}

fn show(all: &Invocations, body: &Value) -> Answer {
    let shown = all.show(id(body)?).map_err(|error| refusal(&error))?;
    let shown = shown.ok_or_else(|| refusal(&Error::NotFound))?;
    let mut answer = shown.invocation.to_json();
    answer["payload"] = as_json(&shown.payload);
    if let Some(response) = &shown.response {
        answer["response"] = as_json(response);
    }
    Ok(answer)
}

/// Marks an invocation that waits for a function which is no longer configured.
fn mark_missing_function(functions: &Calls, invocation: &mut Value) {
    let waits = matches!(invocation["state"].as_str(), Some("Accepted" | "Waiting"));
    let name = invocation["function"].as_str().unwrap_or_default();
    if waits && functions.function(name).is_none() {
        invocation["functionMissing"] = true.into();
    }
}

/// A payload that is not JSON is shown as a string.
fn as_json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned().into())
}

fn session(all: &Invocations, body: &Value) -> Answer {
    let session = all.session(id(body)?).map_err(|error| refusal(&error))?;
    Ok(session.ok_or_else(|| refusal(&Error::NotFound))?.to_json())
}

fn redrive(all: &Invocations, body: &Value) -> Answer {
    let filter = filter(body)?;
    let redrive = Redrive {
        latest: body["latest"].as_bool().unwrap_or(false),
        payload: body.get("payload").map(|payload| payload.to_string().into_bytes()),
        spacing_ms: number(body, "spacingMs")?.unwrap_or(0),
        limit: number(body, "limit")?.and_then(|limit| usize::try_from(limit).ok()),
        dry_run: body["dryRun"].as_bool().unwrap_or(false),
    };
    let redriven = all.redrive(&filter, &redrive).map_err(|error| refusal(&error))?;
    let shown = |(from, into): &(InvocationId, Option<InvocationId>)| json!({ "id": from.to_string(), "into": into.map(|into| into.to_string()) });
    Ok(json!({ "redriven": redriven.iter().map(shown).collect::<Vec<_>>() }))
}

fn purge(all: &Invocations, body: &Value) -> Answer {
    let dry_run = body["dryRun"].as_bool().unwrap_or(false);
    let undelivered = body["untold"].as_bool().unwrap_or(false);
    let purged =
        all.purge(&filter(body)?, undelivered, dry_run).map_err(|error| refusal(&error))?;
    let purged: Vec<String> = purged.iter().map(InvocationId::to_string).collect();
    Ok(json!({ "purged": purged }))
}
