//! `DeleteStateMachine`: versions and aliases go at once, the machine when its executions are over.
//!
//! The service ends executions at their next transition. Here they run to their end, and nothing new is
//! started.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::Error;
use serde_json::json;

use super::{Answer, target};
use crate::args::Args;
use crate::catalog::{Alias, Change, Deleting, Version};
use crate::removal;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("stateMachineArn");
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    match parsed.kind {
        Kind::StateMachine { label: None, qualifier: None, .. } => {}
        Kind::StateMachine { label: Some(_), .. } => return Err(target::labelled(args, arn)),
        _ => return Err(target::other_kind(args, arn)),
    }
    while !mark(service, arn).await? {}
    removal::is_gone(service, arn).await?;
    Ok(json!({}))
}

/// Marks a machine; one that is not there is deleted already. `false` if it has changed meanwhile.
async fn mark(service: &Service, arn: &str) -> Result<bool, Error> {
    let Some(mut machine) = service.machine(arn)?.filter(|machine| !machine.value.deleting) else {
        return Ok(true);
    };
    let mut change = Change::new();
    for version in service.catalog.all::<Version>(&Version::prefix(arn))? {
        change.remove(&version);
    }
    for alias in service.catalog.all::<Alias>(&Alias::prefix(arn))? {
        change.remove(&alias);
    }
    change.put(&Deleting::key(arn), &Deleting { arn: arn.to_owned() });
    let value = &mut machine.value;
    (value.deleting, value.published, value.versions, value.aliases) = (true, None, 0, 0);
    change.touch(&mut machine);
    Ok(service.catalog.commit(change).await?)
}
