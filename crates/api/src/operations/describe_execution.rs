//! `DescribeExecution`.

use everstep_history::Event;
use everstep_runtime::{ExecutionId, Standing, Summary};
use serde_json::{Value, json};

use super::Answer;
use super::target::{ALIAS, VERSION, invalid_arn};
use crate::args::Args;
use crate::arn::{Arn, Kind};
use crate::protocol::{Error, Name, timestamp};
use crate::service::{Service, engine_error};

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = find(service, args, args.required("executionArn"))?;
    let id = ExecutionId::of(&summary.arn);
    let steps = service.reader.first_and_last(id).map_err(engine_error)?;
    let mut answer = described(service, &summary)?;
    let data = args.text("includedData") != Some("METADATA_ONLY");
    for event in steps.iter().flat_map(|(first, last)| first.iter().chain(last)) {
        match event {
            Event::ExecutionStarted { input, .. } => {
                if data {
                    answer["input"] = input.text().into();
                }
                answer["inputDetails"] = json!({ "included": data });
            }
            Event::ExecutionSucceeded { output, .. } if summary.standing == Standing::Succeeded => {
                if data {
                    answer["output"] = output.text().into();
                }
                answer["outputDetails"] = json!({ "included": data });
            }
            Event::ExecutionFailed { failure, .. } | Event::ExecutionAborted { failure, .. }
                if summary.standing != Standing::Running && data =>
            {
                for (member, value) in [("error", &failure.error), ("cause", &failure.cause)] {
                    if let Some(value) = value {
                        answer[member] = value.to_string().into();
                    }
                }
            }
            _ => {}
        }
    }
    Ok(answer)
}

/// The execution that an ARN names.
pub(super) fn find(service: &Service, args: Args<'_>, arn: &str) -> Result<Summary, Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| invalid_arn(args, wrong.0))?;
    let Kind::Execution { .. } = parsed.kind else {
        return Err(invalid_arn(
            args,
            format!("Invalid Arn: 'Resource type not valid in this context: {arn}'"),
        ));
    };
    let summary = service.reader.summary(ExecutionId::of(arn)).map_err(engine_error)?;
    summary.ok_or_else(|| missing(args, arn))
}

pub(super) fn missing(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::ExecutionDoesNotExist, format!("Execution Does Not Exist: '{arn}'"))
}

pub(super) fn status(standing: Standing) -> &'static str {
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
    let arns = [(VERSION, "stateMachineVersionArn"), (ALIAS, "stateMachineAliasArn")];
    for (label, member) in arns {
        if let Some((_, arn)) = summary.labels.iter().find(|(name, _)| name == label) {
            answer[member] = arn.clone().into();
        }
    }
    Ok(answer)
}
