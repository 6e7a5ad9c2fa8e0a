//! The parts of a server, put together in the order in which they need each other: first all that accepts
//! and waits, then what is started.

use std::sync::Arc;

use everstep_executions::SystemClock;
use everstep_interpreter::Limits;
use everstep_store::Store;
use everstep_store_embedded::{EmbeddedStore, Options};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::Mode;
use super::clock_trust::ClockTrust;
use super::database::{self, Lock};
use super::descriptors::Descriptors;
use super::disk::Disk;
use super::error::{Error, Result};
use super::frontend::Frontend;
use super::function_log::FunctionLog;
use super::in_flight;
use super::live_log::LiveLog;
use super::log_events::LogEvents;
use super::monitor::Monitor;
use super::privacy;
use super::reload::Loaded;
use super::settings::Settings;
use crate::admission::Admission;
use crate::dispatch::TaskObserver;
use crate::functions::{Destinations, Functions, Notifications, Surroundings};
use crate::queues::Queues;
use crate::{Environment, Parts, Service, token_key};

pub(super) struct Assembly {
    pub(super) functions: Arc<Functions>,
    pub(super) service: Arc<Service>,
    pub(super) queues: Arc<Queues>,
    notifications: Arc<Notifications>,
    log_events: Option<Arc<LogEvents>>,
    admission: Arc<Admission>,
    /// Until it is followed.
    clock_trust: Option<ClockTrust>,
    /// For `everstep dev`.
    pub(super) live_log: Option<LiveLog>,
    /// Receives the error that ends the process.
    pub(super) failed: UnboundedReceiver<Error>,
    store: Arc<dyn Store>,
    /// Of the data directory, where the store does not lock it.
    _lock: Option<Lock>,
}

impl Assembly {
    /// Opens the store and takes over what is in it. Must be called within a Tokio runtime.
    pub(super) fn start(
        settings: &Settings,
        descriptors: Descriptors,
        loaded: Option<&Loaded>,
        mode: Mode,
        frontend: &Arc<dyn Frontend>,
    ) -> Result<Self> {
        let (store, lock) = open_store(settings, frontend)?;
        let clock_trust = ClockTrust::begin(store.clone(), frontend.clone())?;
        let around = Around {
            descriptors,
            admission: Arc::default(),
            shards: everstep_shards::Settings {
                retention_limit: clock_trust.limit(),
                in_flight: in_flight::open(&settings.data, &*store)?,
                ..everstep_shards::Settings::default()
            },
        };
        let is_dev = mode == Mode::Dev;
        let live_log = is_dev.then(|| LiveLog::start(frontend.clone())).transpose()?;
        let functions =
            functions(settings, &around, store.clone(), loaded, live_log.as_ref(), frontend)?;
        let functions = Arc::new(functions);
        let queues = Arc::new(queues(settings, &around, store.clone()));
        let mock_file = settings.mock_config.as_deref();
        let service = Service::new(Parts {
            settings: everstep_executions::Settings {
                retention_ms: settings.retention_ms,
                token_key: token_key::of_store(&store).map_err(|failed| Error::new(failed.0))?,
                shards: around.shards.clone(),
                ..everstep_executions::Settings::default()
            },
            admission: around.admission.clone(),
            environment: environment(settings),
            functions: Some(functions.clone()),
            queues: Some(queues.clone()),
            targets: functions.targets.clone(),
            test_cases: mock_file.map(|path| frontend.test_cases(path)).transpose()?,
            task_observer: live_log.clone().map(|log| Arc::new(log) as Arc<dyn TaskObserver>),
            ..Parts::new(store.clone(), Arc::new(SystemClock), functions.tasks())
        });
        functions.connect(&service, frontend.clone());
        let open = |target| LogEvents::open(target, service.reader(), frontend.clone());
        let log_events = settings.log_events.as_ref().map(open).transpose()?.map(Arc::new);
        let (monitor, failed) =
            Monitor::new(log_events.clone(), live_log.clone(), frontend.clone());
        let (client, targets) = (functions.client.clone(), functions.targets.clone());
        let destinations = Arc::new(Destinations::new(client, service.clone(), targets));
        let notifications =
            Notifications::new(service.clone(), &functions, destinations.clone(), frontend.clone());
        let notifications = Arc::new(notifications);
        // First: what the others deliver goes there.
        queues.start(monitor.clone())?;
        functions.start(destinations, monitor.clone())?;
        service.start(Some(notifications.clone()), monitor)?;
        let (admission, clock_trust) = (around.admission, Some(clock_trust));
        Ok(Self {
            functions,
            service,
            queues,
            notifications,
            log_events,
            admission,
            clock_trust,
            live_log,
            failed,
            store,
            _lock: lock,
        })
    }

    /// Looks after the disk or the database, and the clock, until the service stops.
    pub(super) fn watch(&mut self, settings: &Settings, frontend: &Arc<dyn Frontend>) {
        let admission = self.admission.clone();
        if settings.store.is_some() {
            self.service.spawn(database::follow(self.store.clone(), admission));
        } else {
            let (data, max) = (settings.data.clone(), settings.disk_max);
            let disk = Disk { data, max, admission, frontend: frontend.clone() };
            self.service.spawn(disk.follow());
        }
        if let Some(clock_trust) = self.clock_trust.take() {
            self.service.spawn(clock_trust.follow());
        }
    }

    /// Stops in order; what runs may end until `deadline`.
    pub(super) async fn shut_down(&self, deadline: Instant) {
        let _ = tokio::time::timeout_at(deadline, self.functions.triggers.shut_down()).await;
        let left = deadline.saturating_duration_since(Instant::now());
        self.notifications.shut_down(left).await;
        self.functions.shut_down(deadline).await;
        let (service, log) = (self.service.clone(), self.log_events.clone());
        let queues = self.queues.clone();
        let finish = move || {
            service.shut_down();
            queues.shut_down();
            if let Some(log) = log {
                log.finish();
            }
        };
        let _ = tokio::task::spawn_blocking(finish).await;
    }
}

/// The store that the settings ask for. The data directory is made in any case: functions need it.
fn open_store(
    settings: &Settings,
    frontend: &Arc<dyn Frontend>,
) -> Result<(Arc<dyn Store>, Option<Lock>)> {
    let data = &settings.data;
    let is_new = privacy::create_directory(data)?;
    let opened: (Arc<dyn Store>, _) = match &settings.store {
        Some(address) => {
            let (store, lock) = database::open(address, data, frontend)?;
            (Arc::new(store), Some(lock))
        }
        None => {
            database::refuse_other(data)?;
            (Arc::new(EmbeddedStore::open(data, &Options::default())?), None)
        }
    };
    privacy::restrict_directory(data, is_new, &**frontend);
    Ok(opened)
}

/// What the parts share.
struct Around {
    descriptors: Descriptors,
    admission: Arc<Admission>,
    shards: everstep_shards::Settings,
}

fn environment(settings: &Settings) -> Environment {
    let wait_scale_millionths = settings.wait_scale_millionths;
    Environment {
        region: settings.region.clone(),
        account: settings.account.clone(),
        dialect: settings.dialect,
        limits: Limits { wait_scale_millionths, ..Limits::default() },
        http_tasks: settings.http_tasks,
    }
}

fn queues(settings: &Settings, given: &Around, store: Arc<dyn Store>) -> Queues {
    let place = (settings.region.as_str(), settings.account.as_str());
    let (admission, limit) = (given.admission.clone(), given.shards.retention_limit.clone());
    Queues::new(store, Arc::new(SystemClock), place, admission, limit)
}

fn functions(
    settings: &Settings,
    given: &Around,
    store: Arc<dyn Store>,
    loaded: Option<&Loaded>,
    live_log: Option<&LiveLog>,
    frontend: &Arc<dyn Frontend>,
) -> Result<Functions> {
    let around = Surroundings {
        data: &settings.data,
        region: &settings.region,
        account: &settings.account,
        lambda_endpoint: settings.lambda_endpoint.as_deref(),
        admission: given.admission.clone(),
        shards: given.shards.clone(),
        requests_max: given.descriptors.requests,
    };
    let deployment = loaded.map(|loaded| loaded.project.deployment(settings, &loaded.seen));
    let log: Arc<dyn everstep_runners::Observer> = match live_log {
        Some(live_log) => Arc::new(live_log.clone()),
        None => Arc::new(FunctionLog(frontend.clone())),
    };
    Functions::new(store, &around, deployment.unwrap_or_default(), log)
}
