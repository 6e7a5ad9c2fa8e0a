//! `ListStateMachineAliases`: of a machine or of one of its versions, the oldest first: so it is recorded, although the
//! documentation of the service has them the other way round.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Error, timestamp};
use serde_json::{Value, json};

use super::{Answer, aliases, page, target};
use crate::args::Args;
use crate::catalog::{Alias, Version};
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("stateMachineArn");
    let machine_arn = machine_of(service, args, arn)?;
    let prefix = Alias::prefix(&machine_arn);
    // There are few: they are put in order here.
    let all = service.catalog.all::<Alias>(&prefix)?;
    let mut all: Vec<Alias> = all.into_iter().map(|entry| entry.value).collect();
    all.retain(|alias| machine_arn == arn || alias.leads_to(arn));
    let place = |alias: &Alias| format!("{prefix}{:020}/{}", alias.created_ms, alias.name);
    all.sort_by_cached_key(place);
    if let Some(last) = page::last(service, args)? {
        all.retain(|alias| place(alias) > last);
    }
    let size = args.page_size();
    let shown: Vec<Value> = all.iter().take(size).map(shown).collect();
    let mut answer = json!({ "stateMachineAliases": shown });
    if all.len() > size {
        answer["nextToken"] = page::token(service, args, place(&all[size - 1]).as_bytes()).into();
    }
    Ok(answer)
}

fn shown(alias: &Alias) -> Value {
    json!({ "stateMachineAliasArn": alias.arn, "creationDate": timestamp(alias.created_ms) })
}

/// The ARN of the machine; it must be there, and the version that is meant too.
fn machine_of(service: &Service, args: Args<'_>, arn: &str) -> Result<String, Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    let Kind::StateMachine { label: None, qualifier: Some(_), .. } = parsed.kind else {
        let machine = target::machine(service, args, arn)?.value;
        return if machine.deleting { Err(target::deleting(args, arn)) } else { Ok(machine.arn) };
    };
    let (machine_arn, number) = aliases::qualified(args, arn)?;
    let number = number.parse().map_err(|_| target::other_kind(args, arn))?;
    let version = service.catalog.find::<Version>(&Version::key(&machine_arn, number))?;
    version.map(|_| machine_arn).ok_or_else(|| aliases::not_found(args, arn))
}
