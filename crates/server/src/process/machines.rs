//! The state machines of a configuration: created from it, and tagged with its file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use everstep_api::protocol::{self, Operation};
use everstep_asl::WorkflowType;
use everstep_config::model::StateMachine;
use serde_json::{Value, json};

use super::error::{Error, Result};
use super::files::absolute;
use crate::Service;
use crate::tag_settings::{DIALECT, FROM, ON_FAILURE};

/// Creates or updates a machine as the configuration in `file` has it.
pub(super) async fn deploy(
    service: &Arc<Service>,
    machine: &StateMachine,
    account: &str,
    file: &Path,
) -> Result<()> {
    let kind = match machine.workflow_type {
        WorkflowType::Standard => "STANDARD",
        WorkflowType::Express => "EXPRESS",
    };
    // Definitions in YAML are JSON to the service.
    let definition = machine.definition.json().unwrap_or_else(|| machine.definition.text.clone());
    let body = json!({
        "name": machine.name,
        "definition": definition,
        "roleArn": format!("arn:aws:iam::{account}:role/everstep"),
        "type": kind,
        "tags": tags(machine, file),
    });
    let deployed = match service.call(Operation::CreateStateMachine, &body).await {
        Ok(_) => tag(service, machine, file).await,
        Err(error) if error.name() == "StateMachineAlreadyExists" => {
            let arn = service.machine_arn(&machine.name);
            let body = json!({ "stateMachineArn": arn, "definition": definition });
            match service.call(Operation::UpdateStateMachine, &body).await {
                Ok(_) => tag(service, machine, file).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    match deployed {
        Ok(()) => Ok(()),
        Err(error) => Err(Error::new(format!(
            "{}: the state machine '{}' is invalid: {}: {}",
            machine.line,
            machine.name,
            error.name(),
            error.message()
        ))),
    }
}

/// Whether there is a machine of this name.
pub(super) fn exists(service: &Service, name: &str) -> bool {
    service.machine(&service.machine_arn(name)).is_ok_and(|found| found.is_some())
}

/// The settings of a machine, as tags.
fn tags(machine: &StateMachine, file: &Path) -> Vec<Value> {
    let on_failure = machine.on_failure.as_ref().map(ToString::to_string);
    let settings =
        [(DIALECT, machine.dialect.clone()), (ON_FAILURE, on_failure), (FROM, Some(origin(file)))];
    let tag = |(key, value): (&str, Option<String>)| Some(json!({ "key": key, "value": value? }));
    settings.into_iter().filter_map(tag).collect()
}

/// Updates the tags of an existing machine to the settings of the configuration. Other tags stay.
async fn tag(
    service: &Arc<Service>,
    machine: &StateMachine,
    file: &Path,
) -> Result<(), protocol::Error> {
    let arn = service.machine_arn(&machine.name);
    let resource = json!({ "resourceArn": arn });
    let listed = service.call(Operation::ListTagsForResource, &resource).await?;
    let present = listed["tags"].as_array().cloned().unwrap_or_default();
    let wanted = tags(machine, file);
    let is_old = |key: &&str| {
        let has = |tags: &[Value]| tags.iter().any(|tag| tag["key"] == **key);
        has(&present) && !has(&wanted)
    };
    let old: Vec<&str> = [DIALECT, ON_FAILURE].into_iter().filter(is_old).collect();
    if !old.is_empty() {
        let body = json!({ "resourceArn": arn, "tagKeys": old });
        service.call(Operation::UntagResource, &body).await?;
    }
    if wanted.iter().any(|tag| !present.contains(tag)) {
        let body = json!({ "resourceArn": arn, "tags": wanted });
        service.call(Operation::TagResource, &body).await?;
    }
    Ok(())
}

/// The names of all machines that were created from a file.
pub(super) async fn created_from(service: &Arc<Service>, file: &Path) -> Result<BTreeSet<String>> {
    let (origin, mut found, mut request) = (json!(origin(file)), BTreeSet::new(), json!({}));
    loop {
        let mut page = service.call(Operation::ListStateMachines, &request).await?;
        for machine in page["stateMachines"].as_array().into_iter().flatten() {
            let resource = json!({ "resourceArn": machine["stateMachineArn"] });
            let listed = service.call(Operation::ListTagsForResource, &resource).await?;
            let mut tags = listed["tags"].as_array().into_iter().flatten();
            if tags.any(|tag| tag["key"] == FROM && tag["value"] == origin) {
                found.extend(machine["name"].as_str().map(str::to_owned));
            }
        }
        match page["nextToken"].take() {
            Value::Null => return Ok(found),
            token => request = json!({ "nextToken": token }),
        }
    }
}

/// The path of a file, or as much of its end as a tag can hold.
fn origin(file: &Path) -> String {
    const LETTERS_MAX: usize = 256;
    let path = absolute(file).display().to_string();
    let left_out = path.chars().count().saturating_sub(LETTERS_MAX);
    path.chars().skip(left_out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_known_by_its_end() {
        assert_eq!(origin(Path::new("/srv/shop/everstep.yaml")), "/srv/shop/everstep.yaml");
        let long = format!("/{}/everstep.yaml", "é".repeat(300));
        let found = origin(Path::new(&long));
        assert_eq!(found.chars().count(), 256);
        assert!(found.ends_with("é/everstep.yaml"));
    }
}
