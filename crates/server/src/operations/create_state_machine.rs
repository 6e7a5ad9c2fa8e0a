//! `CreateStateMachine`: a second request that is the same finds the first one's machine.

use everstep_api::arn::name_problem;
use everstep_api::protocol::{Error, Name, timestamp};
use everstep_asl::Machine as Model;
use serde_json::{Value, json};

use super::{Answer, configuration, publication, target};
use crate::args::Args;
use crate::catalog::{Change, Definition, Machine, Publication, Settings};
use crate::definition;
use crate::removal;
use crate::service::Service;
use crate::tag_settings::{self, Holder};

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let name = args.required("name");
    if name_problem(name).is_some() {
        return Err(args.error(Name::InvalidName, format!("Invalid Name: '{name}'")));
    }
    let publication = publication::read(args)?;
    let text = args.required("definition");
    let express = args.text("type") == Some("EXPRESS");
    let wanted = Machine {
        arn: service.arn(&format!("stateMachine:{name}")),
        name: name.to_owned(),
        express,
        created_ms: service.now_ms(),
        created_with: publication,
        deleting: false,
        settings: Settings {
            revision_id: uuid::Uuid::new_v4().to_string(),
            initial: true,
            updated_ms: service.now_ms(),
            definition: Definition::digest(text),
            role_arn: configuration::role(args, args.required("roleArn"))?.to_owned(),
            logging: configuration::logging(args)?,
            tracing: configuration::tracing(args)?,
            encryption: configuration::encryption(args)?,
        },
        previous: None,
        tags: super::tags::read(args)?,
        last_version: 0,
        published: None,
        versions: 0,
        aliases: 0,
        changes: 0,
    };
    tag_settings::check(service, Holder::of(&wanted), &wanted.tags)?;
    let model = accepted(service, args, &wanted).await?;
    create(service, args, wanted, &model).await
}

/// The definition of a request for this machine, checked.
pub(super) async fn accepted(
    service: &Service,
    args: Args<'_>,
    machine: &Machine,
) -> Result<Model, Error> {
    let text = args.required("definition").to_owned();
    let (express, dialect) = (machine.express, service.dialect(machine));
    let check = move || definition::accepted(&text, express, dialect);
    let accepted = service.definition_turns.run(check);
    accepted.await?.map_err(|message| args.error(Name::InvalidDefinition, message))
}

async fn create(service: &Service, args: Args<'_>, mut wanted: Machine, model: &Model) -> Answer {
    let definition = Definition {
        text: args.required("definition").to_owned(),
        references: definition::references(model),
    };
    let mut change = Change::new();
    let Publication { publish, description } = wanted.created_with.clone();
    if publish {
        publication::publish(service, args, &mut wanted, description.as_deref(), &mut change)?;
    }
    let (arn, settings) = (&wanted.arn, &wanted.settings);
    change.add(&Machine::key(arn), &wanted);
    change.put(&Settings::key(arn, &settings.revision_id), settings);
    change.put(&Definition::key(arn, &settings.definition), &definition);
    loop {
        if let Some(known) = service.machine(arn)? {
            if !known.value.deleting {
                return repeated(args, &wanted, &known.value);
            }
            if !removal::is_gone(service, arn).await? {
                return Err(target::deleting(args, arn));
            }
        }
        if service.catalog.commit(change.clone()).await? {
            return Ok(answer(&wanted));
        }
    }
}

/// What the service compares: not the role, not the tags.
fn repeated(args: Args<'_>, wanted: &Machine, known: &Machine) -> Answer {
    let compared = |machine: &Machine| {
        let settings = Settings { role_arn: String::new(), ..machine.settings.clone() };
        (machine.express, machine.created_with.clone(), settings)
    };
    let ((express, with, settings), known_as) = (compared(wanted), compared(known));
    if (express, with) == (known_as.0, known_as.1) && settings.same(&known_as.2) {
        return Ok(answer(known));
    }
    Err(already_exists(args, &known.arn))
}

fn already_exists(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::StateMachineAlreadyExists, format!("State Machine Already Exists: '{arn}'"))
}

fn answer(machine: &Machine) -> Value {
    let mut answer = json!({
        "stateMachineArn": machine.arn,
        "creationDate": timestamp(machine.created_ms),
    });
    if machine.created_with.publish {
        answer["stateMachineVersionArn"] = publication::version_arn(&machine.arn, 1).into();
    }
    answer
}
