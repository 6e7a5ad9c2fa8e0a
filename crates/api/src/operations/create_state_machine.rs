//! `CreateStateMachine`: a second request that is the same finds the first one's machine.

use serde_json::{Value, json};

use super::Answer;
use crate::args::Args;
use crate::arn::name_problem;
use crate::catalog::{Change, Machine, Settings, Version};
use crate::definition;
use crate::protocol::{Error, Name, timestamp};
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let name = args.required("name");
    if name_problem(name).is_some() {
        return Err(args.error(Name::InvalidName, format!("Invalid Name: '{name}'")));
    }
    let express = args.text("type") == Some("EXPRESS");
    let definition = args.required("definition");
    definition::accepted(definition, express)
        .map_err(|message| args.error(Name::InvalidDefinition, message))?;
    let wanted = Machine {
        arn: service.arn(&format!("stateMachine:{name}")),
        name: name.to_owned(),
        express,
        created_ms: service.now_ms(),
        deleting: false,
        settings: Settings {
            revision_id: uuid::Uuid::new_v4().to_string(),
            initial: true,
            updated_ms: service.now_ms(),
            definition: definition.to_owned(),
            role_arn: args.required("roleArn").to_owned(),
            logging: args.value("loggingConfiguration").cloned(),
            tracing: args.value("tracingConfiguration").cloned(),
            encryption: args.value("encryptionConfiguration").cloned(),
        },
        tags: super::tags::read(args)?,
        last_version: u32::from(args.flag("publish")),
    };
    create(service, args, wanted).await
}

async fn create(service: &Service, args: Args<'_>, wanted: Machine) -> Answer {
    loop {
        if let Some(known) = service.machine(&wanted.arn)? {
            return repeated(service, args, &wanted, &known.value);
        }
        let mut change = Change::new();
        change.add(&Machine::key(&wanted.arn), &wanted);
        let version = args.flag("publish").then(|| Version {
            arn: format!("{}:1", wanted.arn),
            number: 1,
            description: args.text("versionDescription").map(str::to_owned),
            created_ms: wanted.created_ms,
            settings: wanted.settings.clone(),
        });
        if let Some(version) = &version {
            change.add(&Version::key(&wanted.arn, 1), version);
        }
        if service.catalog.commit(change).await? {
            return Ok(answer(&wanted, version.as_ref()));
        }
    }
}

/// What the service compares: not the role, not the tags.
fn repeated(service: &Service, args: Args<'_>, wanted: &Machine, known: &Machine) -> Answer {
    if known.deleting {
        let message = format!("State Machine is being deleted: '{}'", known.arn);
        return Err(args.error(Name::StateMachineDeleting, message));
    }
    let compared = |machine: &Machine| {
        let Settings { definition, logging, tracing, encryption, .. } = machine.settings.clone();
        (machine.express, definition, logging, tracing, encryption)
    };
    let version = service.catalog.find::<Version>(&Version::key(&known.arn, 1))?;
    let published = version.as_ref().is_some_and(|version| {
        version.value.description.as_deref() == args.text("versionDescription")
    });
    if compared(wanted) != compared(known) || args.flag("publish") != published {
        return Err(already_exists(args, &known.arn));
    }
    Ok(answer(known, version.map(|entry| entry.value).as_ref()))
}

fn already_exists(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::StateMachineAlreadyExists, format!("State Machine Already Exists: '{arn}'"))
}

fn answer(machine: &Machine, version: Option<&Version>) -> Value {
    let mut answer = json!({
        "stateMachineArn": machine.arn,
        "creationDate": timestamp(machine.created_ms),
    });
    if let Some(version) = version {
        answer["stateMachineVersionArn"] = version.arn.clone().into();
    }
    answer
}
