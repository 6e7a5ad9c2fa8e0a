//! `UpdateMapRun`: takes effect during the run.

use everstep_api::protocol::Name;
use serde_json::json;

use super::{Answer, describe_map_run};
use crate::args::Args;
use crate::map_run::{self, Settings, Status};
use crate::service::{Service, engine_error};

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let found = describe_map_run::find(service, args, args.required("mapRunArn"))?;
    let known = found.settings(&service.reader).map_err(engine_error)?;
    let wanted = Settings {
        max_concurrency: args
            .number("maxConcurrency")
            .map_or(known.max_concurrency, |number| u32::try_from(number).unwrap_or(u32::MAX)),
        tolerated_count: args.number("toleratedFailureCount").or(known.tolerated_count),
        tolerated_percentage: args
            .value("toleratedFailurePercentage")
            .and_then(serde_json::Value::as_f64)
            .or(known.tolerated_percentage),
    };
    if found.record.status != Status::Running {
        // The words are a guess.
        let message = format!("Map Run is not running: '{}'", found.record.arn);
        return Err(args.error(Name::ValidationException, message));
    }
    map_run::update(service, &found, wanted).await.map_err(engine_error)?;
    Ok(json!({}))
}
