//! Reloads a project when its files change: `everstep dev`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::Result;
use super::files::{Places, Rule, Snapshot};
use super::frontend::Frontend;
use super::live_log::LiveLog;
use super::project::Project;
use super::settings::Settings;
use crate::Service;
use crate::functions::Functions;
use crate::queues::Queues;

/// How often files are checked. Polling costs a few system calls for each file, and works on every file system.
const INTERVAL: Duration = Duration::from_millis(500);

/// A project that was loaded, with the files it was loaded from.
pub(super) struct Loaded {
    pub(super) project: Project,
    places: Places,
    rule: Rule,
    /// Its files as they were when they were loaded.
    pub(super) seen: Snapshot,
    /// Machines that were created from its file and are no longer in it, and have been reported.
    orphans: BTreeSet<String>,
}

impl Loaded {
    /// With the files as they are now.
    pub(super) fn new(project: Project, settings: &Settings) -> Self {
        let places = project.places();
        let rule = Rule::new(&places, &settings.data);
        let seen = rule.look(&places);
        Self { project, places, rule, seen, orphans: BTreeSet::new() }
    }

    /// Messages about orphans that were not there the last time.
    pub(super) async fn new_orphans(&mut self, service: &Arc<Service>) -> Result<Vec<String>> {
        let now = self.project.orphans(service).await?;
        let new = now.difference(&self.orphans).map(|name| self.project.orphan_message(name));
        let lines = new.collect();
        self.orphans = now;
        Ok(lines)
    }
}

/// Never ends. Does nothing without a live log: only `everstep dev` reloads.
pub(super) async fn follow(
    loaded: Option<Loaded>,
    settings: &Settings,
    functions: &Functions,
    service: &Arc<Service>,
    queues: &Queues,
    live_log: Option<LiveLog>,
    frontend: &dyn Frontend,
) {
    let (Some(mut loaded), Some(log)) = (loaded, live_log) else {
        return std::future::pending().await;
    };
    let around = Around { settings, functions, service, queues, frontend };
    loop {
        tokio::time::sleep(INTERVAL).await;
        let now = loaded.rule.look(&loaded.places);
        let changed = now.changes(&loaded.seen);
        if changed.is_empty() {
            continue;
        }
        let why = reason(&loaded.project, &changed);
        match around.load(&mut loaded).await {
            Ok(Some(seen)) => {
                loaded.seen = seen;
                log.write(&format!("reloaded, {why}: {}", loaded.project.summary()));
                match loaded.new_orphans(service).await {
                    Ok(lines) => lines.iter().for_each(|line| log.write(line)),
                    Err(error) => {
                        log.write(&format!("cannot list state machines: {error}"));
                    }
                }
            }
            Ok(None) => {
                let kept = around.keep(&mut loaded, now);
                log.write(&format!("not reloaded, {why}: {kept}"));
            }
            Err(error) => {
                let kept = around.keep(&mut loaded, now);
                log.write(&format!("not reloaded, {why}: {error}; {kept}"));
            }
        }
    }
}

/// What a project is loaded into.
struct Around<'a> {
    settings: &'a Settings,
    functions: &'a Functions,
    service: &'a Arc<Service>,
    queues: &'a Queues,
    frontend: &'a dyn Frontend,
}

impl Around<'_> {
    /// The files of the project that was loaded. None if there are errors: they have been shown.
    async fn load(&self, loaded: &mut Loaded) -> Result<Option<Snapshot>> {
        let Some(path) = &self.settings.functions else { return Ok(None) };
        let project = self.frontend.project(path, self.settings.served_by())?;
        let Some(mut project) = project else { return Ok(None) };
        let places = project.places();
        let seen = loaded.rule.look(&places);
        let mut deployment = project.deployment(self.settings, &seen);
        self.functions.targets.add(std::mem::take(&mut deployment.targets));
        project.deploy_queues(self.queues).await?;
        for message in project.deploy_machines(self.service, &self.settings.account).await {
            self.frontend.write(&message);
        }
        self.functions.deploy(deployment);
        self.functions.triggers.deploy(project.triggers(self.settings)).await;
        (loaded.project, loaded.places) = (project, places);
        Ok(Some(seen))
    }

    /// Keeps the previous configuration, but takes the code as it is now: a fix of a function should not have to
    /// wait until everything else is valid.
    fn keep(&self, loaded: &mut Loaded, now: Snapshot) -> &'static str {
        let before = std::mem::replace(&mut loaded.seen, now);
        if !loaded.seen.has_other_code(&before) {
            return "the previous version keeps running";
        }
        self.functions.deploy(loaded.project.deployment(self.settings, &loaded.seen));
        "the previous version keeps running, with the new code"
    }
}

/// `handlers/charge.py changed`
fn reason(project: &Project, changed: &[PathBuf]) -> String {
    let first = changed.first().map(|path| project.shown(path)).unwrap_or_default();
    match changed.len() {
        0 | 1 => format!("{first} changed"),
        more => format!("{first} and {} more changed", more - 1),
    }
}
