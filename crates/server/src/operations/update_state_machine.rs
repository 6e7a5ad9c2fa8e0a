//! `UpdateStateMachine`: what changes makes a new revision; executions that run keep theirs.

use everstep_api::protocol::{Error, Name, timestamp};
use serde_json::json;

use super::create_state_machine::accepted;
use super::{Answer, configuration, publication, target};
use crate::args::Args;
use crate::catalog::{Change, Definition, Machine, Settings};
use crate::definition;
use crate::service::Service;

/// At least one of them is asked for. The service names the first two; it takes the others as well.
const CHANGEABLE: &[&str] = &[
    "definition",
    "roleArn",
    "loggingConfiguration",
    "tracingConfiguration",
    "encryptionConfiguration",
];

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let publication = publication::read(args)?;
    loop {
        let mut machine = target::machine(service, args, args.required("stateMachineArn"))?;
        if machine.value.deleting {
            return Err(target::deleting(args, &machine.value.arn));
        }
        if CHANGEABLE.iter().all(|name| args.value(name).is_none()) {
            return Err(nothing(args));
        }
        let known = machine.value.clone();
        let mut change = Change::new();
        let settings = wanted(args, &machine.value.settings)?;
        if !settings.same(&machine.value.settings) {
            revise(service, args, &mut machine.value, settings, &mut change).await?;
        }
        let mut version = None;
        if publication.publish {
            let description = publication.description.as_deref();
            let machine = &mut machine.value;
            let number = publication::publish(service, args, machine, description, &mut change)?;
            version = Some(publication::version_arn(&machine.arn, number));
        }
        if machine.value != known {
            change.touch(&mut machine);
            if !service.catalog.commit(change).await? {
                continue;
            }
        }
        let settings = machine.value.settings;
        let mut answer = json!({ "updateDate": timestamp(settings.updated_ms) });
        if !settings.initial {
            answer["revisionId"] = settings.revision_id.into();
        }
        if let Some(version) = version {
            answer["stateMachineVersionArn"] = version.into();
        }
        return Ok(answer);
    }
}

/// The settings that a request asks for, given those there are.
fn wanted(args: Args<'_>, known: &Settings) -> Result<Settings, Error> {
    let mut settings = known.clone();
    if let Some(text) = args.text("definition") {
        settings.definition = Definition::digest(text);
    }
    if let Some(role) = args.text("roleArn") {
        settings.role_arn = configuration::role(args, role)?.to_owned();
    }
    if args.value("loggingConfiguration").is_some() {
        settings.logging = configuration::logging(args)?;
    }
    if args.value("tracingConfiguration").is_some() {
        settings.tracing = configuration::tracing(args)?;
    }
    if args.value("encryptionConfiguration").is_some() {
        settings.encryption = configuration::encryption(args)?;
    }
    Ok(settings)
}

/// A new revision of a machine.
async fn revise(
    service: &Service,
    args: Args<'_>,
    machine: &mut Machine,
    settings: Settings,
    change: &mut Change,
) -> Result<(), Error> {
    if settings.definition != machine.settings.definition {
        redefine(service, args, machine, &settings.definition, change).await?;
    }
    machine.settings = Settings {
        revision_id: uuid::Uuid::new_v4().to_string(),
        initial: false,
        updated_ms: service.now_ms(),
        ..settings
    };
    machine.published = None;
    let key = Settings::key(&machine.arn, &machine.settings.revision_id);
    change.put(&key, &machine.settings);
    Ok(())
}

/// Stores a new definition, and removes the one before the last if nothing needs it.
async fn redefine(
    service: &Service,
    args: Args<'_>,
    machine: &mut Machine,
    digest: &str,
    change: &mut Change,
) -> Result<(), Error> {
    let text = args.required("definition");
    let model = accepted(service, args, machine).await?;
    let definition =
        Definition { text: text.to_owned(), references: definition::references(&model) };
    let last = machine.settings.definition.clone();
    if let Some(old) = machine.previous.replace(last)
        && old != digest
        && publication::is_unused(service, machine, &old, None)?
    {
        change.erase(&Definition::key(&machine.arn, &old));
    }
    change.put(&Definition::key(&machine.arn, digest), &definition);
    Ok(())
}

/// The words are not in the recordings kept here.
fn nothing(args: Args<'_>) -> Error {
    let message = "Either the definition, the role ARN, the LoggingConfiguration, the \
                   TracingConfiguration, or the EncryptionConfiguration must be specified";
    args.error(Name::MissingRequiredParameter, message)
}
