//! `RedriveExecution`: an execution that did not succeed continues where it stopped.

use std::ops::ControlFlow;

use everstep_api::protocol::{Error, Name, timestamp};
use everstep_executions::{Error as Engine, Message, Note, Standing, Summary};
use everstep_history::Event;
use everstep_interpreter::is_shown;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Answer;
use super::describe_execution::{find, missing};
use crate::args::Args;
use crate::map_run;
use crate::service::{Service, engine_error};

const MINUTE_MS: i64 = 60 * 1000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// How long after its end an execution can be redriven.
const PERIOD_MS: i64 = 14 * DAY_MS;
/// How long an execution may be open.
const OPEN_MS_MAX: i64 = 365 * DAY_MS;

const RUNNING: &str = "Execution is RUNNING and cannot be redriven";
const SUCCEEDED: &str = "Execution is SUCCEEDED and cannot be redriven";

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = find(service, args, args.required("executionArn"))?;
    let token = args.text("clientToken");
    let asked = token.map(|token| Asked::find(service, &summary, token)).transpose();
    let asked = asked.map_err(engine_error)?.flatten();
    if let Some(at_ms) = redriven(service, &summary, asked).map_err(engine_error)? {
        return answer(at_ms);
    }
    if let Some(reason) = obstacle(service, &summary)? {
        return Err(refused(args, reason));
    }
    if map_run::parent_run(&summary).is_some() {
        return Err(refused(args, "Execution is redrivable by its Map Run"));
    }
    let asked = Asked { number: summary.redrives + 1, used_ms: service.now_ms() };
    if let Some(token) = token {
        asked.keep(service, &summary, token).await.map_err(engine_error)?;
    }
    let id = summary.id();
    match service.ask(|reply| Message::Redrive { id, reply }).await {
        Ok(at_ms) => answer(at_ms),
        // The same request may have been faster.
        Err(Engine::WrongStatus(found)) => {
            let asked = token.map(|_| asked);
            match redriven(service, &found, asked).map_err(engine_error)? {
                Some(at_ms) => answer(at_ms),
                None => {
                    let reason = obstacle(service, &found)?.unwrap_or(RUNNING);
                    Err(refused(args, reason))
                }
            }
        }
        Err(Engine::NotFound) => Err(missing(args, &summary.arn)),
        Err(other) => Err(engine_error(other)),
    }
}

fn answer(at_ms: i64) -> Answer {
    Ok(json!({ "redriveDate": timestamp(at_ms) }))
}

/// The service's words around the reason are a guess.
fn refused(args: Args<'_>, reason: &str) -> Error {
    args.error(Name::ExecutionNotRedrivable, format!("Execution Not Redrivable: '{reason}'"))
}

/// Why an execution cannot be redriven, in the words of `redriveStatusReason`.
pub(super) fn obstacle(
    service: &Service,
    summary: &Summary,
) -> Result<Option<&'static str>, Error> {
    let stopped_ms = match (summary.standing, summary.stopped_ms) {
        (Standing::Succeeded, _) => return Ok(Some(SUCCEEDED)),
        (Standing::Running, _) | (_, None) => return Ok(Some(RUNNING)),
        (_, Some(stopped_ms)) => stopped_ms,
    };
    let prepared = service.reader.prepared(summary).map_err(engine_error)?;
    // What a Map Run has started belongs to the machine of its label.
    let arn = &prepared.revision.machine_arn;
    let machine = service.machine(arn.split('/').next().unwrap_or(arn))?;
    let now_ms = service.now_ms();
    Ok(if machine.is_none_or(|machine| machine.value.deleting) {
        Some("State machine is in DELETING status")
    } else if now_ms - stopped_ms >= PERIOD_MS {
        Some("Execution redrivable period exceeded")
    } else if now_ms - summary.started_ms >= OPEN_MS_MAX {
        Some("Execution has exceeded the max execution time")
    } else if is_full(service, summary, prepared.revision.history_events)? {
        Some("Execution history event limit exceeded")
    } else {
        None
    })
}

/// Whether there is no room for the redrive and one event more.
fn is_full(service: &Service, summary: &Summary, events_max: Option<u32>) -> Result<bool, Error> {
    let Some(max) = events_max else { return Ok(false) };
    let shown = match summary.shown_events {
        Some(shown) => shown,
        None => shown_events(service, summary).map_err(engine_error)?,
    };
    Ok(shown.saturating_add(1) >= max)
}

/// Counted, as earlier versions did not write it down.
fn shown_events(service: &Service, summary: &Summary) -> everstep_executions::Result<u32> {
    let mut shown = 0;
    service.reader.each_step(summary, |_, events| {
        shown += events.iter().filter(|event| is_shown(event)).count();
        ControlFlow::Continue(())
    })?;
    Ok(u32::try_from(shown).unwrap_or(u32::MAX))
}

/// What a client's token stands for: a note beside the execution, written before the redrive that it
/// asks for. So a request that is repeated finds its answer, whatever came between.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Asked {
    /// Which redrive of the execution it was to be.
    number: u32,
    used_ms: i64,
}

const TOKENS: &[u8] = b"redrive/";
/// How long a token is known, and how many are at a time.
const TOKEN_MS: i64 = 15 * MINUTE_MS;
const TOKENS_MAX: usize = 10;

impl Asked {
    fn find(
        service: &Service,
        summary: &Summary,
        token: &str,
    ) -> everstep_executions::Result<Option<Self>> {
        let key = [TOKENS, token.as_bytes()].concat();
        let mut notes = service.reader.notes(summary.id(), &key)?.into_iter();
        let found = notes.find(|(found, _)| *found == key).and_then(|(_, text)| Self::read(&text));
        Ok(found.filter(|asked| service.now_ms() - asked.used_ms < TOKEN_MS))
    }

    fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Keeps it, and forgets those that are old or too many.
    async fn keep(
        self,
        service: &Service,
        summary: &Summary,
        token: &str,
    ) -> everstep_executions::Result<()> {
        let id = summary.id();
        let known = service.reader.notes(id, TOKENS)?.into_iter();
        let mut known: Vec<(i64, Vec<u8>)> = known
            .map(|(key, text)| (Self::read(&text).map_or(0, |asked| asked.used_ms), key))
            .collect();
        known.sort();
        let spare = (known.len() + 1).saturating_sub(TOKENS_MAX);
        let old = |(index, (used_ms, _)): &(usize, (i64, Vec<u8>))| {
            *index < spare || self.used_ms - used_ms >= TOKEN_MS
        };
        let gone = known.into_iter().enumerate().filter(old);
        let mut notes: Vec<Note> = gone.map(|(_, (_, key))| Note { key, text: None }).collect();
        let key = [TOKENS, token.as_bytes()].concat();
        notes.push(Note { key, text: serde_json::to_vec(&self).ok() });
        service.ask(|reply| Message::Note { id, notes, reply }).await
    }
}

/// When the redrive was made that a token had asked for, if it was.
fn redriven(
    service: &Service,
    summary: &Summary,
    asked: Option<Asked>,
) -> everstep_executions::Result<Option<i64>> {
    let Some(asked) = asked.filter(|asked| summary.redrives >= asked.number) else {
        return Ok(None);
    };
    service.reader.find_event(summary, |event| match event {
        Event::ExecutionRedriven { at_ms, count } if count == asked.number => Some(at_ms),
        _ => None,
    })
}
