//! `ListMapRuns`: those of one execution, latest first.

use everstep_api::protocol::timestamp;
use everstep_executions::ExecutionId;
use serde_json::{Value, json};

use super::{Answer, describe_execution, page};
use crate::args::Args;
use crate::map_run::{self, Found};
use crate::service::{Service, engine_error};

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = describe_execution::find(service, args, args.required("executionArn"))?;
    let before = match page::position(service, args)? {
        None => u32::MAX,
        Some(place) => {
            let number = place.try_into().map(u32::from_be_bytes);
            number.map_err(|_| page::invalid(args))?
        }
    };
    let id = ExecutionId::of(&summary.arn);
    let mut runs = map_run::of_execution(&service.reader, id).map_err(engine_error)?;
    runs.retain(|found| found.run < before);
    runs.reverse();
    let size = args.page_size();
    let shown: Vec<Value> = runs.iter().take(size).map(shown).collect();
    let mut answer = json!({ "mapRuns": shown });
    if runs.len() > size {
        let last = runs[size - 1].run.to_be_bytes();
        answer["nextToken"] = page::token(service, args, &last).into();
    }
    Ok(answer)
}

fn shown(found: &Found) -> Value {
    let record = &found.record;
    let mut shown = json!({
        "executionArn": record.execution_arn,
        "mapRunArn": record.arn,
        "stateMachineArn": record.machine_arn,
        "startDate": timestamp(record.started_ms),
    });
    if let Some(ms) = record.stopped_ms {
        shown["stopDate"] = Value::Number(timestamp(ms));
    }
    shown
}
