//! Loads a project again when its files change, for as long as people watch.

use std::sync::Arc;
use std::time::Duration;

use everstep_api::Service;

use super::project::Project;
use super::settings::Settings;
use super::teller::Teller;
use crate::functions::Functions;

/// How often files are looked at. Looking costs a few system calls for each file, and works where nobody
/// tells of changes.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Never ends. Does nothing without a teller: only `everstep dev` reloads.
pub(crate) async fn follow(
    project: Option<Project>,
    settings: &Settings,
    functions: &Functions,
    service: &Arc<Service>,
    teller: Option<Teller>,
) {
    let (Some(mut project), Some(teller)) = (project, teller) else {
        return std::future::pending().await;
    };
    let mut state = project.state();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = project.state();
        if now == state {
            continue;
        }
        state = now;
        match load(settings, functions, service).await {
            Ok(Some(loaded)) => {
                teller.tell(&format!("loaded again: {}", loaded.summary()));
                state = loaded.state();
                project = loaded;
            }
            Ok(None) => teller.tell("not loaded: what was there before goes on"),
            Err(error) => {
                teller.tell(&format!("not loaded: {error:#}; what was there before goes on"));
            }
        }
    }
}

async fn load(
    settings: &Settings,
    functions: &Functions,
    service: &Arc<Service>,
) -> anyhow::Result<Option<Project>> {
    let Some(path) = &settings.functions else { return Ok(None) };
    let Some(project) = Project::read(path, settings.others())? else { return Ok(None) };
    project.warn()?;
    let deployment = project.deployment(&settings.region, &settings.account);
    functions.know(&deployment);
    project.deploy_machines(service, &settings.account).await?;
    functions.deploy(deployment);
    Ok(Some(project))
}
