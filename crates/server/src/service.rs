//! The service: what operations work on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use everstep_api::protocol::{Common, Error, Operation, check};
use everstep_executions::{
    Clock, Engine, Level, Logging, Message, Observer, Prepared, Reader, Reply, Revision, Settings,
    TaskRunner,
};
use everstep_interpreter::{Dialect, Limits, TokenKey};
use everstep_shards::Error as EngineError;
use everstep_store::Store;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::activities::{self, Activities};
use crate::admission::Admission;
use crate::args::Args;
use crate::catalog::{self, Catalog, Entry, Failed, Machine};
use crate::dispatch::{Dispatcher, Notifier, TaskObserver};
use crate::functions::{Functions, Refusal};
use crate::histories::Histories;
use crate::map_run::MapRuns;
use crate::nested::Calls;
use crate::queues::Queues;
use crate::removal;
use crate::stories::Stories;
use crate::tag_settings::{Syntax, TagSettings, Targets};
use crate::test_case::TestCases;
use crate::turns::Turns;
use crate::{operations, quarantine};

/// Region and account of ARNs, and the rules of executions.
#[derive(Debug, Clone)]
pub struct Environment {
    pub region: String,
    pub account: String,
    pub dialect: Dialect,
    pub limits: Limits,
    /// Whether the resource of a task may be a URL.
    pub http_tasks: bool,
}

impl Default for Environment {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account: "123456789012".to_owned(),
            dialect: Dialect::default(),
            limits: Limits::default(),
            http_tasks: true,
        }
    }
}

/// What a service is made of.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
    pub environment: Environment,
    /// Runs the tasks that call functions and URLs.
    pub tasks: Arc<dyn TaskRunner>,
    /// The functions that callers of the API can see and invoke.
    pub functions: Option<Arc<Functions>>,
    /// The queues that callers, tasks and destinations use.
    pub queues: Option<Arc<Queues>>,
    pub targets: Arc<dyn Targets>,
    pub test_cases: Option<Arc<dyn TestCases>>,
    /// Whether new work is accepted.
    pub admission: Arc<Admission>,
    pub task_observer: Option<Arc<dyn TaskObserver>>,
}

impl Parts {
    /// A service without functions of its own.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, tasks: Arc<dyn TaskRunner>) -> Self {
        Self {
            store,
            clock,
            settings: Settings::default(),
            environment: Environment::default(),
            tasks,
            functions: None,
            queues: None,
            targets: Arc::new(Syntax),
            test_cases: None,
            admission: Arc::default(),
            task_observer: None,
        }
    }
}

pub struct Service {
    store: Arc<dyn Store>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) reader: Reader,
    pub(crate) catalog: Catalog,
    pub(crate) activities: Arc<Activities>,
    pub(crate) map_runs: Arc<MapRuns>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) tasks: Arc<dyn TaskRunner>,
    pub(crate) functions: Option<Arc<Functions>>,
    pub(crate) queues: Option<Arc<Queues>>,
    pub(crate) targets: Arc<dyn Targets>,
    pub(crate) test_cases: Option<Arc<dyn TestCases>>,
    pub(crate) task_observer: Option<Arc<dyn TaskObserver>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) environment: Environment,
    admission: Arc<Admission>,
    pub(crate) token_key: TokenKey,
    /// For histories, which are read whole.
    pub(crate) history_turns: Turns,
    /// For definitions, which are parsed and checked, and for states that are tested.
    pub(crate) definition_turns: Turns,
    pub(crate) stories: Arc<Stories>,
    pub(crate) histories: Arc<Histories>,
    runtime: Handle,
    /// Whether the engine has stopped.
    stopped: watch::Sender<bool>,
    /// By the id of a revision and the settings of the machine then, which do not make a new one.
    prepared: Mutex<HashMap<(String, TagSettings), Arc<Prepared>>>,
}

/// An answer of the engine; cancelled if the engine stops.
pub(crate) type Pending<T> = tokio::sync::oneshot::Receiver<everstep_executions::Result<T>>;

/// Revisions that are cached.
const PREPARED_MAX: usize = 4096;

impl Service {
    /// A service that is yet to be started. Must be called within a Tokio runtime.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        let token_key = parts.settings.token_key;
        let engine = Engine::new(parts.store.clone(), parts.clock.clone(), parts.settings);
        let engine = Arc::new(engine);
        let catalog = Catalog::new(parts.store.clone());
        Arc::new(Self {
            stories: Arc::new(Stories::new(engine.reader())),
            histories: Arc::new(Histories::new(engine.reader())),
            store: parts.store,
            reader: engine.reader(),
            engine,
            activities: Arc::new(Activities::new(catalog.clone(), parts.clock.clone())),
            catalog,
            map_runs: Arc::default(),
            calls: Arc::default(),
            tasks: parts.tasks,
            functions: parts.functions,
            queues: parts.queues,
            targets: parts.targets,
            test_cases: parts.test_cases,
            task_observer: parts.task_observer,
            clock: parts.clock,
            environment: parts.environment,
            admission: parts.admission,
            token_key,
            history_turns: Turns::of_processors(),
            definition_turns: Turns::of_processors(),
            runtime: Handle::current(),
            stopped: watch::Sender::new(false),
            prepared: Mutex::default(),
        })
    }

    /// Takes over what is stored, and runs it. Blocks. Until [`Self::shut_down`] the engine holds the service.
    pub fn start(
        self: &Arc<Self>,
        notifier: Option<Arc<dyn Notifier>>,
        observer: Arc<dyn Observer>,
    ) -> everstep_executions::Result<()> {
        self.engine.start(Arc::new(Dispatcher { service: self.clone(), notifier }), observer)?;
        self.spawn(removal::look_after(self.clone()));
        self.spawn(activities::keep_mark(self.clone()));
        Ok(())
    }

    /// Does what a request asks for.
    pub async fn call(
        self: &Arc<Self>,
        operation: Operation,
        body: &Value,
    ) -> Result<Value, Error> {
        check(operation, body)?;
        self.admission.check(operation)?;
        operations::run(self, Args::new(operation, body)).await
    }

    /// What an execution did and why: the operation `Everstep.DescribeStory`.
    pub async fn describe_story(&self, body: &Value) -> Result<Value, Error> {
        operations::describe_story::run(self, body).await
    }

    /// Does what a request for an operation of our own asks for: `X-Amz-Target` is `Everstep.` and its name.
    pub(crate) async fn operate(
        self: &Arc<Self>,
        operation: &str,
        body: Value,
    ) -> Result<Value, Refusal> {
        if let Some(queues) = &self.queues
            && let Some(answered) = queues.operate(operation, &body).await
        {
            return answered;
        }
        match (operation, &self.functions) {
            ("ListQuarantined", _) => quarantine::list(self).await,
            ("ReleaseExecution", _) => quarantine::release(self, &body).await,
            (_, Some(functions)) => functions.operate(operation, body).await,
            (_, None) => Err(Refusal::unknown_operation(operation)),
        }
    }

    /// Why nothing can be stored any more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let executions = self.engine.failure().map(|error| error.to_string());
        executions
            .or_else(|| self.functions.as_ref()?.failure())
            .or_else(|| self.queues.as_ref()?.failure())
    }

    /// Why the store cannot be used at the moment, if so.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.store.trouble()
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

    /// Stops executions, and waits until all that was accepted is durable. Blocks.
    pub fn shut_down(&self) {
        self.activities.close();
        self.engine.shut_down();
        self.stopped.send_replace(true);
    }

    /// Runs work beside the engine. Work that is left when the engine has stopped is dropped, as a crash would:
    /// the next start brings it back.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut stopped = self.stopped.subscribe();
        self.runtime.spawn(async move {
            tokio::select! {
                () = work => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        });
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// `arn:aws:states:us-east-1:123456789012:` and the rest.
    pub(crate) fn arn(&self, rest: &str) -> String {
        format!("arn:aws:states:{}:{}:{rest}", self.environment.region, self.environment.account)
    }

    /// Asks the engine, and waits for its answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        message: impl FnOnce(Reply<T>) -> Message,
    ) -> everstep_executions::Result<T> {
        self.request(message).await.unwrap_or(Err(everstep_executions::Error::Stopped))
    }

    /// Asks the engine. The caller can wait for the answer without holding the service.
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
        // Parsing takes long if the definition is large; the caller waits for the disk anyway.
        let engine = self.engine.clone();
        let prepared = tokio::task::spawn_blocking(move || engine.prepare_with(revision, done));
        let prepared = prepared.await.map_err(|_| everstep_executions::Error::Stopped)??;
        durable.await.unwrap_or(Err(everstep_executions::Error::Stopped))?;
        Ok(prepared)
    }

    /// The dialect that a machine runs by: its own, else the server's.
    pub(crate) fn dialect(&self, machine: &Machine) -> Dialect {
        TagSettings::of(machine).dialect.unwrap_or(self.environment.dialect)
    }

    /// A machine with these settings, ready to run.
    pub(crate) async fn prepared(
        &self,
        machine: &Machine,
        settings: &catalog::Settings,
    ) -> everstep_executions::Result<Arc<Prepared>> {
        let own = TagSettings::of(machine);
        let key = (settings.revision_id.clone(), own.clone());
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().get(&key) {
            return Ok(found.clone());
        }
        let definition = self.catalog.definition(&machine.arn, &settings.definition);
        let definition =
            definition.map_err(|failed| everstep_executions::Error::damaged(&failed.0))?.text;
        let mut revision = Revision::new(&machine.arn, &settings.role_arn, &definition)
            .dialect(self.dialect(machine));
        revision.on_failure = own.on_failure;
        revision.payload_bytes = self.environment.limits.payload_bytes as u64;
        revision.history_events = self.environment.limits.history_events;
        revision.inline_concurrency = self.environment.limits.inline_concurrency;
        let scale = self.environment.limits.wait_scale_millionths;
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
        Engine::Stopped | Engine::Failed(EngineError::Panicked { .. }) => {
            Error::common(Common::ServiceUnavailable, error.to_string())
        }
        other => Error::common(Common::InternalFailure, other.to_string()),
    }
}
