//! `CreateStateMachineAlias`: a second request that is the same finds the first one's alias.

use everstep_api::protocol::{Error, Name, timestamp};
use serde_json::{Value, json};

use super::{Answer, aliases, target};
use crate::args::Args;
use crate::catalog::{Alias, Change};
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let name = args.required("name");
    let Some((machine_arn, routes)) = aliases::routes(args)? else {
        return Err(aliases::not_found(args, name));
    };
    let wanted = Alias {
        arn: format!("{machine_arn}:{name}"),
        name: name.to_owned(),
        description: args.text("description").map(str::to_owned),
        created_ms: service.now_ms(),
        updated_ms: service.now_ms(),
        routes,
    };
    loop {
        let machine = service.machine(&machine_arn)?;
        let mut machine = machine.ok_or_else(|| aliases::not_found(args, &machine_arn))?;
        if machine.value.deleting {
            return Err(target::deleting(args, &machine_arn));
        }
        let key = Alias::key(&machine_arn, name);
        if let Some(known) = service.catalog.find::<Alias>(&key)? {
            return repeated(args, &wanted, &known.value);
        }
        aliases::lead_somewhere(service, args, &machine_arn, &wanted.routes)?;
        if machine.value.aliases >= aliases::ALIASES_MAX {
            return Err(too_many(args));
        }
        machine.value.aliases += 1;
        let mut change = Change::new();
        change.add(&key, &wanted);
        change.touch(&mut machine);
        if service.catalog.commit(change).await? {
            return Ok(answer(&wanted));
        }
    }
}

fn repeated(args: Args<'_>, wanted: &Alias, known: &Alias) -> Answer {
    if (&wanted.description, &wanted.routes) == (&known.description, &known.routes) {
        return Ok(answer(known));
    }
    let message = "Failed to create alias because an alias with the same name and a different \
                   routing configuration already exists.";
    Err(args.error(Name::ConflictException, message))
}

fn too_many(args: Args<'_>) -> Error {
    let most = aliases::ALIASES_MAX;
    let message = format!("The state machine has {most} aliases: delete one to create another");
    args.error(Name::ServiceQuotaExceededException, message)
}

fn answer(alias: &Alias) -> Value {
    json!({
        "stateMachineAliasArn": alias.arn,
        "creationDate": timestamp(alias.created_ms),
    })
}
