//! `everstep serve`: puts store, engine and server together, and takes them apart again in order.

mod functions;
mod local;
pub(crate) mod log_events;
mod mocks;
pub(crate) mod settings;
mod watch;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use everstep_api::{Building, Listening, Place, Service, TestCases, Tls, serve};
use everstep_interpreter::Limits;
use everstep_runtime::SystemClock;
use everstep_store_embedded::{EmbeddedStore, Options};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;
use crate::output::Stream;
use functions::NoFunctions;
use log_events::LogEvents;
use mocks::MockFile;
use settings::{Given, Settings};
use watch::Watch;

pub(crate) fn run(given: Given, file: Option<&Path>) -> Result<Exit> {
    let settings = Settings::resolve(given, file)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(stay(settings))
}

async fn stay(settings: Settings) -> Result<Exit> {
    let tls = match &settings.tls {
        Some((certificates, key)) => Some(Tls::read(certificates, key)?),
        None => None,
    };
    // Bound before the store is opened: two servers on one port shall not both touch the data.
    let listener = TcpListener::bind(settings.listen)
        .await
        .with_context(|| format!("cannot listen on {}", settings.listen))?;
    let store = EmbeddedStore::open(&settings.data, &Options::default())?;
    let log = settings.log_events.as_ref().map(LogEvents::open).transpose()?.map(Arc::new);
    let (watch, failed) = Watch::new(log.clone());
    let test_cases = settings.mock_config.as_deref().map(MockFile::read).transpose()?;
    let test_cases = test_cases.map(|file| Arc::new(file) as Arc<dyn TestCases>);
    let building = Building {
        store: Arc::new(store),
        functions: Arc::new(NoFunctions),
        observer: Arc::new(watch),
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
    if let Some(log) = &log {
        log.attach(service.reader());
    }
    local::warn()?;
    announce(&listener, &settings)?;
    let listening = Listening { keys: settings.keys, tls, ..Listening::default() };
    let mut terminate = signal(SignalKind::terminate())?;
    let mut failed = failed;
    let mut outcome = Ok(Exit::Good);
    let stop = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
            Some(error) = failed.recv() => outcome = Err(error.into()),
        }
    };
    serve(listener, service.clone(), listening, stop).await;
    let finish = move || {
        service.shut_down();
        if let Some(log) = log {
            log.finish();
        }
    };
    tokio::task::spawn_blocking(finish).await?;
    outcome
}

/// One line: where it listens, where the data is, how to call it.
fn announce(listener: &TcpListener, settings: &Settings) -> Result<()> {
    let scheme = if settings.tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr()?);
    let data = settings.data.display();
    Stream::Story.write(&format!(
        "everstep listens on {url}, data in {data}; try: aws stepfunctions --endpoint-url {url} list-state-machines\n"
    ))
}
