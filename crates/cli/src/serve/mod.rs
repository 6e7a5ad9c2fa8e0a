//! `everstep serve`: puts store, engine and server together, and takes them apart again in order.

mod farewell;
mod files;
mod local;
pub(crate) mod log_events;
mod logs;
mod machines;
mod mocks;
mod project;
mod reload;
pub(crate) mod settings;
mod teller;
mod watch;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use everstep_api::extension::Extension;
use everstep_api::{Building, Listening, Place, Service, TestCases, Tls, serve};
use everstep_interpreter::Limits;
use everstep_runtime::{SystemClock, TaskRunner};
use everstep_store::Store;
use everstep_store_embedded::{EmbeddedStore, Options};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::functions::{Ear, Functions, Surroundings};
use crate::output::Stream;
use farewell::{Farewell, Signals};
use log_events::LogEvents;
use mocks::MockFile;
use project::Project;
use reload::Loaded;
use settings::{Given, Settings};
use teller::{Teller, Told};
use watch::Watch;

/// Whether people watch it at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Quiet,
    /// What happens is told, and what changes is loaded again.
    Told,
}

pub(crate) fn run(given: Given, file: Option<&Path>, manner: Manner) -> Result<Exit> {
    let settings = Settings::resolve(given, file)?;
    let project = match &settings.functions {
        None => None,
        Some(path) => match Project::read(path, settings.others())? {
            Some(project) => Some(project),
            None => return Ok(Exit::Problems),
        },
    };
    if let Some(project) = &project {
        project.warn()?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(stay(settings, project, manner))
}

async fn stay(settings: Settings, project: Option<Project>, manner: Manner) -> Result<Exit> {
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
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&settings.data, &Options::default())?);
    let teller = (manner == Manner::Told).then(Teller::start).transpose()?;
    let mut loaded = project.map(|project| Loaded::new(project, &settings));
    let log = settings.log_events.as_ref().map(LogEvents::open).transpose()?.map(Arc::new);
    let (watch, failed) = Watch::new(log.clone(), teller.clone());
    let functions =
        functions(&settings, store.clone(), loaded.as_ref(), teller.as_ref(), watch.clone())?;
    let test_cases = settings.mock_config.as_deref().map(MockFile::read).transpose()?;
    let test_cases = test_cases.map(|file| Arc::new(file) as Arc<dyn TestCases>);
    let tasks: Arc<dyn TaskRunner> = Arc::new(functions.tasks());
    let building = Building {
        store,
        functions: match teller.clone() {
            Some(teller) => Arc::new(Told { tasks, teller }),
            None => tasks,
        },
        observer: watch,
        clock: Arc::new(SystemClock),
        settings: everstep_runtime::Settings {
            retention_ms: settings.retention_ms,
            ..everstep_runtime::Settings::default()
        },
        place: Place {
            region: settings.region.clone(),
            account: settings.account.clone(),
            dialect: settings.dialect,
            limits: Limits {
                wait_scale_millionths: settings.wait_scale_millionths,
                ..Limits::default()
            },
        },
    };
    let service = Service::open_with(building, test_cases)?;
    functions.attach(&service);
    if let Some(log) = &log {
        log.attach(service.reader());
    }
    local::warn()?;
    if let Some(loaded) = &mut loaded {
        loaded.project.deploy_machines(&service, &settings.account).await?;
        for line in loaded.farewells(&service).await? {
            Stream::Story.write(&format!("{line}\n"))?;
        }
    }
    let project = loaded.as_ref().map(|loaded| &loaded.project);
    announce(&listener, &settings, project, &functions.limits())?;
    let extension: Arc<dyn Extension> = Arc::new(functions.operations());
    let keys = settings.keys.clone();
    let (extension, ailing) = (Some(extension), Some(functions.ailing()));
    let listening = Listening { keys, tls, extension, ailing, ..Listening::default() };
    let mut failed = failed;
    let mut outcome = Ok(Exit::Good);
    let reloading = reload::follow(loaded, &settings, &functions, &service, teller);
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
            let _ = stopping.send(Farewell::begin(functions.calls_running()));
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
        () = farewell::impatient(stopped) => {}
    }
    outcome
}

fn functions(
    settings: &Settings,
    store: Arc<dyn Store>,
    loaded: Option<&Loaded>,
    teller: Option<&Teller>,
    watch: Arc<Watch>,
) -> Result<Functions> {
    let around = Surroundings {
        data: &settings.data,
        region: &settings.region,
        account: &settings.account,
        lambda_endpoint: settings.lambda_endpoint.as_deref(),
    };
    let deployment = loaded.map(|loaded| loaded.project.deployment(settings, &loaded.seen));
    let ear: Ear = match teller {
        Some(teller) => Arc::new(teller.clone()),
        None => Arc::new(logs::Lines),
    };
    Functions::open(store, &around, deployment.unwrap_or_default(), ear, watch)
}

/// One line: where it listens, where the data is, how to call it.
fn announce(
    listener: &TcpListener,
    settings: &Settings,
    project: Option<&Project>,
    limits: &str,
) -> Result<()> {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr()?);
    let data = settings.data.display();
    Stream::Story.write(&format!(
        "everstep listens on {url}, data in {data}; try: aws stepfunctions --endpoint-url {url} list-state-machines\n"
    ))?;
    if let Some(project) = project {
        Stream::Story.write(&format!("{}; limits of {limits}\n", project.summary()))?;
        if let Some(machine) = project.machines().next() {
            let hint = format!("everstep executions start {machine} --input '{{}}' --wait");
            Stream::Story.write(&format!("hint: {hint}\n"))?;
        } else if let Some(function) = project.functions().next() {
            Stream::Story.write(&format!("hint: everstep invoke {function} --payload '{{}}'\n"))?;
        }
    }
    Ok(())
}
