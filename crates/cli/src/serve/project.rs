//! What a server is given to run: an `everstep.yaml`, its functions and its state machines.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail};
use everstep_api::Service;
use everstep_api::own::{DIALECT, ON_FAILURE};
use everstep_api::protocol::{Error, Operation};
use everstep_asl::WorkflowType;
use everstep_config::Config;
use everstep_config::model::{DefinitionOrigin, StateMachine, Target};
use serde_json::{Value, json};

use crate::agreement::Others;
use crate::commands::check;
use crate::configuration;
use crate::functions::Deployment;
use crate::output::{Stream, count};

/// A configuration that holds, and where it came from.
pub(crate) struct Project {
    entry: PathBuf,
    config: Config,
    sources: Vec<PathBuf>,
}

impl Project {
    /// Nothing if there are problems: they have been told then.
    pub(crate) fn read(path: &Path, others: Others) -> Result<Option<Self>> {
        let entry = configuration::locate(path)?;
        let parsed = configuration::read(&entry)?;
        let sources = parsed.sources.iter().map(|source| PathBuf::from(source.name())).collect();
        let Some(config) = check::tell(parsed, others)? else { return Ok(None) };
        Ok(Some(Self { entry, config, sources }))
    }

    /// Tells what has to wait.
    pub(crate) fn warn(&self) -> Result<()> {
        let Config { functions, state_machines, .. } = &self.config;
        let functions = functions.iter().flat_map(|function| {
            let targets = [&function.on_success, &function.on_failure, &function.dead_letter];
            targets.into_iter().flatten().map(|given| (&function.name, &given.value))
        });
        let machines = state_machines.iter().filter_map(|machine| {
            machine.on_failure.as_ref().map(|target| (&machine.name, target))
        });
        for (name, target) in functions.chain(machines) {
            if let Target::Queue(queue) = target {
                Stream::Story.write(&format!(
                    "warning: queues are not served yet: records of '{name}' for the queue '{queue}' are kept until they are\n"
                ))?;
            }
        }
        Ok(())
    }

    pub(crate) fn deployment(&self, region: &str, account: &str) -> Deployment {
        let mut deployment = Deployment::of(&self.config, region, account);
        for function in &mut deployment.functions {
            function.code_state = state_of(&function.code);
        }
        deployment
    }

    /// Makes the machines as the configuration has them.
    pub(crate) async fn deploy_machines(&self, service: &Service, account: &str) -> Result<()> {
        for machine in &self.config.state_machines {
            deploy(service, machine, account).await?;
        }
        Ok(())
    }

    /// `2 functions, 1 state machine`
    pub(crate) fn summary(&self) -> String {
        let Config { functions, state_machines, .. } = &self.config;
        let words = [(functions.len(), "function"), (state_machines.len(), "state machine")];
        let words = words.into_iter().map(|(number, noun)| count(number, noun));
        format!("{} from {}", words.collect::<Vec<_>>().join(", "), self.entry.display())
    }

    pub(crate) fn machines(&self) -> impl Iterator<Item = &str> {
        self.config.state_machines.iter().map(|machine| machine.name.as_str())
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.config.functions.iter().map(|function| function.name.as_str())
    }

    /// Another number when any file of it has changed.
    pub(crate) fn state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let definitions = self.config.state_machines.iter().filter_map(|machine| {
            match &machine.definition.origin {
                DefinitionOrigin::File(path) => Some(path.clone()),
                _ => None,
            }
        });
        for path in self.sources.iter().cloned().chain(definitions) {
            add_file(&path, &mut hasher);
        }
        for function in &self.config.functions {
            add_folder(&function.code_dir, 0, &mut hasher);
        }
        hasher.finish()
    }
}

async fn deploy(service: &Service, machine: &StateMachine, account: &str) -> Result<()> {
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
        "tags": tags(machine),
    });
    let deployed = match service.call(Operation::CreateStateMachine, &body).await {
        Ok(_) => tag(service, machine).await,
        Err(error) if error.name() == "StateMachineAlreadyExists" => {
            let arn = service.machine_arn(&machine.name);
            let body = json!({ "stateMachineArn": arn, "definition": definition });
            match service.call(Operation::UpdateStateMachine, &body).await {
                Ok(_) => tag(service, machine).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    match deployed {
        Ok(()) => Ok(()),
        Err(error) => bail!(
            "{}: the state machine '{}' is refused: {}: {}",
            machine.line,
            machine.name,
            error.name(),
            error.message()
        ),
    }
}

/// The machine's settings, as the service keeps them.
fn tags(machine: &StateMachine) -> Vec<Value> {
    let on_failure = machine.on_failure.as_ref().map(ToString::to_string);
    let settings = [(DIALECT, machine.dialect.clone()), (ON_FAILURE, on_failure)];
    let tag = |(key, value): (&str, Option<String>)| Some(json!({ "key": key, "value": value? }));
    settings.into_iter().filter_map(tag).collect()
}

/// Makes the settings of a machine that is there those of the configuration. Other tags are left alone.
async fn tag(service: &Service, machine: &StateMachine) -> Result<(), Error> {
    let arn = service.machine_arn(&machine.name);
    let resource = json!({ "resourceArn": arn });
    let listed = service.call(Operation::ListTagsForResource, &resource).await?;
    let present = listed["tags"].as_array().cloned().unwrap_or_default();
    let wanted = tags(machine);
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

/// Folders that code is not written in.
const LEFT_OUT: [&str; 4] = ["node_modules", "__pycache__", "target", "venv"];
const DEPTH_MAX: usize = 8;

fn state_of(folder: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    add_folder(folder, 0, &mut hasher);
    hasher.finish()
}

fn add_folder(folder: &Path, depth: usize, hasher: &mut DefaultHasher) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('.') || LEFT_OUT.contains(&name) {
            continue;
        }
        if path.is_dir() {
            if depth < DEPTH_MAX {
                add_folder(&path, depth + 1, hasher);
            }
        } else {
            add_file(&path, hasher);
        }
    }
}

fn add_file(path: &Path, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    if let Ok(file) = fs::metadata(path) {
        file.len().hash(hasher);
        let changed = file.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        changed.hash(hasher);
    }
}
