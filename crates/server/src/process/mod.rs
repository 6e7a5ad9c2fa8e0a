//! `everstep serve`: puts store, engine and server together, and takes them apart again in order.

mod assembly;
mod farewell;
mod files;
mod frontend;
mod local;
mod log_events;
mod logs;
mod machines;
mod project;
mod reload;
mod settings;
mod teller;
mod watch;
mod words;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use assembly::Assembly;
use farewell::{Farewell, Signals};
use reload::Loaded;
use settings::Settings;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::extension::Extension;
use crate::{Listening, Tls, serve};

pub use frontend::{Frontend, Others};
pub use project::Project;
pub use settings::Given;

/// Whether people watch it at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Quiet,
    /// What happens is told, and what changes is loaded again.
    Told,
}

/// How a server came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to stop, and has stopped in order.
    Stopped,
    /// It was not started: the configuration has errors, and they have been shown.
    Refused,
}

/// Serves until it is asked to stop. Blocks.
pub fn run(
    given: Given,
    file: Option<&Path>,
    manner: Manner,
    frontend: Arc<dyn Frontend>,
) -> Result<Ended> {
    let settings = Settings::resolve(given, file)?;
    let project = match &settings.functions {
        None => None,
        Some(path) => match frontend.project(path, settings.others())? {
            Some(project) => Some(project),
            None => return Ok(Ended::Refused),
        },
    };
    if let Some(project) = &project {
        project.warn(&*frontend);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(stay(settings, project, manner, frontend))
}

async fn stay(
    settings: Settings,
    project: Option<Project>,
    manner: Manner,
    frontend: Arc<dyn Frontend>,
) -> Result<Ended> {
    // From the first moment: who reads that it listens may stop it at once, and in order.
    let mut signals = Signals::listen()?;
    let tls = match &settings.tls {
        Some((certificates, key)) => Some(Tls::read(certificates, key)?),
        None => None,
    };
    // Bound before the store is opened: two servers on one port shall not both touch the data.
    let listener = TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("cannot listen on {}", settings.listen))?;
    let mut loaded = project.map(|project| Loaded::new(project, &settings));
    let Assembly { functions, service, log, teller, mut failed } =
        Assembly::build(&settings, loaded.as_ref(), manner, &frontend)?;
    local::warn(&*frontend);
    if let Some(loaded) = &mut loaded {
        loaded.project.deploy_machines(&service, &settings.account).await?;
        for line in loaded.farewells(&service).await? {
            frontend.write(&format!("{line}\n"));
        }
    }
    let project = loaded.as_ref().map(|loaded| &loaded.project);
    announce(&listener, &settings, project, &functions.limits(), &*frontend)?;
    let extension: Arc<dyn Extension> = Arc::new(functions.operations());
    let listening = Listening {
        keys: settings.keys.clone(),
        tls,
        extension: Some(extension),
        ailing: Some(functions.ailing()),
        ..Listening::default()
    };
    let mut outcome = Ok(Ended::Stopped);
    let reloading = reload::follow(loaded, &settings, &functions, &service, teller, &*frontend);
    let (stopping, stopped) = oneshot::channel();
    let orderly = async {
        let mut deadline = farewell::deadline();
        let stop = async {
            tokio::select! {
                () = signals.recv() => {}
                Some(error) = failed.recv() => outcome = Err(error),
                () = reloading => {}
            }
            deadline = farewell::deadline();
            let _ = stopping.send(Farewell::begin(functions.calls_running(), &*frontend));
        };
        serve(listener, service.clone(), listening, stop).await;
        functions.shut_down(deadline).await;
        let closing = service.clone();
        let finish = move || {
            closing.shut_down();
            if let Some(log) = log {
                log.finish();
            }
        };
        tokio::task::spawn_blocking(finish).await
    };
    tokio::select! {
        ended = orderly => ended?,
        () = farewell::impatient(stopped, &*frontend) => {}
    }
    outcome
}

/// One line: where it listens, where the data is, how to call it.
fn announce(
    listener: &TcpListener,
    settings: &Settings,
    project: Option<&Project>,
    limits: &str,
    frontend: &dyn Frontend,
) -> Result<()> {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr()?);
    let data = settings.data.display();
    frontend.write(&format!(
        "everstep listens on {url}, data in {data}; try: aws stepfunctions --endpoint-url {url} list-state-machines\n"
    ));
    if let Some(project) = project {
        frontend.write(&format!("{}; limits of {limits}\n", project.summary()));
        let here = if url == format!("http://{}", settings::LISTEN) {
            String::new()
        } else {
            format!(" --endpoint {url}")
        };
        if let Some(machine) = project.machines().next() {
            let hint = format!("everstep executions start {machine} --input '{{}}' --wait{here}");
            frontend.write(&format!("hint: {hint}\n"));
        } else if let Some(function) = project.functions().next() {
            let hint = format!("everstep invoke {function} --payload '{{}}'{here}");
            frontend.write(&format!("hint: {hint}\n"));
        }
    }
    Ok(())
}
