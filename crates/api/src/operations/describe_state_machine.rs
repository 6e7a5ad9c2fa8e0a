//! `DescribeStateMachine`: as it is, or one of its versions, or what an alias leads to.

use everstep_asl::references;
use serde_json::{Value, json};

use super::{Answer, target};
use crate::args::Args;
use crate::catalog::{Machine, Settings};
use crate::definition;
use crate::protocol::timestamp;
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let machine = target::machine(service, args, args.required("stateMachineArn"))?.value;
    let data = args.text("includedData") != Some("METADATA_ONLY");
    Ok(described(&machine, &machine.settings, data))
}

pub(super) fn described(machine: &Machine, settings: &Settings, data: bool) -> Value {
    let mut answer = json!({
        "stateMachineArn": machine.arn,
        "name": machine.name,
        "status": if machine.deleting { "DELETING" } else { "ACTIVE" },
        "roleArn": settings.role_arn,
        "type": if machine.express { "EXPRESS" } else { "STANDARD" },
        "creationDate": timestamp(machine.created_ms),
        "loggingConfiguration":
            settings.logging.clone().unwrap_or_else(|| json!({"level": "OFF", "includeExecutionData": false})),
        "tracingConfiguration": settings.tracing.clone().unwrap_or_else(|| json!({"enabled": false})),
        "encryptionConfiguration":
            settings.encryption.clone().unwrap_or_else(|| json!({"type": "AWS_OWNED_KEY"})),
    });
    if data {
        answer["definition"] = settings.definition.clone().into();
        let parsed = definition::checked(&settings.definition, machine.express);
        if let Some(references) = parsed.machine().map(references).filter(|all| !all.is_empty()) {
            answer["variableReferences"] = json!(references);
        }
    }
    if !settings.initial {
        answer["revisionId"] = settings.revision_id.clone().into();
    }
    answer
}
