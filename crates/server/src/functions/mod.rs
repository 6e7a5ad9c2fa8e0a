//! The functions of a server: what `everstep.yaml` says, run as processes, kept as durable invocations.
//!
//! - `deployment`: what the configuration means for those who run and for those who keep;
//! - `calls`: attempts of invocations, run by the host of processes;
//! - `catalog`: what is told of functions;
//! - `destinations`: where records go that are not for functions;
//! - `failures`: executions that fail, told to functions and destinations;
//! - `operations`: what users ask of it through the API.

mod calls;
mod catalog;
mod deployment;
mod destinations;
mod failures;
mod operations;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use calls::{Calls, Deferred};
use catalog::Catalog;
use destinations::Destinations;
use everstep_client::{Client, Credentials, Options as ClientOptions};
use everstep_executions::TaskRunner;
use everstep_invocations::{Invocations, Parts, SystemClock};
use everstep_runners::{Host, Options, RemoteLambda, Tasks};
use everstep_store::Store;
use failures::{Failures, Telling};
use tokio::time::Instant;

use crate::{Ailing, Frontend, Service};

pub(crate) use deployment::Deployment;
pub(crate) use operations::Operations;

/// Who hears what functions do and say.
pub(crate) type Ear = Arc<dyn everstep_runners::Observer>;

/// Where a server is and whom it may call.
pub(crate) struct Surroundings<'s> {
    pub(crate) data: &'s Path,
    pub(crate) region: &'s str,
    pub(crate) account: &'s str,
    pub(crate) lambda_endpoint: Option<&'s str>,
}

pub(crate) struct Functions {
    host: Arc<Host>,
    calls: Arc<Calls>,
    catalog: Arc<Catalog>,
    destinations: Arc<Destinations>,
    failures: Arc<Failures>,
    invocations: Arc<Invocations>,
    client: Arc<Client>,
    remote: Option<RemoteLambda>,
}

impl Functions {
    /// Opens what keeps invocations and what runs them, without a function yet. Must be called within a
    /// Tokio runtime; reads the store.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        around: &Surroundings<'_>,
        mut deployment: Deployment,
        ear: Ear,
        watch: Arc<dyn everstep_invocations::Observer>,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self> {
        let client = Arc::new(Client::new(ClientOptions::default())?);
        let shim = vec![std::env::current_exe()?.into(), SHIM.into()];
        let mut options = Options::new(around.data.join("functions"), shim);
        options.region = around.region.to_owned();
        options.account = around.account.to_owned();
        options.observer = ear;
        options.client = Some(client.clone());
        let host = Host::open(options).context("functions cannot be run")?;
        let host = Arc::new(host);
        let calls = Arc::new(Calls::new(host.clone()));
        let catalog = Arc::new(Catalog::new(calls.clone()));
        catalog.replace(std::mem::take(&mut deployment.described));
        let targets = std::mem::take(&mut deployment.targets);
        calls.deploy(deployment);
        let destinations = Arc::new(Destinations::new(client.clone(), around));
        destinations.know(targets);
        let invocations = Arc::new(Invocations::open(Parts {
            store,
            functions: calls.clone(),
            destinations: destinations.clone(),
            observer: watch,
            clock: Arc::new(SystemClock),
            settings: everstep_invocations::Settings::default(),
        })?);
        let (at, into) = (calls.clone(), invocations.clone());
        let failures = Arc::new(Failures::new(at, into, destinations.clone(), frontend));
        let remote =
            around.lambda_endpoint.map(|endpoint| remote(&client, endpoint, around.region));
        Ok(Self { host, calls, catalog, destinations, failures, invocations, client, remote })
    }

    /// Runs the tasks of executions with the functions, and tells of executions that fail.
    pub(crate) fn tasks(&self) -> impl TaskRunner + use<> {
        let tasks = Tasks::new(self.host.clone(), self.client.clone())
            .with_acceptor(Arc::new(Deferred(self.invocations.clone())));
        let tasks = match &self.remote {
            Some(remote) => tasks.with_remote(remote.clone()),
            None => tasks,
        };
        Telling { tasks: Arc::new(tasks), failures: self.failures.clone() }
    }

    /// Records for state machines need the service, which needs the tasks.
    pub(crate) fn attach(&self, service: &Arc<Service>) {
        self.destinations.attach(service);
        service.know(self.failures.clone());
    }

    /// Whom state machines can tell, before they are told to.
    pub(crate) fn know(&self, deployment: &Deployment) {
        self.destinations.know(deployment.targets.clone());
    }

    /// Replaces all functions at once; what runs goes on.
    pub(crate) fn deploy(&self, mut deployment: Deployment) {
        self.catalog.replace(std::mem::take(&mut deployment.described));
        self.calls.deploy(deployment);
    }

    pub(crate) fn operations(&self) -> Operations {
        Operations::new(self.invocations.clone(), self.calls.clone(), self.catalog.clone())
    }

    /// How processes are bounded here, in words.
    pub(crate) fn limits(&self) -> String {
        self.host.limits().describe()
    }

    /// Says why no invocation can be kept any more, if so.
    pub(crate) fn ailing(&self) -> Ailing {
        let invocations = self.invocations.clone();
        Arc::new(move || invocations.failure().map(|error| error.to_string()))
    }

    /// Processes and services that are at work, for invocations or for tasks.
    pub(crate) fn calls_running(&self) -> usize {
        let functions = self.calls.all();
        let standings = functions.iter().filter_map(|(name, _)| self.host.standing(name));
        standings.map(|standing| standing.workers.saturating_sub(standing.idle)).sum()
    }

    /// Lets what runs come to its end until then; what waits stays waiting. Tasks go on while invocations
    /// are waited for, so that nobody waits twice.
    pub(crate) async fn shut_down(&self, deadline: Instant) {
        let left = move || deadline.saturating_duration_since(Instant::now());
        self.failures.shut_down(left()).await;
        let invocations = self.invocations.clone();
        let _ = tokio::task::spawn_blocking(move || invocations.shut_down(left())).await;
        self.host.shut_down(left()).await;
    }
}

/// The hidden command that a worker's process begins as.
pub const SHIM: &str = "worker-shim";

fn remote(client: &Arc<Client>, endpoint: &str, region: &str) -> RemoteLambda {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let keys = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
    let credentials = keys.map(|(access_key_id, secret_access_key)| {
        let session_token = variable("AWS_SESSION_TOKEN");
        Credentials { access_key_id, secret_access_key, session_token }
    });
    RemoteLambda::new(client.clone(), endpoint, region, credentials)
}
