//! The machine that a request names: as it is, one of its versions, or what an alias leads to.

use std::sync::Arc;

use everstep_api::arn::{Arn, Kind, wrong_kind};
use everstep_api::protocol::{Error, Name};
use everstep_executions::{ListId, Prepared};

use crate::args::Args;
use crate::catalog::{Alias, Entry, Machine, Route, Settings, Version};
use crate::service::{Service, engine_error};

/// What an execution is started of.
pub(crate) struct Target {
    pub(crate) machine: Machine,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) revision_id: String,
    pub(crate) version_arn: Option<String>,
    pub(crate) alias_arn: Option<String>,
}

/// The label of an execution that was started through a version or an alias.
pub(crate) const VERSION: &str = "version";
pub(crate) const ALIAS: &str = "alias";
/// The label that every execution has: which revision of its machine it was started of.
pub(crate) const REVISION: &str = "revision";

impl Target {
    /// The lists that its executions are in.
    pub(crate) fn lists(&self) -> Vec<ListId> {
        let arns = [Some(&self.machine.arn), self.version_arn.as_ref(), self.alias_arn.as_ref()];
        arns.into_iter().flatten().map(|arn| ListId::of(arn)).collect()
    }

    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        let revision = Some(self.revision_id.clone());
        let labels =
            [(REVISION, &revision), (VERSION, &self.version_arn), (ALIAS, &self.alias_arn)];
        labels.into_iter().filter_map(|(name, arn)| Some((name.to_owned(), arn.clone()?))).collect()
    }
}

pub(crate) fn missing(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::StateMachineDoesNotExist, format!("State Machine Does Not Exist: '{arn}'"))
}

pub(crate) fn invalid_arn(args: Args<'_>, message: String) -> Error {
    args.error(Name::InvalidArn, message)
}

/// An ARN of another kind than the operation takes.
pub(crate) fn other_kind(args: Args<'_>, arn: &str) -> Error {
    let message = format!("Invalid Arn: 'Resource type not valid in this context: {arn}'");
    invalid_arn(args, message)
}

pub(crate) fn deleting(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::StateMachineDeleting, format!("State Machine is being deleted: '{arn}'"))
}

/// An ARN that names a Map state within a machine. The words are a guess: none are recorded.
/// What has tags, or a Map Run.
pub(super) fn not_found(args: Args<'_>, arn: &str) -> Error {
    args.error(Name::ResourceNotFound, format!("Resource not found: '{arn}'"))
        .with("resourceName", arn)
}

pub(crate) fn labelled(args: Args<'_>, arn: &str) -> Error {
    if !args.operation.declares(Name::ValidationException) {
        return missing(args, arn);
    }
    let message = format!("This API does not support labelled state machine ARNs: '{arn}'");
    args.error(Name::ValidationException, message)
        .with("reason", "API_DOES_NOT_SUPPORT_LABELED_ARNS")
}

/// The machine of an ARN that must not name a version or an alias.
pub(crate) fn machine(
    service: &Service,
    args: Args<'_>,
    arn: &str,
) -> Result<Entry<Machine>, Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| invalid_arn(args, wrong.0))?;
    match parsed.kind {
        Kind::StateMachine { qualifier: None, label: None, .. } => {
            service.machine(arn)?.ok_or_else(|| missing(args, arn))
        }
        Kind::StateMachine { label: Some(_), .. } => Err(labelled(args, arn)),
        Kind::StateMachine { .. } => Err(missing(args, arn)),
        _ => Err(other_kind(args, arn)),
    }
}

/// The ARN of a machine, and a qualifier if it had one.
fn split<'a>(args: Args<'_>, arn: &'a str) -> Result<(String, Option<&'a str>), Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| invalid_arn(args, wrong.0))?;
    match parsed.kind {
        Kind::StateMachine { name, label: None, qualifier } => {
            Ok((format!("{}:stateMachine:{name}", parsed.place), qualifier))
        }
        // The words are a guess, the reason is the model's.
        Kind::StateMachine { .. } if args.operation.declares(Name::ValidationException) => {
            Err(args
                .error(Name::ValidationException, format!("'{arn}' refers to a Map state"))
                .with("reason", "API_DOES_NOT_SUPPORT_LABELED_ARNS"))
        }
        _ => Err(invalid_arn(args, wrong_kind(arn))),
    }
}

/// The machine of an ARN, if what the ARN names is there: the machine, its version or its alias.
pub(crate) fn named(service: &Service, args: Args<'_>, arn: &str) -> Result<Machine, Error> {
    let (machine_arn, qualifier) = split(args, arn)?;
    let machine = service.machine(&machine_arn)?.ok_or_else(|| missing(args, arn))?.value;
    match qualifier {
        None => {}
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            version(service, args, &machine_arn, number, arn)?;
        }
        Some(name) => {
            let alias = service.catalog.find::<Alias>(&Alias::key(&machine_arn, name))?;
            alias.ok_or_else(|| missing(args, arn))?;
        }
    }
    Ok(machine)
}

/// What `stateMachineArn` leads to, be it qualified or not.
pub(crate) async fn find(service: &Service, args: Args<'_>, arn: &str) -> Result<Target, Error> {
    let (machine_arn, qualifier) = split(args, arn)?;
    let machine = service.machine(&machine_arn)?.ok_or_else(|| missing(args, arn))?.value;
    if machine.deleting {
        return Err(deleting(args, arn));
    }
    let (settings, version_arn, alias_arn) = match qualifier {
        None => (machine.settings.clone(), None, None),
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let (settings, version_arn) = version(service, args, &machine_arn, number, arn)?;
            (settings, Some(version_arn), None)
        }
        Some(name) => {
            let alias = service.catalog.find::<Alias>(&Alias::key(&machine_arn, name))?;
            let alias = alias.ok_or_else(|| missing(args, arn))?.value;
            let number = routed(&alias.routes).rsplit(':').next().unwrap_or_default().to_owned();
            let (settings, version_arn) = version(service, args, &machine_arn, &number, arn)?;
            (settings, Some(version_arn), Some(alias.arn))
        }
    };
    let prepared = service.prepared(&machine, &settings).await.map_err(engine_error)?;
    Ok(Target { machine, prepared, revision_id: settings.revision_id, version_arn, alias_arn })
}

fn version(
    service: &Service,
    args: Args<'_>,
    machine_arn: &str,
    number: &str,
    arn: &str,
) -> Result<(Settings, String), Error> {
    let number = number.parse().map_err(|_| missing(args, arn))?;
    let found = service.catalog.find::<Version>(&Version::key(machine_arn, number))?;
    let version = found.ok_or_else(|| missing(args, arn))?.value;
    Ok((version.settings, version.arn))
}

/// A version by the weights of its alias.
fn routed(routes: &[Route]) -> &str {
    let mut draw = u32::from(uuid::Uuid::new_v4().as_bytes()[0]) * 100 / 256;
    for route in routes {
        if draw < route.weight {
            return &route.version_arn;
        }
        draw -= route.weight;
    }
    routes.last().map_or("", |route| &route.version_arn)
}
