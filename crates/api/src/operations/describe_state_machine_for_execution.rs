//! `DescribeStateMachineForExecution`: the machine as it was when the execution was started.

use serde_json::json;

use super::describe_state_machine::add_settings;
use super::target::REVISION;
use super::{Answer, describe_execution};
use crate::args::Args;
use crate::catalog::Settings;
use crate::definition;
use crate::protocol::timestamp;
use crate::service::{Service, engine_error};

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = describe_execution::find(service, args, args.required("executionArn"))?;
    let prepared = service.reader.prepared(&summary).map_err(engine_error)?;
    let revision = &prepared.revision;
    let label = summary.labels.iter().find(|(name, _)| name == REVISION);
    let settings = match label {
        Some((_, id)) => {
            service.catalog.find::<Settings>(&Settings::key(&revision.machine_arn, id))?
        }
        None => None,
    };
    // An execution that outlives its machine still knows what it runs by.
    let settings = settings.map(|entry| entry.value).unwrap_or_else(|| Settings {
        revision_id: String::new(),
        initial: true,
        updated_ms: summary.started_ms,
        definition: String::new(),
        role_arn: revision.role_arn.clone(),
        logging: None,
        tracing: None,
        encryption: None,
    });
    let mut answer = json!({
        "stateMachineArn": revision.machine_arn,
        "name": revision.machine_name,
        "definition": "{}",
        "updateDate": timestamp(settings.updated_ms),
    });
    add_settings(&mut answer, &settings);
    if args.text("includedData") != Some("METADATA_ONLY") {
        answer["definition"] = revision.definition.clone().into();
        if let Some(references) = definition::references(&prepared.program.machine) {
            answer["variableReferences"] = references;
        }
    }
    Ok(answer)
}
