//! `ListStateMachineVersions`: the latest first.
//!
//! A machine that is not there has none: the operation declares no error that would say so.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::timestamp;
use serde_json::json;

use super::{Answer, page, target};
use crate::args::Args;
use crate::catalog::{Order, Version};
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("stateMachineArn");
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    match parsed.kind {
        Kind::StateMachine { label: None, qualifier: None, .. } => {}
        Kind::StateMachine { label: Some(_), .. } => return Err(target::labelled(args, arn)),
        _ => return Err(target::other_kind(args, arn)),
    }
    let rows = (Version::prefix(arn), Order::Falling);
    page::of(service, args, (&rows.0, rows.1), "stateMachineVersions", |version: &Version| {
        json!({
            "stateMachineVersionArn": version.arn,
            "creationDate": timestamp(version.created_ms),
        })
    })
}
