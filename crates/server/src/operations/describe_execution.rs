//! `DescribeExecution`.

use everstep_api::arn::{Arn, Kind, wrong_kind};
use everstep_api::protocol::{Error, Name, timestamp};
use everstep_executions::{ExecutionId, Standing, Summary};
use everstep_history::{Event, Failure};
use serde_json::{Value, json};

use super::Answer;
use super::redrive_execution::obstacle;
use super::start_execution::{TRACE, label};
use super::target::{ALIAS, VERSION, invalid_arn};
use crate::args::Args;
use crate::map_run;
use crate::service::{Service, engine_error};
use everstep_drivers::map_run::MAP_RUN;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = find(service, args, args.required("executionArn"))?;
    description(service, &summary, args.text("includedData") != Some("METADATA_ONLY"))
}

/// All that is shown of one execution; `data` is its input, output and failure.
pub(crate) fn description(service: &Service, summary: &Summary, data: bool) -> Answer {
    let steps = service.reader.first_and_last(summary).map_err(engine_error)?;
    let mut answer = described(service, summary)?;
    if data && summary.standing == Standing::TimedOut {
        let prepared = service.reader.prepared(summary).map_err(engine_error)?;
        add_failure(&mut answer, &prepared.program.shown_timeout());
    }
    for event in steps.iter().flat_map(|(first, last)| first.iter().chain(last)) {
        add(&mut answer, summary.standing, event, data);
    }
    if let Some(header) = label(summary, TRACE) {
        answer["traceHeader"] = header.into();
    }
    let (status, reason) = redrive_status(service, summary)?;
    answer["redriveStatus"] = status.into();
    if let Some(reason) = reason {
        answer["redriveStatusReason"] = reason.into();
    }
    Ok(answer)
}

/// Whether an execution can be redriven, and why not.
pub(crate) fn redrive_status(
    service: &Service,
    summary: &Summary,
) -> Result<(&'static str, Option<&'static str>), Error> {
    Ok(match obstacle(service, summary)? {
        // A child continues when the execution that started it is redriven.
        None if map_run::parent_run(summary).is_some() => ("REDRIVABLE_BY_MAP_RUN", None),
        None => ("REDRIVABLE", None),
        Some(reason) => ("NOT_REDRIVABLE", Some(reason)),
    })
}

/// What an event of the first or the last step tells.
fn add(answer: &mut Value, standing: Standing, event: &Event, data: bool) {
    match (event, standing) {
        (Event::ExecutionStarted { input, .. }, _) => {
            answer["inputDetails"] = json!({ "included": data });
            if data {
                answer["input"] = input.text().into();
            }
        }
        (Event::ExecutionSucceeded { output, .. }, Standing::Succeeded) => {
            answer["outputDetails"] = json!({ "included": data });
            if data {
                answer["output"] = output.text().into();
            }
        }
        (Event::ExecutionFailed { failure, .. }, Standing::Failed)
        | (Event::ExecutionAborted { failure, .. }, Standing::Aborted)
            if data =>
        {
            add_failure(answer, failure);
        }
        _ => {}
    }
}

pub(super) fn add_failure(answer: &mut Value, failure: &Failure) {
    for (member, value) in [("error", &failure.error), ("cause", &failure.cause)] {
        if let Some(value) = value {
            answer[member] = value.to_string().into();
        }
    }
}

/// The execution that an ARN names. Nothing is kept of EXPRESS executions.
pub(super) fn find(service: &Service, args: Args<'_>, arn: &str) -> Result<Summary, Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| invalid_arn(args, wrong.0))?;
    let Kind::Execution { .. } = parsed.kind else {
        return Err(invalid_arn(args, wrong_kind(arn)));
    };
    let summary = service.reader.summary(ExecutionId::of(arn)).map_err(engine_error)?;
    summary.ok_or_else(|| missing(args, arn))
}

pub(super) fn missing(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::ExecutionDoesNotExist, format!("Execution Does Not Exist: '{arn}'"))
}

pub(crate) fn status(standing: Standing) -> &'static str {
    match standing {
        Standing::Running => "RUNNING",
        Standing::Succeeded => "SUCCEEDED",
        Standing::Failed => "FAILED",
        Standing::TimedOut => "TIMED_OUT",
        Standing::Aborted => "ABORTED",
    }
}

/// What lists and descriptions share.
pub(super) fn described(service: &Service, summary: &Summary) -> Answer {
    let prepared = service.reader.prepared(summary).map_err(engine_error)?;
    let mut answer = json!({
        "executionArn": summary.arn,
        "stateMachineArn": prepared.revision.machine_arn,
        "name": summary.arn.rsplit(':').next(),
        "status": status(summary.standing),
        "startDate": timestamp(summary.started_ms),
        "redriveCount": summary.redrives,
    });
    let dates = [("stopDate", summary.stopped_ms), ("redriveDate", summary.redriven_ms)];
    for (member, date) in dates {
        if let Some(ms) = date {
            answer[member] = Value::Number(timestamp(ms));
        }
    }
    let arns = [
        (VERSION, "stateMachineVersionArn"),
        (ALIAS, "stateMachineAliasArn"),
        (MAP_RUN, "mapRunArn"),
    ];
    for (name, member) in arns {
        if let Some(arn) = label(summary, name) {
            answer[member] = arn.into();
        }
    }
    Ok(answer)
}
