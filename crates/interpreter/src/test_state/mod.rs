//! `TestState`: one state, run by itself, with a look at its data on the way.
//!
//! The same evaluation as in executions (`flow`, `states`), without events: nothing is recorded and
//! nothing waits. A pure function: a Task without a mock is not called here, it is handed to the
//! caller as a [`Call`], and the same request with the answer in it continues from there.

mod context;
mod definition;
mod items;
mod mock;
mod request;
mod response;
mod run;
#[cfg(test)]
mod tests;

pub use request::{
    Code, Configuration, FieldValidation, Level, Mock, MockError, Request, RequestError,
};
pub use response::{Call, ErrorDetails, Inspection, Response, TestStatus, Tested};

use everstep_asl::model::{Kind, Pattern, Resource};
use everstep_history::Payload;
use serde_json::{Map, Value};

use crate::execution::{Execution, Frame};
use crate::test_state::definition::Found;
use crate::test_state::run::Bench;
use crate::{FrameId, Program};

/// Runs the state that the request names.
pub fn test_state(request: &Request) -> Result<Tested, RequestError> {
    request.check()?;
    let name = request.state_name.as_deref();
    let found = definition::find(&request.definition, name, request.dialect)?;
    needs_mock(request, &found)?;
    needs_role(request, &found)?;
    let unchecked = match &request.mock {
        Some(mock) => mock::check(mock, found.state())?,
        None => None,
    };
    found.check_cause(request.configuration.error_caused_by_state.as_deref())?;
    let context = match &request.context {
        Some(text) => Some(context::read(text, found.state())?),
        None => None,
    };
    let execution = execution(request, &found)?;
    let tested = Bench { request, execution, context, entropy: request.entropy() }.run()?;
    Ok(tested.with_unchecked(unchecked))
}

/// What cannot be done without a mock.
fn needs_mock(request: &Request, found: &Found) -> Result<(), RequestError> {
    if request.mock.is_some() {
        return Ok(());
    }
    match &found.state().kind {
        Kind::Map(_) | Kind::Parallel(_) => Err(RequestError::new(
            Code::InvalidDefinition,
            "TestState API does not support Map or Parallel states. Supported state types include: \
             [Task, Wait, Pass, Succeed, Fail, Choice]",
        )),
        Kind::Task(task) => match &*task.resource {
            Resource::Activity { .. } => Err(unsupported("Activity tasks")),
            resource if resource.pattern() != Pattern::RequestResponse => {
                Err(unsupported(&format!("the {} pattern", resource.pattern().suffix())))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A task that is really called is called in somebody's name.
fn needs_role(request: &Request, found: &Found) -> Result<(), RequestError> {
    let is_called = matches!(found.state().kind, Kind::Task(_)) && request.mock.is_none();
    if is_called && request.identity.role_arn.is_empty() {
        return Err(RequestError::invalid("RoleArn must be specified when testing a Task state"));
    }
    Ok(())
}

fn unsupported(what: &str) -> RequestError {
    let message = format!("TestState API does not support {what} unless a mock is specified");
    RequestError::new(Code::InvalidDefinition, message)
}

/// An execution that has just entered the state.
fn execution(request: &Request, found: &Found) -> Result<Execution, RequestError> {
    let input = request.read_input()?;
    let program = Program {
        machine: found.machine.clone(),
        dialect: request.dialect,
        limits: request.limits,
    };
    let mut execution = Execution::new(program.into(), request.identity.clone());
    execution.input = input.clone();
    execution.started_ms = request.now_ms;
    let mut frame = Frame::new(None, found.machine.clone(), input);
    frame.state = found.position;
    frame.entered_ms = request.now_ms;
    frame.retries = vec![request.configuration.retrier_retry_count];
    frame.variables = variables(request.variables.as_deref())?
        .into_iter()
        .map(|(name, value)| (name.into(), Payload::new(value)))
        .collect();
    execution.frames.push(Some(Box::new(frame)));
    Ok(execution)
}

const FRAME: FrameId = FrameId::ROOT;

fn variables(text: Option<&str>) -> Result<Map<String, Value>, RequestError> {
    let Some(text) = text else { return Ok(Map::new()) };
    serde_json::from_str(text)
        .map_err(|_| RequestError::invalid("Variables must be a JSON object of names and values"))
}
