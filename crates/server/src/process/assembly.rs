//! The parts of a server, put together in the order in which they need each other.

use std::sync::Arc;

use anyhow::Result;
use everstep_executions::{SystemClock, TaskRunner};
use everstep_interpreter::Limits;
use everstep_store::Store;
use everstep_store_embedded::{EmbeddedStore, Options};
use tokio::sync::mpsc::UnboundedReceiver;

use super::Manner;
use super::frontend::Frontend;
use super::log_events::LogEvents;
use super::logs;
use super::reload::Loaded;
use super::settings::Settings;
use super::teller::{Teller, Told};
use super::watch::Watch;
use crate::functions::{Ear, Functions, Surroundings};
use crate::{Building, Place, Service};

pub(super) struct Assembly {
    pub(super) functions: Functions,
    pub(super) service: Arc<Service>,
    pub(super) log: Option<Arc<LogEvents>>,
    /// If somebody watches.
    pub(super) teller: Option<Teller>,
    /// Where the error arrives that ends everything.
    pub(super) failed: UnboundedReceiver<anyhow::Error>,
}

impl Assembly {
    /// Opens the store, and lets what is in it go on. Must be called within a Tokio runtime.
    pub(super) fn build(
        settings: &Settings,
        loaded: Option<&Loaded>,
        manner: Manner,
        frontend: &Arc<dyn Frontend>,
    ) -> Result<Self> {
        let store: Arc<dyn Store> =
            Arc::new(EmbeddedStore::open(&settings.data, &Options::default())?);
        let told = manner == Manner::Told;
        let teller = told.then(|| Teller::start(frontend.clone())).transpose()?;
        let open = |target| LogEvents::open(target, frontend.clone());
        let log = settings.log_events.as_ref().map(open).transpose()?.map(Arc::new);
        let (watch, failed) = Watch::new(log.clone(), teller.clone(), frontend.clone());
        let functions =
            functions(settings, store.clone(), loaded, teller.as_ref(), watch.clone(), frontend)?;
        let mock_file = settings.mock_config.as_deref();
        let test_cases = mock_file.map(|path| frontend.test_cases(path)).transpose()?;
        let tasks: Arc<dyn TaskRunner> = Arc::new(functions.tasks());
        let building = Building {
            store,
            functions: match teller.clone() {
                Some(teller) => Arc::new(Told { tasks, teller }),
                None => tasks,
            },
            observer: watch,
            clock: Arc::new(SystemClock),
            settings: everstep_executions::Settings {
                retention_ms: settings.retention_ms,
                ..everstep_executions::Settings::default()
            },
            place: place(settings),
        };
        let service = Service::open_with(building, test_cases)?;
        functions.attach(&service);
        if let Some(log) = &log {
            log.attach(service.reader());
        }
        Ok(Self { functions, service, log, teller, failed })
    }
}

fn place(settings: &Settings) -> Place {
    let wait_scale_millionths = settings.wait_scale_millionths;
    Place {
        region: settings.region.clone(),
        account: settings.account.clone(),
        dialect: settings.dialect,
        limits: Limits { wait_scale_millionths, ..Limits::default() },
    }
}

fn functions(
    settings: &Settings,
    store: Arc<dyn Store>,
    loaded: Option<&Loaded>,
    teller: Option<&Teller>,
    watch: Arc<Watch>,
    frontend: &Arc<dyn Frontend>,
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
        None => Arc::new(logs::Lines(frontend.clone())),
    };
    Functions::open(store, &around, deployment.unwrap_or_default(), ear, watch, frontend.clone())
}
