//! All that the world must do, read off events once they are durable.

use std::sync::Arc;

use everstep_asl::model::{Kind, Resource};
use everstep_history::{Attempt, Event, Failure, FrameId, Payload};

use crate::execution::Execution;
use crate::map_run::MapRun;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Run a task, and report the result under this attempt.
    ScheduleTask {
        attempt: Attempt,
        state: Arc<str>,
        resource: Arc<Resource>,
        parameters: Payload,
        credentials: Option<Payload>,
    },
    /// Run a child execution for each input, or continue those of a redriven Map Run, and report how
    /// they ended.
    StartMapRun {
        attempt: Attempt,
        state: Arc<str>,
        frame: FrameId,
        plan: MapRun,
    },
    /// The result of this task is no longer needed.
    CancelTask {
        attempt: Attempt,
    },
    Succeed {
        output: Payload,
    },
    Fail {
        failure: Failure,
    },
    TimeOut,
    Abort {
        failure: Failure,
    },
}

/// What these events ask for. `execution` is as it was when they had been applied.
#[must_use]
pub fn effects(execution: &Execution, events: &[Event]) -> Vec<Effect> {
    let mut effects: Vec<Effect> =
        events.iter().filter_map(|event| effect(execution, event)).collect();
    if events.iter().any(ends) {
        effects.extend(execution.left_behind().map(|attempt| Effect::CancelTask { attempt }));
    }
    effects
}

/// What has been asked for and must be asked for again after a crash. `events` are all the events of
/// the execution.
#[must_use]
pub fn undelivered(execution: &Execution, events: &[Event]) -> Vec<Effect> {
    let asks = |event: &&Event| match event {
        Event::TaskScheduled { attempt, .. }
        | Event::MapRunStarted { attempt, .. }
        | Event::MapRunRedriven { attempt, .. } => {
            execution.awaits(*attempt) && !execution.is_handed_over(*attempt)
        }
        _ => false,
    };
    events.iter().filter(asks).filter_map(|event| effect(execution, event)).collect()
}

fn ends(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionFailed { .. }
            | Event::ExecutionTimedOut { .. }
            | Event::ExecutionAborted { .. }
    )
}

fn effect(execution: &Execution, event: &Event) -> Option<Effect> {
    Some(match event {
        Event::TaskScheduled { attempt, parameters, credentials, .. }
            if execution.awaits(*attempt) =>
        {
            let state = execution.state_of(attempt.frame)?;
            let Kind::Task(task) = &state.kind else { return None };
            Effect::ScheduleTask {
                attempt: *attempt,
                state: state.name.clone(),
                resource: task.resource.clone(),
                parameters: parameters.clone(),
                credentials: credentials.clone(),
            }
        }
        Event::MapRunStarted { attempt, frame, .. }
        | Event::MapRunRedriven { attempt, frame, .. }
            if execution.awaits(*attempt) =>
        {
            let state = execution.state_of(*frame)?.name.clone();
            let plan = execution.map_run(*frame)?.plan.clone();
            Effect::StartMapRun { attempt: *attempt, state, frame: *frame, plan }
        }
        Event::TaskTimedOut { attempt, .. }
        | Event::StateAborted { attempt: Some(attempt), .. } => {
            Effect::CancelTask { attempt: *attempt }
        }
        Event::ExecutionSucceeded { output, .. } => Effect::Succeed { output: output.clone() },
        Event::ExecutionFailed { failure, .. } => Effect::Fail { failure: failure.clone() },
        Event::ExecutionTimedOut { .. } => Effect::TimeOut,
        Event::ExecutionAborted { failure, .. } => Effect::Abort { failure: failure.clone() },
        _ => return None,
    })
}
