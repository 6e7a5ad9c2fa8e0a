//! `RedriveExecution`: an execution that did not succeed goes on from where it stopped.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use everstep_history::Event;
use everstep_runtime::{Error as Engine, Message, Standing, Summary};
use serde_json::json;

use super::Answer;
use super::describe_execution::{find, missing};
use crate::args::Args;
use crate::map_run;
use crate::protocol::{Error, Name, timestamp};
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
    let now_ms = service.now_ms();
    if let Some(at_ms) = service.redrives.known(&summary.arn, token, now_ms) {
        return answer(at_ms);
    }
    if let Some(reason) = obstacle(service, &summary)? {
        return Err(refused(args, reason));
    }
    if map_run::parent_run(&summary).is_some() {
        return Err(refused(args, "Execution is redrivable by its Map Run"));
    }
    match redriven(service, &summary, token, now_ms).await {
        Ok(at_ms) => answer(at_ms),
        // The same request may have been faster.
        Err(Engine::WrongStatus(found)) => {
            match service.redrives.known(&summary.arn, token, now_ms) {
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

/// The token is kept the moment the redrive is durable, be there anybody left who waits for the answer
/// or not.
async fn redriven(
    service: &Service,
    summary: &Summary,
    token: Option<&str>,
    now_ms: i64,
) -> everstep_runtime::Result<i64> {
    let (id, arn) = (summary.id(), summary.arn.clone());
    let (token, redrives) = (token.map(str::to_owned), service.redrives.clone());
    let asked = service.ask(|reply| {
        let keep = move |outcome: everstep_runtime::Result<i64>| {
            if let (Ok(at_ms), Some(token)) = (&outcome, token) {
                redrives.keep(&arn, token, *at_ms, now_ms);
            }
            reply(outcome);
        };
        Message::Redrive { id, reply: Box::new(keep) }
    });
    asked.await
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
    let events = service.reader.events(summary.id()).map_err(engine_error)?;
    let hidden = |event: &&Event| {
        matches!(
            event,
            Event::RetryScheduled { .. } | Event::StateFailed { .. } | Event::WaitStarted { .. }
        )
    };
    let shown = events.len() - events.iter().filter(hidden).count();
    Ok(shown + 1 >= usize::try_from(max).unwrap_or(usize::MAX))
}

/// The tokens of redrives that were made lately, so that a request that is repeated finds its answer.
/// In memory alone: after a restart a repeated request is told that the execution runs.
#[derive(Default)]
pub(crate) struct Redrives {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    by_execution: HashMap<String, VecDeque<Redrive>>,
    /// The executions, in the order of their redrives.
    order: VecDeque<(i64, String)>,
}

struct Redrive {
    token: String,
    at_ms: i64,
    used_ms: i64,
}

const TOKENS_MAX: usize = 10;
const TOKEN_MS: i64 = 15 * MINUTE_MS;

impl Redrives {
    fn known(&self, arn: &str, token: Option<&str>, now_ms: i64) -> Option<i64> {
        let kept = self.kept();
        let redrives = kept.by_execution.get(arn)?;
        let valid = |redrive: &&Redrive| {
            Some(redrive.token.as_str()) == token && now_ms - redrive.used_ms < TOKEN_MS
        };
        redrives.iter().find(valid).map(|redrive| redrive.at_ms)
    }

    fn keep(&self, arn: &str, token: String, at_ms: i64, now_ms: i64) {
        let mut kept = self.kept();
        kept.forget(now_ms - TOKEN_MS);
        let redrives = kept.by_execution.entry(arn.to_owned()).or_default();
        if redrives.len() == TOKENS_MAX {
            redrives.pop_front();
        }
        redrives.push_back(Redrive { token, at_ms, used_ms: now_ms });
        kept.order.push_back((now_ms, arn.to_owned()));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Drops what nobody may ask for any more.
    fn forget(&mut self, before_ms: i64) {
        while let Some((_, arn)) = self.order.pop_front_if(|(used_ms, _)| *used_ms <= before_ms) {
            if let Some(redrives) = self.by_execution.get_mut(&arn) {
                redrives.retain(|redrive| redrive.used_ms > before_ms);
                if redrives.is_empty() {
                    self.by_execution.remove(&arn);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_known_for_a_while() {
        let redrives = Redrives::default();
        for number in 0..12 {
            redrives.keep("a", number.to_string(), 100 + number, number);
        }
        let check = |arn, token, now_ms, expected| {
            assert_eq!(
                redrives.known(arn, Some(token), now_ms),
                expected,
                "{arn} {token} {now_ms}"
            );
        };
        check("a", "11", 20, Some(111));
        check("a", "2", 20, Some(102));
        check("a", "1", 20, None);
        check("b", "11", 20, None);
        check("a", "11", 11 + TOKEN_MS, None);
        assert_eq!(redrives.known("a", None, 20), None);
        redrives.keep("b", "x".to_owned(), 1, 20 + TOKEN_MS);
        assert!(!redrives.kept().by_execution.contains_key("a"), "it is forgotten");
    }
}
