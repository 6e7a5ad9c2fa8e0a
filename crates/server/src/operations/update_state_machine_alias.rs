//! `UpdateStateMachineAlias`.

use everstep_api::protocol::{Name, timestamp};
use serde_json::json;

use super::{Answer, aliases, target};
use crate::args::Args;
use crate::catalog::Change;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let routes = aliases::routes(args)?;
    let description = args.text("description");
    if routes.is_none() && description.is_none() {
        // The words are a guess.
        let message = "Either the description or the routing configuration must be specified";
        let error = args.error(Name::ValidationException, message);
        return Err(error.with("reason", "MISSING_REQUIRED_PARAMETER"));
    }
    loop {
        let arn = args.required("stateMachineAliasArn");
        let (mut machine, mut alias) = aliases::find(service, args, arn)?;
        if machine.value.deleting {
            return Err(target::deleting(args, &machine.value.arn));
        }
        let known = alias.value.clone();
        if let Some((machine_arn, routes)) = &routes {
            if *machine_arn != machine.value.arn {
                return Err(aliases::of_another_machine(args));
            }
            aliases::lead_somewhere(service, args, machine_arn, routes)?;
            alias.value.routes.clone_from(routes);
        }
        if let Some(description) = description {
            alias.value.description = Some(description.to_owned());
        }
        if alias.value != known {
            alias.value.updated_ms = service.now_ms();
            let mut change = Change::new();
            change.replace(&alias);
            change.touch(&mut machine);
            if !service.catalog.commit(change).await? {
                continue;
            }
        }
        return Ok(json!({ "updateDate": timestamp(alias.value.updated_ms) }));
    }
}
