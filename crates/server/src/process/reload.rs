//! Loads a project again when its files change, for as long as people watch.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::files::{Places, Rule, Snapshot};
use super::frontend::Frontend;
use super::project::Project;
use super::settings::Settings;
use super::teller::Teller;
use crate::Service;
use crate::functions::Functions;

/// How often files are looked at. Looking costs a few system calls for each file, and works where nobody
/// tells of changes.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A project that was loaded, and what is known of it.
pub(super) struct Loaded {
    pub(super) project: Project,
    places: Places,
    rule: Rule,
    /// Its files as they were then.
    pub(super) seen: Snapshot,
    /// Machines that came from its file and are no longer in it: they have been told.
    left_behind: BTreeSet<String>,
}

impl Loaded {
    /// As the files are now; nothing is told yet.
    pub(super) fn new(project: Project, settings: &Settings) -> Self {
        let places = project.places();
        let rule = Rule::new(&places, &settings.data);
        let seen = rule.look(&places);
        Self { project, places, rule, seen, left_behind: BTreeSet::new() }
    }

    /// Lines for the machines that have been left behind since the last time.
    pub(super) async fn farewells(&mut self, service: &Service) -> Result<Vec<String>> {
        let now = self.project.left_behind(service).await?;
        let new = now.difference(&self.left_behind).map(|name| self.project.farewell(name));
        let lines = new.collect();
        self.left_behind = now;
        Ok(lines)
    }
}

/// Never ends. Does nothing without a teller: only `everstep dev` reloads.
pub(super) async fn follow(
    loaded: Option<Loaded>,
    settings: &Settings,
    functions: &Functions,
    service: &Arc<Service>,
    teller: Option<Teller>,
    frontend: &dyn Frontend,
) {
    let (Some(mut loaded), Some(teller)) = (loaded, teller) else {
        return std::future::pending().await;
    };
    let around = Around { settings, functions, service, frontend };
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = loaded.rule.look(&loaded.places);
        let changed = now.changes(&loaded.seen);
        if changed.is_empty() {
            continue;
        }
        let why = words(&loaded.project, &changed);
        match around.load(&mut loaded).await {
            Ok(Some(seen)) => {
                loaded.seen = seen;
                teller.tell(&format!("loaded again, {why}: {}", loaded.project.summary()));
                match loaded.farewells(service).await {
                    Ok(lines) => lines.iter().for_each(|line| teller.tell(line)),
                    Err(error) => {
                        teller.tell(&format!("state machines cannot be listed: {error:#}"));
                    }
                }
            }
            Ok(None) => {
                let kept = around.keep(&mut loaded, now);
                teller.tell(&format!("not loaded, {why}: {kept}"));
            }
            Err(error) => {
                let kept = around.keep(&mut loaded, now);
                teller.tell(&format!("not loaded, {why}: {error:#}; {kept}"));
            }
        }
    }
}

/// What a project is loaded into.
struct Around<'a> {
    settings: &'a Settings,
    functions: &'a Functions,
    service: &'a Arc<Service>,
    frontend: &'a dyn Frontend,
}

impl Around<'_> {
    /// What was seen of the project that is loaded now. Nothing if there are problems: they have been told.
    async fn load(&self, loaded: &mut Loaded) -> Result<Option<Snapshot>> {
        let Some(path) = &self.settings.functions else { return Ok(None) };
        let project = self.frontend.project(path, self.settings.others())?;
        let Some(project) = project else { return Ok(None) };
        project.warn(self.frontend);
        let places = project.places();
        let seen = loaded.rule.look(&places);
        let deployment = project.deployment(self.settings, &seen);
        self.functions.know(&deployment);
        project.deploy_machines(self.service, &self.settings.account).await?;
        self.functions.deploy(deployment);
        (loaded.project, loaded.places) = (project, places);
        Ok(Some(seen))
    }

    /// Goes on with the configuration that there was. Code is taken as it is now all the same: whoever mends
    /// a function shall not have to mend everything else first.
    fn keep(&self, loaded: &mut Loaded, now: Snapshot) -> &'static str {
        let before = std::mem::replace(&mut loaded.seen, now);
        if !loaded.seen.has_other_code(&before) {
            return "what was there before goes on";
        }
        self.functions.deploy(loaded.project.deployment(self.settings, &loaded.seen));
        "what was there before goes on, with the code as it is now"
    }
}

/// `handlers/charge.py changed`
fn words(project: &Project, changed: &[PathBuf]) -> String {
    let first = changed.first().map(|path| project.shown(path)).unwrap_or_default();
    match changed.len() {
        0 | 1 => format!("{first} changed"),
        more => format!("{first} and {} more changed", more - 1),
    }
}
