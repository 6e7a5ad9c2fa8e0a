//! The host of functions: deploys them, calls them, ends them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use everstep_client::Client;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};

use crate::bootstrap::Scripts;
use crate::call::{Call, Ended, Outcome};
use crate::calls::Calls;
use crate::claim::Claim;
use crate::command;
use crate::environment::Account;
use crate::function::{Function, Runtime};
use crate::http::{self, Service};
use crate::limits::Limits;
use crate::lock::lock;
use crate::observer::{Event, EventQueue, Observer, Silent};
use crate::orphans::Journal;
use crate::pool::{Job, Pool};
use crate::slots::Slots;
use crate::spawner::{Parts, Spawner};

pub struct Options {
    /// In the environment of functions, and in ARNs.
    pub region: String,
    pub account: String,
    /// The host's own: a journal of processes and the clients that are built in.
    pub directory: PathBuf,
    /// The program that becomes a worker, with what comes before its arguments: it calls
    /// [`crate::shim::main`].
    pub shim: Vec<OsString>,
    pub observer: Arc<dyn Observer>,
    /// For services behind a URL.
    pub client: Option<Arc<Client>>,
    /// Processes and threads of one worker.
    pub processes_max: u64,
    /// Processes, or calls, at a time of a function that does not say.
    pub concurrency_default: u32,
    /// Calls of one function that can be queued.
    pub waiting_max: usize,
    /// How long a process may take until it asks for work; a function's timeout if that is longer.
    pub start_ms_max: u64,
    /// Between starts that fail: the first pause, and the longest.
    pub pause_ms_min: u64,
    pub pause_ms_max: u64,
}

impl Options {
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, shim: Vec<OsString>) -> Self {
        Self {
            region: "us-east-1".to_owned(),
            account: "123456789012".to_owned(),
            directory: directory.into(),
            shim,
            observer: Arc::new(Silent),
            client: None,
            processes_max: 1024,
            concurrency_default: 16,
            waiting_max: 1000,
            start_ms_max: 10_000,
            pause_ms_min: 1_000,
            pause_ms_max: 30_000,
        }
    }
}

/// What processes of all functions share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) account: Account,
    pub(crate) scripts: Scripts,
    pub(crate) spawner: Spawner,
    pub(crate) events: EventQueue,
    client: Arc<Client>,
    pub(crate) runtime: Handle,
    /// Notified when a process has ended.
    pub(crate) gone: Notify,
    pub(crate) closed: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }
}

/// Runs functions. When it is dropped, their processes end.
pub struct Host {
    shared: Arc<Shared>,
    limits: Limits,
    functions: Mutex<HashMap<String, Deployed>>,
    calls: Calls,
}

#[derive(Clone)]
enum Deployed {
    /// Processes that wait for events.
    Pool(Arc<Pool>),
    Slots(Arc<Function>, Arc<Slots>),
}

/// How busy a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Calls that wait for a process, or for their turn.
    pub waiting: usize,
    /// Processes, or calls that run.
    pub workers: usize,
    /// Of the processes, those without work.
    pub idle: usize,
}

impl Host {
    /// Ends what an earlier host in the same directory has left behind. Must be called within a Tokio
    /// runtime.
    pub fn open(options: Options) -> io::Result<Self> {
        fs::create_dir_all(&options.directory)?;
        let events = EventQueue::new(options.observer.clone())?;
        let (journal, reaped) = Journal::open(&options.directory)?;
        for pid in reaped {
            events.send(Event::Reaped { pid });
        }
        let limits = Limits::find(&group_name(&options.directory), options.processes_max);
        let runtime = Handle::current();
        let spawner = Spawner::start(Parts {
            shim: options.shim.clone(),
            limits: limits.clone(),
            journal: Arc::new(journal),
            events: events.clone(),
            runtime: runtime.clone(),
        })?;
        let client = match &options.client {
            Some(client) => client.clone(),
            None => Arc::new(
                Client::new(everstep_client::Options::default()).map_err(io::Error::other)?,
            ),
        };
        let (region, account) = (options.region.clone(), options.account.clone());
        let shared = Arc::new(Shared {
            account: Account { region, account },
            scripts: Scripts::write(&options.directory)?,
            options,
            spawner,
            events,
            client,
            runtime,
            gone: Notify::new(),
            closed: watch::Sender::new(false),
        });
        let (functions, calls) = (Mutex::default(), Calls::default());
        Ok(Self { shared, limits, functions, calls })
    }

    /// How processes are limited on this machine.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Replaces all functions at once. Those that are as they were keep their processes; of others, calls
    /// running calls continue, and queued calls go to the new ones.
    pub fn deploy(&self, functions: Vec<Function>) {
        let mut deployed = lock(&self.functions);
        let mut before = std::mem::take(&mut *deployed);
        for function in functions {
            let old = before.remove(&function.name);
            let name = function.name.clone();
            let new = match old {
                Some(old) if *old.function() == function => old,
                old => self.replace(old, function),
            };
            deployed.insert(name, new);
        }
        for waiting in before.into_values().flat_map(Deployed::retire) {
            waiting.end(Outcome::NotFound);
        }
    }

    fn replace(&self, old: Option<Deployed>, function: Function) -> Deployed {
        let options = &self.shared.options;
        let most = function.concurrency_max.unwrap_or(options.concurrency_default);
        let waiting = old.map(Deployed::retire).unwrap_or_default();
        let function = Arc::new(function);
        match function.runtime {
            Runtime::Command { .. } | Runtime::Http { .. } => {
                for job in waiting {
                    job.end(Outcome::Throttled);
                }
                Deployed::Slots(function, Arc::new(Slots::new(most, options.waiting_max)))
            }
            _ => {
                let pool = Pool::new(function, self.shared.clone());
                for job in waiting {
                    pool.submit(job);
                }
                pool.fill();
                Deployed::Pool(pool)
            }
        }
    }

    #[must_use]
    pub fn has(&self, function: &str) -> bool {
        lock(&self.functions).contains_key(function)
    }

    /// The version of a function.
    #[must_use]
    pub fn version(&self, function: &str) -> Option<String> {
        lock(&self.functions).get(function).map(|found| found.function().version.clone())
    }

    /// The ARN by which a function of this name would be known.
    #[must_use]
    pub fn function_arn(&self, function: &str) -> String {
        self.shared.account.function_arn(function)
    }

    #[must_use]
    pub fn standing(&self, function: &str) -> Option<Standing> {
        Some(match lock(&self.functions).get(function)? {
            Deployed::Pool(pool) => pool.standing(),
            Deployed::Slots(_, slots) => {
                Standing { waiting: slots.waiting(), workers: slots.busy(), idle: 0 }
            }
        })
    }

    /// Calls a function and waits for the outcome. Dropping the future cancels the call and kills its code. A
    /// process that has answered continues when the receipt is dropped.
    pub async fn invoke(&self, function: &str, call: Call) -> Ended {
        self.invoke_claimed(function, call, Claim::default()).await
    }

    /// The same with a claim, which is made when a process is ready to take the event. If it is refused, the call
    /// is cancelled.
    pub async fn invoke_claimed(&self, function: &str, call: Call, claim: Claim) -> Ended {
        let Some(deployed) = lock(&self.functions).get(function).cloned() else {
            return Outcome::NotFound.into();
        };
        let (entry, cancelled) = self.calls.enter(&call.request_id);
        if self.calls.stopping() {
            return Outcome::Cancelled.into();
        }
        let ended = tokio::select! {
            ended = self.run(&deployed, call, claim) => ended,
            _ = cancelled => Outcome::Cancelled.into(),
        };
        drop(entry);
        ended
    }

    async fn run(&self, deployed: &Deployed, call: Call, mut claim: Claim) -> Ended {
        match deployed {
            Deployed::Pool(pool) => {
                let (reply, ended) = oneshot::channel();
                pool.submit(Job { call, claim, reply });
                ended.await.unwrap_or_else(|_| Outcome::Cancelled.into())
            }
            Deployed::Slots(function, slots) => match slots.take().await {
                Some(_turn) if !claim.granted().await => Outcome::Cancelled.into(),
                Some(_turn) => self.run_once(function, call).await,
                None => Outcome::Throttled.into(),
            },
        }
    }

    async fn run_once(&self, function: &Function, call: Call) -> Ended {
        match &function.runtime {
            Runtime::Command { argv } => command::run(&self.shared, function, argv, call).await,
            Runtime::Http { url, shown, headers } => {
                let timeout_ms = function.timeout_ms;
                let service = Service { url, shown, headers, timeout_ms };
                match http::post(&self.shared.client, &service, call).await {
                    Ok(payload) => Outcome::Succeeded { payload }.into(),
                    Err(error) => Outcome::Failed { error }.into(),
                }
            }
            _ => Outcome::NotFound.into(),
        }
    }

    /// Kills the code of a call, or removes it from the queue.
    pub fn cancel(&self, request_id: &str) {
        self.calls.cancel(request_id);
    }

    /// Takes no new calls, gives those that run some time, and ends all processes.
    pub async fn shut_down(&self, grace: Duration) {
        self.calls.stop();
        let deployed: Vec<Deployed> = lock(&self.functions).values().cloned().collect();
        for waiting in deployed.iter().cloned().flat_map(Deployed::retire) {
            waiting.end(Outcome::Cancelled);
        }
        let _ = tokio::time::timeout(grace, self.calls.done()).await;
        self.shared.closed.send_replace(true);
        self.calls.cancel_all();
        let _ = tokio::time::timeout(Duration::from_secs(5), self.empty(&deployed)).await;
    }

    async fn empty(&self, deployed: &[Deployed]) {
        loop {
            let gone = self.shared.gone.notified();
            let workers = deployed.iter().filter_map(|deployed| match deployed {
                Deployed::Pool(pool) => Some(pool.standing().workers),
                Deployed::Slots(..) => None,
            });
            if workers.sum::<usize>() == 0 {
                return;
            }
            gone.await;
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.shared.closed.send_replace(true);
    }
}

impl Deployed {
    fn function(&self) -> &Function {
        match self {
            Self::Pool(pool) => &pool.function,
            Self::Slots(function, _) => function,
        }
    }

    fn retire(self) -> Vec<Job> {
        match self {
            Self::Pool(pool) => pool.retire(),
            Self::Slots(..) => Vec::new(),
        }
    }
}

/// Two hosts have two directories, and must not share control groups.
fn group_name(directory: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).hash(&mut hasher);
    format!("everstep-{:016x}", hasher.finish())
}
