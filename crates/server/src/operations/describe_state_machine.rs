//! `DescribeStateMachine`: as it is, or one of its versions, or what an alias leads to.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Error, timestamp};
use serde_json::{Value, json};

use super::configuration::{shown_encryption, shown_logging, shown_tracing};
use super::{Answer, target};
use crate::args::Args;
use crate::catalog::{Alias, Machine, Settings, Version};
use crate::removal;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("stateMachineArn");
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    let Kind::StateMachine { name, label: None, qualifier: Some(qualifier) } = parsed.kind else {
        return unqualified(service, args, arn).await;
    };
    let machine_arn = format!("{}:stateMachine:{name}", parsed.place);
    let machine = service.machine(&machine_arn)?.ok_or_else(|| target::missing(args, arn))?.value;
    let version = version(service, &machine_arn, qualifier)?;
    let version = version.ok_or_else(|| target::missing(args, arn))?;
    let mut answer = described(service, args, &machine, &version.settings)?;
    answer["stateMachineArn"] = version.arn.into();
    answer["creationDate"] = timestamp(version.created_ms).into();
    if let Some(description) = version.description {
        answer["description"] = description.into();
    }
    Ok(answer)
}

async fn unqualified(service: &Service, args: Args<'_>, arn: &str) -> Answer {
    let machine = target::machine(service, args, arn)?.value;
    if machine.deleting && removal::is_gone(service, arn).await? {
        return Err(target::missing(args, arn));
    }
    described(service, args, &machine, &machine.settings)
}

/// A version by its number, or the one that gets most of an alias's executions. That the service answers
/// with the latter is a guess.
fn version(service: &Service, machine: &str, qualifier: &str) -> Result<Option<Version>, Error> {
    let number = if qualifier.bytes().all(|byte| byte.is_ascii_digit()) {
        qualifier.parse().ok()
    } else {
        let alias = service.catalog.find::<Alias>(&Alias::key(machine, qualifier))?;
        let routes = alias.map(|alias| alias.value.routes).unwrap_or_default();
        // Of two that are equal, the first.
        let most = routes.iter().rev().max_by_key(|route| route.weight);
        most.and_then(|route| route.version_arn.rsplit(':').next()?.parse().ok())
    };
    let Some(number) = number else { return Ok(None) };
    Ok(service.catalog.find(&Version::key(machine, number))?.map(|entry| entry.value))
}

fn described(service: &Service, args: Args<'_>, machine: &Machine, settings: &Settings) -> Answer {
    let mut answer = json!({
        "stateMachineArn": machine.arn,
        "name": machine.name,
        "status": if machine.deleting { "DELETING" } else { "ACTIVE" },
        "definition": "{}",
        "type": shown_type(machine.express),
        "creationDate": timestamp(machine.created_ms),
    });
    add_settings(&mut answer, settings);
    if args.text("includedData") != Some("METADATA_ONLY") {
        let definition = service.catalog.definition(&machine.arn, &settings.definition)?;
        answer["definition"] = definition.text.into();
        if let Some(references) = definition.references {
            answer["variableReferences"] = references;
        }
    }
    Ok(answer)
}

/// What this answer and that of `DescribeStateMachineForExecution` share.
pub(super) fn add_settings(answer: &mut Value, settings: &Settings) {
    answer["roleArn"] = settings.role_arn.clone().into();
    answer["loggingConfiguration"] = shown_logging(settings.logging.as_ref());
    answer["tracingConfiguration"] = shown_tracing(settings.tracing.as_ref());
    answer["encryptionConfiguration"] = shown_encryption(settings.encryption.as_ref());
    if !settings.initial {
        answer["revisionId"] = settings.revision_id.clone().into();
    }
}

pub(super) fn shown_type(express: bool) -> &'static str {
    if express { "EXPRESS" } else { "STANDARD" }
}
