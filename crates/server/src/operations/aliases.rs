//! What the operations on aliases share.

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Error, Name};
use serde_json::Value;

use super::target;
use crate::args::Args;
use crate::catalog::{Alias, Entry, Machine, Route, Version};
use crate::service::Service;

/// As many as a machine may have.
pub(super) const ALIASES_MAX: u32 = 100;

/// A refusal of routes, with the service's reason.
fn invalid(args: Args<'_>, message: impl Into<String>) -> Error {
    args.error(Name::ValidationException, message).with("reason", "INVALID_ROUTING_CONFIGURATION")
}

pub(super) fn not_found(args: Args<'_>, arn: &str) -> Error {
    let message = "Request references a resource that does not exist.";
    args.error(Name::ResourceNotFound, message).with("resourceName", arn)
}

/// An alias and its machine.
pub(super) fn find(
    service: &Service,
    args: Args<'_>,
    arn: &str,
) -> Result<(Entry<Machine>, Entry<Alias>), Error> {
    let (machine_arn, name) = qualified(args, arn)?;
    let machine = service.machine(&machine_arn)?;
    let alias = service.catalog.find(&Alias::key(&machine_arn, name))?;
    machine.zip(alias).ok_or_else(|| not_found(args, arn))
}

/// The machine's ARN and the qualifier of an ARN that must have one.
pub(super) fn qualified<'a>(args: Args<'_>, arn: &'a str) -> Result<(String, &'a str), Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    match parsed.kind {
        Kind::StateMachine { label: Some(_), .. } => Err(target::labelled(args, arn)),
        Kind::StateMachine { name, label: None, qualifier: Some(qualifier) } => {
            Ok((format!("{}:stateMachine:{name}", parsed.place), qualifier))
        }
        _ => Err(target::other_kind(args, arn)),
    }
}

/// The routes of a request and the ARN of the machine they lead to; nothing if it has none.
pub(super) fn routes(args: Args<'_>) -> Result<Option<(String, Vec<Route>)>, Error> {
    let Some(given) = args.value("routingConfiguration").and_then(Value::as_array) else {
        return Ok(None);
    };
    let route = |given: &Value| Route {
        version_arn: given["stateMachineVersionArn"].as_str().unwrap_or_default().to_owned(),
        weight: given["weight"].as_f64().unwrap_or_default() as u32,
    };
    let routes: Vec<Route> = given.iter().map(route).collect();
    let machines: Result<Option<Vec<String>>, Error> =
        routes.iter().map(|route| versioned(args, &route.version_arn)).collect();
    let Some(mut machines) = machines? else {
        let expected = "Routing configuration must contain state machine version ARNs";
        return Err(invalid(args, received(expected, &routes)));
    };
    machines.dedup();
    let [machine] = machines.as_slice() else {
        return Err(invalid(args, "Routes must lead to versions of the same state machine"));
    };
    balanced(args, &routes)?;
    Ok(Some((machine.clone(), routes)))
}

/// The machine's ARN of a version's; nothing if the ARN is that of a machine or of an alias.
fn versioned(args: Args<'_>, arn: &str) -> Result<Option<String>, Error> {
    let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
    if let Kind::StateMachine { label: None, qualifier: None, .. } = parsed.kind {
        return Ok(None);
    }
    let (machine, qualifier) = qualified(args, arn)?;
    Ok(qualifier.parse::<u32>().is_ok().then_some(machine))
}

fn received(expected: &str, routes: &[Route]) -> String {
    let arns: Vec<&str> = routes.iter().map(|route| route.version_arn.as_str()).collect();
    format!("{expected}. Received: [{}]", arns.join(", "))
}

fn balanced(args: Args<'_>, routes: &[Route]) -> Result<(), Error> {
    if let [first, second] = routes
        && first.version_arn == second.version_arn
    {
        let expected = "Routing configuration must contain distinct state machine version ARNs";
        return Err(invalid(args, received(expected, routes)));
    }
    let weights: Vec<String> = routes.iter().map(|route| route.weight.to_string()).collect();
    if routes.iter().map(|route| route.weight).sum::<u32>() != 100 {
        let message = format!(
            "Sum of routing configuration weights must equal 100. Received: [{}]",
            weights.join(", ")
        );
        return Err(invalid(args, message));
    }
    Ok(())
}

/// All versions that routes lead to must be there. Whoever writes the machine's row with what it decides
/// by this can rely on it.
pub(super) fn lead_somewhere(
    service: &Service,
    args: Args<'_>,
    machine_arn: &str,
    routes: &[Route],
) -> Result<(), Error> {
    for route in routes {
        let number = route.version_arn.rsplit(':').next().and_then(|number| number.parse().ok());
        let key = Version::key(machine_arn, number.unwrap_or_default());
        let version = service.catalog.find::<Version>(&key)?;
        if version.is_none_or(|version| version.value.arn != route.version_arn) {
            return Err(not_found(args, &route.version_arn));
        }
    }
    Ok(())
}

pub(super) fn of_another_machine(args: Args<'_>) -> Error {
    invalid(args, "Routes must lead to versions of the alias's state machine")
}
