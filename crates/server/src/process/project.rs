//! A project: an `everstep.yaml` with its functions and state machines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everstep_config::Config;
use everstep_config::model::{DefinitionOrigin, StateMachine, Target};
use everstep_source::words::count;
use everstep_triggers::Place;

use super::error::Result;
use super::files::{Places, Snapshot, absolute};
use super::inline_code;
use super::machines;
use super::queues;
use super::settings::Settings;
use crate::Service;
use crate::functions::Deployment;
use crate::queues::Queues;
use crate::triggers::{self, Planned};

/// A valid configuration, and where it came from.
pub struct Project {
    entry: PathBuf,
    config: Config,
    sources: Vec<PathBuf>,
    /// Machines with errors: they are not served, or as they were before.
    invalid: BTreeSet<String>,
}

impl Project {
    /// `entry` is the file that the configuration begins with, `sources` all that were read for it, `invalid` the
    /// machines whose definitions have errors.
    #[must_use]
    pub fn new(
        entry: PathBuf,
        config: Config,
        sources: Vec<PathBuf>,
        invalid: BTreeSet<String>,
    ) -> Self {
        Self { entry, config, sources, invalid }
    }

    /// All destinations and notification targets, with the function or machine that names each.
    fn targets(&self) -> impl Iterator<Item = (&String, &Target)> {
        let Config { functions, state_machines, .. } = &self.config;
        let functions = functions.iter().flat_map(|function| {
            let targets = [&function.on_success, &function.on_failure, &function.dead_letter];
            targets.into_iter().flatten().map(|given| (&function.name, &given.value))
        });
        let machines = state_machines.iter().filter_map(|machine| {
            machine.on_failure.as_ref().map(|target| (&machine.name, target))
        });
        functions.chain(machines)
    }

    /// All functions, with the state of their code.
    pub(super) fn deployment(&self, settings: &Settings, seen: &Snapshot) -> Deployment {
        let Settings { region, account, wait_scale_millionths, .. } = settings;
        let mut deployment = Deployment::of(&self.config, region, account, *wait_scale_millionths);
        for (function, deployed) in self.config.functions.iter().zip(&mut deployment.functions) {
            if let Some(code) = &function.inline_code {
                deployed.code = absolute(&inline_code::folder(&settings.data, function, code));
            }
        }
        for function in &mut deployment.functions {
            function.code_state = seen.code_state(&absolute(&function.code));
        }
        deployment
    }

    /// All triggers.
    pub(super) fn triggers(&self, settings: &Settings) -> Vec<Planned> {
        let Settings { region, account, wait_scale_millionths, .. } = settings;
        let place = Place { region: region.clone(), account: account.clone() };
        triggers::plans(&self.config, &place, *wait_scale_millionths)
    }

    /// Creates or updates the queues of the configuration.
    pub(super) async fn deploy_queues(&self, service: &Queues) -> Result<()> {
        queues::deploy(service, self.config.all_queues()).await
    }

    /// Creates or updates the state machines of the configuration. One that is invalid does not keep the others
    /// from being served: returns a message for each.
    pub(super) async fn deploy_machines(
        &mut self,
        service: &Arc<Service>,
        account: &str,
    ) -> Vec<String> {
        let mut messages = Vec::new();
        for machine in &self.config.state_machines {
            let StateMachine { name, line, .. } = machine;
            let problem = if self.invalid.contains(name) {
                format!("{line}: the state machine '{name}' has errors")
            } else if let Err(error) =
                machines::deploy(service, machine, account, &self.entry).await
            {
                self.invalid.insert(name.clone());
                error.to_string()
            } else {
                continue;
            };
            let consequence = if machines::exists(service, name) {
                "its previous version keeps running"
            } else {
                "it is not served"
            };
            messages.push(format!("warning: {problem}: {consequence}\n"));
        }
        messages
    }

    /// The machines that were created from its file and are no longer in it.
    pub(super) async fn orphans(&self, service: &Arc<Service>) -> Result<BTreeSet<String>> {
        let mut found = machines::created_from(service, &self.entry).await?;
        found.retain(|name| !self.machines().any(|here| here == name));
        Ok(found)
    }

    /// The message about one of them.
    pub(super) fn orphan_message(&self, machine: &str) -> String {
        let file = self.entry.file_name().unwrap_or(self.entry.as_os_str()).display();
        format!(
            "state machine '{machine}' is no longer in {file} but still exists; to delete it: everstep machines delete {machine}"
        )
    }

    /// `2 functions, 1 state machine`
    pub(super) fn summary(&self) -> String {
        let Config { functions, state_machines, triggers, .. } = &self.config;
        let functions = count(functions.len(), "function");
        let machines = count(state_machines.len(), "state machine");
        let valid = state_machines.len().saturating_sub(self.invalid.len());
        let of = if self.invalid.is_empty() { String::new() } else { format!("{valid} of ") };
        let others = [(self.config.all_queues().len(), "queue"), (triggers.len(), "trigger")];
        let others = others.into_iter().filter(|(number, _)| *number > 0);
        let others: String =
            others.map(|(number, noun)| format!(", {}", count(number, noun))).collect();
        format!("{functions}, {of}{machines}{others} from {}", self.entry.display())
    }

    pub(super) fn machines(&self) -> impl Iterator<Item = &str> {
        self.config.state_machines.iter().map(|machine| machine.name.as_str())
    }

    /// A machine that can be started.
    pub(super) fn valid_machine(&self) -> Option<&str> {
        self.machines().find(|name| !self.invalid.contains(*name))
    }

    pub(super) fn functions(&self) -> impl Iterator<Item = &str> {
        self.config.functions.iter().map(|function| function.name.as_str())
    }

    /// The files to watch.
    pub(super) fn places(&self) -> Places {
        let Config { functions, state_machines, .. } = &self.config;
        let definition = |machine: &StateMachine| match &machine.definition.origin {
            DefinitionOrigin::File(path) => Some(absolute(path)),
            _ => None,
        };
        let written = |target: &Target| match target {
            Target::File(path) => Some(absolute(Path::new(path.as_str()))),
            _ => None,
        };
        let sources = self.sources.iter().map(|path| absolute(path));
        Places {
            read: sources.chain(state_machines.iter().filter_map(definition)).collect(),
            code: functions.iter().map(|function| absolute(&function.code_dir)).collect(),
            written: self.targets().filter_map(|(_, target)| written(target)).collect(),
        }
    }

    /// A path relative to the folder of the configuration.
    pub(super) fn shown(&self, path: &Path) -> String {
        let entry = absolute(&self.entry);
        let folder = entry.parent().unwrap_or(Path::new("/"));
        path.strip_prefix(folder).unwrap_or(path).display().to_string()
    }
}
