//! `StartExecution`: idempotent by name while the execution runs.

use everstep_history::Payload;
use everstep_runtime::{Error as Engine, Message, Start};
use serde_json::json;

use super::{Answer, target};
use crate::args::Args;
use crate::arn::name_problem;
use crate::protocol::{Error, Name, timestamp};
use crate::service::{Service, engine_error};

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let target = target::find(service, args, args.required("stateMachineArn")).await?;
    let name = match args.text("name") {
        Some(name) => checked(args, name)?.to_owned(),
        None => uuid::Uuid::new_v4().to_string(),
    };
    let input = read_input(args, target.prepared.program.limits.payload_bytes)?;
    let machine = target.machine.arn.replacen(":stateMachine:", ":execution:", 1);
    let arn = if target.machine.express {
        let machine = machine.replacen(":execution:", ":express:", 1);
        format!("{machine}:{name}:{}", uuid::Uuid::new_v4())
    } else {
        format!("{machine}:{name}")
    };
    let mut start = Start::new(&arn, target.prepared.clone(), input);
    start.lists = target.lists();
    start.labels = target.labels();
    let start = Box::new(start);
    let started = service.ask(|reply| Message::Start { start, reply, watcher: None }).await;
    let started = started.map_err(|error| match error {
        Engine::AlreadyExists(_) => {
            args.error(Name::ExecutionAlreadyExists, format!("Execution Already Exists: '{arn}'"))
        }
        other => engine_error(other),
    })?;
    Ok(json!({ "executionArn": arn, "startDate": timestamp(started.started_ms) }))
}

pub(super) fn checked<'a>(args: Args<'_>, name: &'a str) -> Result<&'a str, Error> {
    match name_problem(name) {
        None => Ok(name),
        Some(_) => Err(args.error(Name::InvalidName, format!("Invalid Name: '{name}'"))),
    }
}

/// The input of an execution: JSON of a bounded size, `{}` if there is none.
pub(super) fn read_input(args: Args<'_>, bytes_max: usize) -> Result<Payload, Error> {
    let text = args.text("input").unwrap_or("{}");
    let invalid = |message: String| args.error(Name::InvalidExecutionInput, message);
    if text.len() > bytes_max {
        let message = format!(
            "Invalid State Machine Execution Input: 'The input is larger than {bytes_max} bytes'"
        );
        return Err(invalid(message));
    }
    Payload::from_text(text)
        .map_err(|error| invalid(format!("Invalid State Machine Execution Input: '{error}'")))
}
