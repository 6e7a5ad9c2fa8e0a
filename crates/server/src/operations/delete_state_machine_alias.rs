//! `DeleteStateMachineAlias`: the versions it leads to stay.

use serde_json::json;

use super::{Answer, aliases};
use crate::args::Args;
use crate::catalog::Change;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    loop {
        let arn = args.required("stateMachineAliasArn");
        let (mut machine, alias) = aliases::find(service, args, arn)?;
        machine.value.aliases = machine.value.aliases.saturating_sub(1);
        let mut change = Change::new();
        change.remove(&alias);
        change.touch(&mut machine);
        if service.catalog.commit(change).await? {
            return Ok(json!({}));
        }
    }
}
