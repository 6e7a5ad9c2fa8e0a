//! `DescribeStateMachineForExecution`: the machine as it was when the execution was started.

use everstep_api::protocol::timestamp;
use everstep_asl::model::Kind;
use everstep_asl::{Options, Source, parse};
use everstep_executions::Revision;
use serde_json::{Value, json};

use super::describe_state_machine::add_settings;
use super::start_execution::label;
use super::target::REVISION;
use super::{Answer, describe_execution};
use crate::args::Args;
use crate::catalog::Settings;
use crate::definition;
use crate::map_run;
use crate::service::{Service, engine_error};

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = describe_execution::find(service, args, args.required("executionArn"))?;
    let prepared = service.reader.prepared(&summary).map_err(engine_error)?;
    let revision = &prepared.revision;
    // What a Map Run has started has the settings of the machine that the Map is in.
    let arn = &revision.machine_arn;
    let machine_arn = arn.split('/').next().unwrap_or(arn);
    let settings = match label(&summary, REVISION) {
        Some(id) => service.catalog.find::<Settings>(&Settings::key(machine_arn, id))?,
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
    if let Some(run) = map_run::parent_run(&summary) {
        answer["mapRunArn"] = run.into();
        answer["label"] = arn.rsplit('/').next().into();
    }
    if args.text("includedData") != Some("METADATA_ONLY") {
        answer["definition"] = definition_of(revision).into();
        if let Some(references) = definition::references(&prepared.program.machine) {
            answer["variableReferences"] = references;
        }
    }
    Ok(answer)
}

/// The whole definition, or the processor of the Map whose children run by it.
fn definition_of(revision: &Revision) -> String {
    let processor = revision.map.as_ref().and_then(|map| {
        let whole: Value = serde_json::from_str(&revision.definition).ok()?;
        let source = Source::new("definition", revision.definition.as_str());
        let machine = parse(&source, &Options::default()).into_accepted_machine()?;
        let mut found = None;
        machine.each_state(&mut |state, _, place| {
            if let Kind::Map(kind) = &state.kind
                && *state.name == **map
            {
                found = whole.pointer(&place.field(kind.processor_field).pointer);
            }
        });
        found.map(Value::to_string)
    });
    processor.unwrap_or_else(|| revision.definition.clone())
}
