//! `DeleteActivity`: one that is not there is deleted already.

use serde_json::json;

use super::{Answer, describe_activity};
use crate::args::Args;
use crate::catalog::{Activity, Change};
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = describe_activity::checked(args)?;
    let mut change = Change::new();
    change.erase(&Activity::key(arn));
    service.catalog.commit(change).await?;
    Ok(json!({}))
}
