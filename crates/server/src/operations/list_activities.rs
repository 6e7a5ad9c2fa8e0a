//! `ListActivities`: by name.

use everstep_api::protocol::timestamp;
use serde_json::json;

use super::{Answer, page};
use crate::args::Args;
use crate::catalog::{Activity, Order};
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    page::of(
        service,
        args,
        (Activity::PREFIX, Order::Rising),
        "activities",
        |activity: &Activity| {
            json!({
                "activityArn": activity.arn,
                "name": activity.name,
                "creationDate": timestamp(activity.created_ms),
            })
        },
    )
}
