//! What the operations on a task's token share.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Error, Name};
use everstep_executions::{Error as Engine, ExecutionId, Message, Report};
use everstep_interpreter::Attempt;
use serde_json::json;

use super::Answer;
use crate::args::Args;
use crate::service::{Service, engine_error};

/// The attempt that the request's token names.
pub(super) fn attempt(service: &Service, args: Args<'_>) -> Result<(ExecutionId, Attempt), Error> {
    let invalid = || args.error(Name::InvalidToken, "Invalid Token: 'Invalid token'");
    let (arn, attempt) = service.token_key.parse(args.required("taskToken")).ok_or_else(invalid)?;
    match Arn::parse(&arn).map(|arn| arn.kind) {
        Ok(Kind::Execution { .. } | Kind::Express { .. }) => Ok((ExecutionId::of(&arn), attempt)),
        _ => Err(invalid()),
    }
}

/// Says what became of the attempt.
pub(super) async fn report(service: &Service, args: Args<'_>, report: Report) -> Answer {
    let (id, attempt) = attempt(service, args)?;
    let said =
        service.ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) }).await;
    answer(args, said)
}

pub(super) fn answer(args: Args<'_>, outcome: everstep_executions::Result<()>) -> Answer {
    match outcome {
        Ok(()) => Ok(json!({})),
        Err(Engine::Settled) => {
            let message = "Task Timed Out: 'Provided task does not exist anymore'";
            Err(args.error(Name::TaskTimedOut, message))
        }
        // The service's own words are not known.
        Err(Engine::NoSuchTask | Engine::NotFound) => {
            let message = "Task Does Not Exist: 'Provided task does not exist'";
            Err(args.error(Name::TaskDoesNotExist, message))
        }
        Err(other) => Err(engine_error(other)),
    }
}
