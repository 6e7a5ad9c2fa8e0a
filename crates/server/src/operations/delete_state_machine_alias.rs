//! `DeleteStateMachineAlias`: the versions it leads to stay. One that is not there is deleted already.

use serde_json::json;

use super::{Answer, aliases};
use crate::args::Args;
use crate::catalog::{Alias, Change};
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("stateMachineAliasArn");
    let (machine_arn, name) = aliases::qualified(args, arn)?;
    loop {
        let machine = service.machine(&machine_arn)?;
        let mut machine = machine.ok_or_else(|| aliases::not_found(args, arn))?;
        let Some(alias) = service.catalog.find::<Alias>(&Alias::key(&machine_arn, name))? else {
            return Ok(json!({}));
        };
        machine.value.aliases = machine.value.aliases.saturating_sub(1);
        let mut change = Change::new();
        change.remove(&alias);
        change.touch(&mut machine);
        if service.catalog.commit(change).await? {
            return Ok(json!({}));
        }
    }
}
