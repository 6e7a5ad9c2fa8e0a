//! `DescribeActivity`.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Error, Name, timestamp};
use serde_json::json;

use super::configuration::shown_encryption;
use super::{Answer, target};
use crate::args::Args;
use crate::catalog::Activity;
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = checked(args)?;
    let found = service.catalog.find::<Activity>(&Activity::key(arn))?;
    let activity = found.ok_or_else(|| missing(args, arn))?.value;
    Ok(json!({
        "activityArn": activity.arn,
        "name": activity.name,
        "creationDate": timestamp(activity.created_ms),
        "encryptionConfiguration": shown_encryption(activity.encryption.as_ref()),
    }))
}

/// `activityArn`, which must be one.
pub(super) fn checked<'r>(args: Args<'r>) -> Result<&'r str, Error> {
    let arn = args.required("activityArn");
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    match parsed.kind {
        Kind::Activity { .. } => Ok(arn),
        _ => Err(target::other_kind(args, arn)),
    }
}

pub(super) fn missing(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::ActivityDoesNotExist, format!("Activity Does Not Exist: '{arn}'"))
}
