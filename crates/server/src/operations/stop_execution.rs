//! `StopExecution`. One that is over stays as it is, and its end is the answer: the service's text leaves
//! that open.

use everstep_api::protocol::timestamp;
use everstep_executions::{Error as Engine, Message};
use everstep_interpreter::Failure;
use serde_json::json;

use super::Answer;
use super::describe_execution::{find, missing};
use crate::args::Args;
use crate::service::{Service, engine_error};

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = find(service, args, args.required("executionArn"))?;
    let id = summary.id();
    let failure = Failure {
        error: args.text("error").map(Into::into),
        cause: args.text("cause").map(Into::into),
    };
    let stopped = service.ask(|reply| Message::Stop { id, failure, reply }).await;
    match stopped {
        Ok(at_ms) => Ok(json!({ "stopDate": timestamp(at_ms) })),
        Err(Engine::NotFound) => Err(missing(args, &summary.arn)),
        Err(other) => Err(engine_error(other)),
    }
}
