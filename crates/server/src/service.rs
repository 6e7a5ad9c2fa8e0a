//! The service: what operations work on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use everstep_api::protocol::{Common, Error, Operation, check};
use everstep_executions::{
    Clock, Engine, Level, Logging, Message, Observer, Parts, Prepared, Reader, Reply, Revision,
    Settings, TaskRunner,
};
use everstep_interpreter::{Dialect, Limits};
use everstep_store::Store;
use serde_json::Value;

use crate::activities::Activities;
use crate::args::Args;
use crate::catalog::{self, Catalog, Entry, Failed, Machine};
use crate::operations;
use crate::own::{Own, Targets, Written};
use crate::removal;
use crate::runner::Runner;
use crate::test_case::TestCases;

/// Where things are, and by which rules they run.
#[derive(Debug, Clone)]
pub struct Place {
    pub region: String,
    pub account: String,
    pub dialect: Dialect,
    pub limits: Limits,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account: "123456789012".to_owned(),
            dialect: Dialect::default(),
            limits: Limits::default(),
        }
    }
}

/// What a service is made of.
pub struct Building {
    pub store: Arc<dyn Store>,
    /// Runs the tasks that are neither activities nor executions, and tells of executions that fail.
    pub functions: Arc<dyn TaskRunner>,
    pub observer: Arc<dyn Observer>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
    pub place: Place,
}

pub struct Service {
    pub(crate) engine: Engine,
    pub(crate) reader: Reader,
    pub(crate) catalog: Catalog,
    pub(crate) activities: Arc<Activities>,
    pub(crate) runner: Arc<Runner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) place: Place,
    pub(crate) test_cases: Option<Arc<dyn TestCases>>,
    /// By the id of a revision and what the machine said of itself then, which makes no new one.
    prepared: Mutex<HashMap<(String, Own), Arc<Prepared>>>,
    targets: OnceLock<Arc<dyn Targets>>,
}

/// An answer of the engine that will come, unless the engine stops.
pub(crate) type Pending<T> = tokio::sync::oneshot::Receiver<everstep_executions::Result<T>>;

/// Revisions that are held ready; beyond that all are found again in the engine.
const PREPARED_MAX: usize = 4096;

impl Service {
    /// Opens the engine on its store. Blocks; must be called within a Tokio runtime.
    pub fn open(building: Building) -> everstep_executions::Result<Arc<Self>> {
        Self::open_with(building, None)
    }

    /// As [`Self::open`], with test cases that executions can be started with.
    pub fn open_with(
        building: Building,
        test_cases: Option<Arc<dyn TestCases>>,
    ) -> everstep_executions::Result<Arc<Self>> {
        let Building { store, functions, observer, clock, settings, place } = building;
        let catalog = Catalog::new(store.clone());
        let activities = Arc::new(Activities::new(catalog.clone()));
        let runner = Arc::new(Runner::new(activities.clone(), functions, test_cases.clone()));
        let parts = Parts { store, runner: runner.clone(), observer, settings };
        let engine = Engine::open(parts, clock.clone())?;
        let reader = engine.reader();
        let service = Arc::new(Self {
            engine,
            reader,
            catalog,
            activities,
            runner: runner.clone(),
            clock,
            place,
            test_cases,
            prepared: Mutex::default(),
            targets: OnceLock::new(),
        });
        runner.attach(&service);
        tokio::spawn(removal::look_after(Arc::downgrade(&service)));
        Ok(service)
    }

    /// Does what a request asks for.
    pub async fn call(&self, operation: Operation, body: &Value) -> Result<Value, Error> {
        check(operation, body)?;
        operations::run(self, Args::new(operation, body)).await
    }

    /// Why nothing can be done any more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<everstep_executions::Error> {
        self.engine.failure()
    }

    /// What is stored of executions.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// The ARN of the machine of this name.
    #[must_use]
    pub fn machine_arn(&self, name: &str) -> String {
        self.arn(&format!("stateMachine:{name}"))
    }

    /// Whom machines can tell, from now on. Said once: until then it is only looked at how targets are written.
    pub fn know(&self, targets: Arc<dyn Targets>) {
        let _ = self.targets.set(targets);
    }

    pub(crate) fn targets(&self) -> &dyn Targets {
        self.targets.get().map_or(&Written, |targets| &**targets)
    }

    /// Stops, and waits until all that was accepted is durable. Blocks.
    pub fn shut_down(&self) {
        self.engine.shut_down();
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// `arn:aws:states:us-east-1:123456789012:` and the rest.
    pub(crate) fn arn(&self, rest: &str) -> String {
        format!("arn:aws:states:{}:{}:{rest}", self.place.region, self.place.account)
    }

    /// Asks the engine, and waits for its answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> everstep_executions::Result<T> {
        self.request(message).await.unwrap_or(Err(everstep_executions::Error::Stopped))
    }

    /// Asks the engine. Whoever waits long for the answer need not hold the service meanwhile.
    pub(crate) fn request<T: Send + 'static>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> Pending<T> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.engine.send(message(Box::new(move |answer| {
            let _ = sender.send(answer);
        })));
        receiver
    }

    pub(crate) fn machine(&self, arn: &str) -> Result<Option<Entry<Machine>>, Failed> {
        self.catalog.find(&Machine::key(arn))
    }

    /// Makes a revision durable and ready to run.
    pub(crate) async fn prepare(
        &self,
        revision: Revision,
    ) -> everstep_executions::Result<Arc<Prepared>> {
        let (sender, durable) = tokio::sync::oneshot::channel();
        let done = Box::new(move |outcome| {
            let _ = sender.send(outcome);
        });
        let prepared = self.engine.prepare_with(revision, done)?;
        durable.await.unwrap_or(Err(everstep_executions::Error::Stopped))?;
        Ok(prepared)
    }

    /// A machine with these settings, ready to run.
    pub(crate) async fn prepared(
        &self,
        machine: &Machine,
        settings: &catalog::Settings,
    ) -> everstep_executions::Result<Arc<Prepared>> {
        let own = Own::of(machine);
        let key = (settings.revision_id.clone(), own.clone());
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(&key) {
            return Ok(found.clone());
        }
        let definition = self.catalog.definition(&machine.arn, &settings.definition);
        let definition =
            definition.map_err(|failed| everstep_executions::Error::Damaged(failed.0.into()))?.text;
        let mut revision = Revision::new(&machine.arn, &settings.role_arn, &definition)
            .dialect(self.place.dialect);
        revision.aws = own.aws.unwrap_or(revision.aws);
        revision.on_failure = own.on_failure;
        revision.payload_bytes = self.place.limits.payload_bytes as u64;
        revision.history_events = self.place.limits.history_events;
        revision.inline_concurrency = self.place.limits.inline_concurrency;
        let scale = self.place.limits.wait_scale_millionths;
        let usual = Limits::default().wait_scale_millionths;
        revision.wait_scale_millionths = Some(scale).filter(|scale| *scale != usual);
        revision.logging = settings.logging.as_ref().and_then(logging);
        let revision = if machine.express { revision.express() } else { revision };
        let prepared = self.prepare(revision).await?;
        let mut known = lock();
        if known.len() >= PREPARED_MAX {
            known.clear();
        }
        known.insert(key, prepared.clone());
        Ok(prepared)
    }
}

/// What a machine's configuration asks for.
fn logging(configuration: &Value) -> Option<Logging> {
    let level = match configuration["level"].as_str()? {
        "ALL" => Level::All,
        "ERROR" => Level::Error,
        "FATAL" => Level::Fatal,
        _ => return None,
    };
    let data = configuration["includeExecutionData"] == true;
    Some(Logging { level, data })
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Self::common(Common::InternalFailure, failed.0)
    }
}

/// What any operation answers when the engine cannot do it.
pub(crate) fn engine_error(error: everstep_executions::Error) -> Error {
    use everstep_executions::Error as Engine;
    match error {
        Engine::Busy => Error::common(Common::Throttling, "Rate exceeded"),
        Engine::Stopped => Error::common(Common::ServiceUnavailable, error.to_string()),
        other => Error::common(Common::InternalFailure, other.to_string()),
    }
}
