//! `DescribeStateMachineAlias`.

use everstep_api::protocol::timestamp;
use serde_json::{Value, json};

use super::{Answer, aliases};
use crate::args::Args;
use crate::catalog::Route;
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let (_, alias) = aliases::find(service, args, args.required("stateMachineAliasArn"))?;
    let alias = alias.value;
    let mut answer = json!({
        "stateMachineAliasArn": alias.arn,
        "name": alias.name,
        "routingConfiguration": alias.routes.iter().map(shown).collect::<Vec<_>>(),
        "creationDate": timestamp(alias.created_ms),
        "updateDate": timestamp(alias.updated_ms),
    });
    if let Some(description) = alias.description {
        answer["description"] = description.into();
    }
    Ok(answer)
}

fn shown(route: &Route) -> Value {
    json!({ "stateMachineVersionArn": route.version_arn, "weight": route.weight })
}
