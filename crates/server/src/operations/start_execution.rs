//! `StartExecution`: idempotent by name while the execution runs.

use everstep_api::arn::name_problem;
use everstep_api::protocol::{Error, Name, timestamp};
use everstep_drivers::nested::PARENT;
use everstep_executions::{Ended, Error as Engine, Message, Reply, Standing, Start, Summary};
use everstep_history::{Event, Payload};
use serde_json::json;

use super::target::Target;
use super::{Answer, target};
use crate::args::Args;
use crate::service::{Service, engine_error};
use crate::test_case;

/// The label of an execution that was given a trace header.
pub(crate) const TRACE: &str = "trace";

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let begun = begin(service, args, None, None).await?;
    Ok(json!({ "executionArn": begun.arn, "startDate": timestamp(begun.started_ms) }))
}

/// An execution that has been started, now or before.
pub(crate) struct Begun {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) started_ms: i64,
    pub(crate) input: Payload,
    pub(crate) target: Target,
}

/// Starts an execution. `parent` is the token of the task that wants it: asked again after a crash, the
/// task finds the execution that it has started, be it over or not.
pub(crate) async fn begin(
    service: &Service,
    args: Args<'_>,
    parent: Option<&str>,
    watcher: Option<Reply<Ended>>,
) -> Result<Begun, Error> {
    let (machine_arn, test_case) = test_case::split(service, args.required("stateMachineArn"));
    let target = target::find(service, args, machine_arn).await?;
    let name = match args.text("name") {
        Some(name) => checked(args, name)?.to_owned(),
        None => uuid::Uuid::new_v4().to_string(),
    };
    let input = read_input(args, target.prepared.program.limits.payload_bytes)?;
    let arn = execution_arn(&target.machine.arn, target.machine.express, &name);
    if let (Some(test_cases), Some(test_case)) = (&service.test_cases, test_case) {
        let machine = &target.prepared.program.machine;
        test_cases
            .begin(&arn, &target.machine.name, test_case, machine)
            .map_err(|why| target::invalid_arn(args, format!("Invalid Arn: '{why}'")))?;
    }
    let mut start = Start::new(&arn, target.prepared.clone(), input.clone());
    start.lists = target.lists();
    start.labels = target.labels();
    let extra = [(TRACE, args.text("traceHeader")), (PARENT, parent)];
    let named = |(label, value): (&str, Option<&str>)| Some((label.to_owned(), value?.to_owned()));
    start.labels.extend(extra.into_iter().filter_map(named));
    let start = Box::new(start);
    let started = service.ask(|reply| Message::Start { start, reply, watcher }).await;
    let started_ms = match started {
        Ok(started) => started.started_ms,
        Err(Engine::AlreadyExists(known)) if meant(service, &known, &input, parent)? => {
            known.started_ms
        }
        Err(Engine::AlreadyExists(_)) => return Err(already_exists(args, &arn)),
        Err(other) => return Err(engine_error(other)),
    };
    Ok(Begun { arn, name, started_ms, input, target })
}

/// Whether a known execution is the one that is asked for. The service compares names and inputs, and
/// not what the machine was then.
fn meant(
    service: &Service,
    known: &Summary,
    input: &Payload,
    parent: Option<&str>,
) -> Result<bool, Error> {
    if parent.is_some_and(|parent| label(known, PARENT) == Some(parent)) {
        return Ok(true);
    }
    if known.standing != Standing::Running {
        return Ok(false);
    }
    let steps = service.reader.first_and_last(known).map_err(engine_error)?;
    let same = |event: &Event| matches!(event, Event::ExecutionStarted { input: given, .. } if given == input);
    Ok(steps.is_some_and(|(first, _)| first.iter().any(same)))
}

/// What the one who started an execution wanted to know again.
pub(crate) fn label<'s>(summary: &'s Summary, name: &str) -> Option<&'s str> {
    summary.labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// `arn:...:execution:machine:name`; each start of an EXPRESS workflow is another execution.
pub(crate) fn execution_arn(machine_arn: &str, express: bool, name: &str) -> String {
    let of = |kind| machine_arn.replacen(":stateMachine:", kind, 1);
    if express {
        format!("{}:{name}:{}", of(":express:"), uuid::Uuid::new_v4())
    } else {
        format!("{}:{name}", of(":execution:"))
    }
}

fn already_exists(args: Args<'_>, arn: &str) -> Error {
    let name = Name::ExecutionAlreadyExists;
    if args.operation.declares(name) {
        args.error(name, format!("Execution Already Exists: '{arn}'"))
    } else {
        engine_error(Engine::damaged("a name drawn at random is taken"))
    }
}

fn checked<'a>(args: Args<'_>, name: &'a str) -> Result<&'a str, Error> {
    match name_problem(name) {
        None => Ok(name),
        Some(_) => Err(args.error(Name::InvalidName, format!("Invalid Name: '{name}'"))),
    }
}

/// The input of an execution: JSON of a bounded size, `{}` if there is none. The service has what its
/// own parser says between the quotes.
fn read_input(args: Args<'_>, bytes_max: usize) -> Result<Payload, Error> {
    let text = args.text("input").unwrap_or("{}");
    let invalid = |problem: String| {
        let message = format!("Invalid State Machine Execution Input: '{problem}'");
        args.error(Name::InvalidExecutionInput, message)
    };
    if text.len() > bytes_max {
        return Err(invalid(format!("the input is larger than {bytes_max} bytes")));
    }
    Payload::from_text(text).map_err(|error| invalid(error.to_string()))
}
