//! `DeleteStateMachineVersion`: not while an alias leads to it; one that is not there is deleted already.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Error, Name};
use serde_json::json;

use super::{Answer, publication, target};
use crate::args::Args;
use crate::catalog::{Alias, Change, Definition, Version};
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("stateMachineVersionArn");
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    let (name, number) = match parsed.kind {
        Kind::StateMachine { label: Some(_), .. } => return Err(target::labelled(args, arn)),
        Kind::StateMachine { name, label: None, qualifier: Some(number) } => (name, number),
        _ => return Err(target::other_kind(args, arn)),
    };
    let number = number.parse().map_err(|_| target::other_kind(args, arn))?;
    let machine_arn = format!("{}:stateMachine:{name}", parsed.place);
    while !delete(service, args, &machine_arn, number).await? {}
    Ok(json!({}))
}

async fn delete(
    service: &Service,
    args: Args<'_>,
    machine_arn: &str,
    number: u32,
) -> Result<bool, Error> {
    let version = service.catalog.find::<Version>(&Version::key(machine_arn, number))?;
    let (Some(version), Some(mut machine)) = (version, service.machine(machine_arn)?) else {
        return Ok(true);
    };
    let aliases = service.catalog.all::<Alias>(&Alias::prefix(machine_arn))?;
    let leading = aliases.iter().filter(|alias| alias.value.leads_to(&version.value.arn));
    let leading: Vec<&str> = leading.map(|alias| alias.value.name.as_str()).collect();
    if !leading.is_empty() {
        return Err(in_use(args, &leading));
    }
    let mut change = Change::new();
    change.remove(&version);
    let digest = &version.value.settings.definition;
    if publication::is_unused(service, &machine.value, digest, Some(number))? {
        change.erase(&Definition::key(machine_arn, digest));
    }
    machine.value.versions = machine.value.versions.saturating_sub(1);
    machine.value.published = machine.value.published.filter(|published| *published != number);
    change.touch(&mut machine);
    Ok(service.catalog.commit(change).await?)
}

/// The words are not in the recordings kept here.
fn in_use(args: Args<'_>, aliases: &[&str]) -> Error {
    let message = format!(
        "Version to be deleted must not be referenced by an alias. Current list of aliases \
         referencing this version: [{}]",
        aliases.join(", ")
    );
    args.error(Name::ConflictException, message)
}
