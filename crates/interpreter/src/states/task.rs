//! Task states.

use everstep_asl::error_name;
use everstep_asl::handling::Origin;
use everstep_asl::model::{Kind, Resource, State, Task};
use everstep_history::{Attempt, Event, Failure, FailureStage, FrameId, Payload};

use super::settings;
use crate::context::Extra;
use crate::decide::Decider;
use crate::execution::later;
use crate::fault::{Fault, not_too_deep};
use crate::flow::Evaluation;
use crate::raised::RaisedFailure;

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    task: &Task,
) -> Result<(), Fault> {
    if let Resource::Activity { arn } = &*task.resource
        && decider.missing_activities.contains(&arn.as_str())
    {
        return Err(Fault::Runtime(format!("The activity {arn} does not exist.")));
    }
    let input = decider.input(id);
    let attempt = Attempt { frame: id, number: decider.execution.attempts };
    let evaluation = decider.evaluation(id, extra(task, attempt));
    let bytes_max = decider.execution.program.limits.payload_bytes;
    let Call { parameters, credentials, timeout_seconds, heartbeat_seconds } =
        call(&evaluation, state, task, &input, bytes_max)?;
    let dialect = decider.dialect();
    let seconds = timeout_seconds.or_else(|| dialect.default_timeout_seconds());
    if let (true, Some(heartbeat), Some(timeout)) =
        (dialect.compares_heartbeats(), heartbeat_seconds, seconds)
        && heartbeat >= timeout
    {
        return Err(Fault::Runtime(format!(
            "HeartbeatSeconds ({heartbeat}) must be smaller than TimeoutSeconds ({timeout})"
        )));
    }
    decider.emit(Event::TaskScheduled {
        attempt,
        at_ms: decider.now_ms,
        parameters,
        timeout_seconds,
        heartbeat_seconds,
        deadline_ms: seconds.map(|seconds| later(decider.now_ms, seconds)),
        credentials,
    });
    Ok(())
}

/// Whether there is a token is recorded: `.sync` has one too.
fn extra(task: &Task, attempt: Attempt) -> Extra<'static> {
    let token = task.resource.has_token().then_some(attempt);
    Extra { task: token, ..Extra::default() }
}

/// What a task is called with.
pub(crate) struct Call {
    pub(crate) parameters: Payload,
    pub(crate) credentials: Option<Payload>,
    timeout_seconds: Option<u64>,
    heartbeat_seconds: Option<u64>,
}

pub(crate) fn call(
    evaluation: &Evaluation<'_>,
    state: &State,
    task: &Task,
    input: &Payload,
    bytes_max: usize,
) -> Result<Call, Fault> {
    let selected = evaluation.selected_input(state, input)?;
    let setting = |operand, field| settings::seconds(evaluation, operand, field, &selected);
    let timeout_seconds = setting(task.timeout.as_ref(), "TimeoutSeconds")?;
    let heartbeat_seconds = setting(task.heartbeat.as_ref(), "HeartbeatSeconds")?;
    let parameters = evaluation.effective_input(state, input)?;
    let credentials = match &task.credentials {
        Some(credentials) => {
            let found = evaluation.payload(credentials, "Credentials", &selected)?;
            Some(not_too_deep(found.into())?)
        }
        None => None,
    };
    if parameters.exceeds(bytes_max) {
        return Err(Fault::TooLarge { what: state.name.to_string() });
    }
    Ok(Call { parameters, credentials, timeout_seconds, heartbeat_seconds })
}

/// A result has come.
pub(crate) fn succeeded(decider: &mut Decider<'_>, attempt: Attempt, output: Payload) {
    let id = attempt.frame;
    let Some((machine, position)) = decider.place(id) else { return };
    let state = &machine.states[position as usize];
    let Kind::Task(task) = &state.kind else { return };
    if output.exceeds(decider.execution.program.limits.payload_bytes) {
        return too_large(decider, attempt, &task.resource);
    }
    decider.emit(Event::TaskSucceeded { attempt, at_ms: decider.now_ms, output: output.clone() });
    let input = decider.input(id);
    let finished = decider.evaluation(id, extra(task, attempt)).finish(state, &input, output);
    match finished.and_then(|finished| decider.exit(id, finished, &task.transition)) {
        Ok(()) => decider.wake(id),
        Err(fault) => decider.fault(id, fault),
    }
}

fn too_large(decider: &mut Decider<'_>, attempt: Attempt, resource: &Resource) {
    let what = match resource {
        Resource::Service { service, .. } => service,
        other => other.as_str(),
    };
    let failure = Failure::new(
        error_name::DATA_LIMIT_EXCEEDED,
        format!(
            "The state/task '{what}' returned a result with a size exceeding the maximum number of \
             bytes service limit."
        ),
    );
    let (at_ms, stage) = (decider.now_ms, FailureStage::Run);
    decider.emit(Event::TaskFailed { attempt, at_ms, failure: failure.clone(), stage });
    decider.fail(attempt.frame, RaisedFailure::new(failure, Origin::OversizedResult));
}
