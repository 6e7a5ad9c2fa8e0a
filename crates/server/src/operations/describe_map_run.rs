//! `DescribeMapRun`.

use everstep_api::arn::{Arn, Kind, wrong_kind};
use everstep_api::protocol::{Error, timestamp};
use serde_json::{Value, json};

use super::Answer;
use super::target::{invalid_arn, not_found};
use crate::args::Args;
use crate::map_run::{self, Found};
use crate::service::{Service, engine_error};

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let found = find(service, args, args.required("mapRunArn"))?;
    let record = &found.record;
    let settings = found.settings(&service.reader).map_err(engine_error)?;
    let live = service.map_runs.find(found.execution, record.attempt());
    let tallies = live.map_or(record.tallies, |live| live.tallies());
    let mut answer = json!({
        "mapRunArn": record.arn,
        "executionArn": record.execution_arn,
        "status": record.status,
        "startDate": timestamp(record.started_ms),
        "maxConcurrency": settings.max_concurrency,
        "toleratedFailurePercentage": settings.tolerated_percentage.unwrap_or(0.0),
        "toleratedFailureCount": settings.tolerated_count.unwrap_or(0),
        "itemCounts": tallies.items.shown(),
        "executionCounts": tallies.executions.shown(),
        "redriveCount": record.redrives,
    });
    for (member, date) in [("stopDate", record.stopped_ms), ("redriveDate", record.redriven_ms)] {
        if let Some(ms) = date {
            answer[member] = Value::Number(timestamp(ms));
        }
    }
    Ok(answer)
}

/// The Map Run that an ARN names. The words for one that is not there are a guess.
pub(super) fn find(service: &Service, args: Args<'_>, arn: &str) -> Result<Found, Error> {
    match Arn::parse(arn) {
        Err(wrong) => return Err(invalid_arn(args, wrong.0)),
        Ok(Arn { kind: Kind::MapRun { .. }, .. }) => {}
        Ok(_) => return Err(invalid_arn(args, wrong_kind(arn))),
    }
    let found = map_run::find(&service.reader, arn).map_err(engine_error)?;
    found.ok_or_else(|| not_found(args, arn))
}
