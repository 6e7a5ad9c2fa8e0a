//! The functions of a server: what `everstep.yaml` says, run as processes, kept as durable invocations.
//!
//! - `deployment`: the configuration, as the crates `runners` and `invocations` take it;
//! - `calls`: attempts of invocations, run by the host of processes;
//! - `machines`: state machines as functions, for triggers;
//! - `catalog`: what callers of the API see of functions;
//! - `targets`: the notification targets of the configuration;
//! - `destinations`: delivery of records to targets that are not functions;
//! - `notifications`: notifications of failed executions;
//! - `request`, `operations`: what callers of the API ask of functions.

mod calls;
mod catalog;
mod deployment;
mod destinations;
mod machines;
mod notifications;
mod operations;
mod request;
mod targets;

use std::path::Path;
use std::sync::Arc;

use calls::{Calls, Deferred};
use catalog::Catalog;
use everstep_client::{Client, Credentials, Options as ClientOptions};
use everstep_executions::{Clock, SystemClock, TaskRunner};
use everstep_invocations::{Invocations, Observer, Settings};
use everstep_runners::{Host, Options, RemoteLambda, Tasks};
use everstep_store::Store;
use serde_json::Value;
use targets::KnownTargets;
use tokio::time::Instant;

use crate::Frontend;
use crate::admission::Admission;
use crate::process::{Context as _, Result};
use crate::service::Service;
use crate::triggers::Triggers;

pub(crate) use deployment::Deployment;
pub(crate) use destinations::Destinations;
pub(crate) use machines::function_of;
pub(crate) use notifications::Notifications;
pub(crate) use request::{InvocationType, Invoke, Invoked, Lookup, Refusal};

/// Where a server is and what it may call.
pub(crate) struct Surroundings<'s> {
    pub(crate) data: &'s Path,
    pub(crate) region: &'s str,
    pub(crate) account: &'s str,
    pub(crate) lambda_endpoint: Option<&'s str>,
    /// Whether new work is accepted.
    pub(crate) admission: Arc<Admission>,
    /// The settings that engines share.
    pub(crate) shards: everstep_shards::Settings,
    /// Requests to others that may be under way at the same time.
    pub(crate) requests_max: usize,
}

pub struct Functions {
    host: Arc<Host>,
    calls: Arc<Calls>,
    catalog: Catalog,
    invocations: Arc<Invocations>,
    clock: Arc<dyn Clock>,
    pub(crate) targets: Arc<KnownTargets>,
    pub(crate) client: Arc<Client>,
    pub(crate) triggers: Arc<Triggers>,
    remote: Option<RemoteLambda>,
    admission: Arc<Admission>,
}

impl Functions {
    /// Functions that are yet to be started: invocations are accepted and wait. `log` receives what functions
    /// write. Must be called within a Tokio runtime.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        around: &Surroundings<'_>,
        mut deployment: Deployment,
        log: Arc<dyn everstep_runners::Observer>,
    ) -> Result<Self> {
        let options = ClientOptions {
            requests_max: around.requests_max,
            link_local: false,
            ..ClientOptions::default()
        };
        let client = Arc::new(Client::new(options)?);
        let shim = vec![std::env::current_exe()?.into(), SHIM.into()];
        let mut options = Options::new(around.data.join("functions"), shim);
        options.region = around.region.to_owned();
        options.account = around.account.to_owned();
        options.observer = log;
        options.client = Some(client.clone());
        let host = Arc::new(Host::open(options).context("cannot run functions")?);
        let calls = Arc::new(Calls::new(host.clone()));
        let targets = std::mem::take(&mut deployment.targets);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let remote =
            around.lambda_endpoint.map(|endpoint| remote(&client, endpoint, around.region));
        let own = Settings { shards: around.shards.clone(), ..Settings::default() };
        let invocations = Arc::new(Invocations::new(store, clock.clone(), own));
        let admission = around.admission.clone();
        let functions = Self {
            host,
            catalog: Catalog::new(calls.clone()),
            triggers: Triggers::new(invocations.clone(), clock.clone(), admission.clone()),
            invocations,
            clock,
            targets: Arc::new(KnownTargets::new(calls.clone(), targets)),
            calls,
            client,
            remote,
            admission,
        };
        functions.deploy(deployment);
        Ok(functions)
    }

    /// Takes over the invocations that are stored, and runs them. Reads the store.
    pub(crate) fn start(
        &self,
        destinations: Arc<Destinations>,
        observer: Arc<dyn Observer>,
    ) -> Result<()> {
        Ok(self.invocations.start(self.calls.clone(), destinations, observer)?)
    }

    /// Before anything runs: state machines can be started, and what goes wrong with triggers can be shown.
    pub(crate) fn connect(&self, service: &Arc<Service>, frontend: Arc<dyn Frontend>) {
        self.calls.machines().connect(service);
        self.triggers.connect(service, frontend);
    }

    /// Runs the tasks of executions that call functions and URLs.
    pub(crate) fn tasks(&self) -> Arc<dyn TaskRunner> {
        let tasks = Tasks::new(self.host.clone(), self.client.clone())
            .with_acceptor(Arc::new(Deferred(self.invocations.clone())));
        Arc::new(match &self.remote {
            Some(remote) => tasks.with_remote(remote.clone()),
            None => tasks,
        })
    }

    /// Replaces all functions at once. Calls that run keep the version they started with.
    pub(crate) fn deploy(&self, mut deployment: Deployment) {
        self.catalog.replace(std::mem::take(&mut deployment.described));
        self.calls.deploy(deployment);
    }

    /// Lambda's operations that read.
    pub(crate) fn look_up(&self, asked: &Lookup) -> Result<Value, Refusal> {
        self.catalog.look_up(asked)
    }

    /// Every function: what `Everstep.ListFunctions` answers.
    pub(crate) fn described(&self) -> Value {
        self.catalog.all()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.calls.all().into_iter().map(|(name, _)| name).collect()
    }

    /// How processes are limited on this machine, in words.
    pub(crate) fn limits(&self) -> String {
        self.host.limits().describe()
    }

    /// Why invocations can no longer be stored, if so.
    pub(crate) fn failure(&self) -> Option<String> {
        self.invocations.failure().map(|error| error.to_string())
    }

    /// Calls that run, for invocations or for tasks.
    pub(crate) fn calls_running(&self) -> usize {
        let functions = self.calls.all();
        let standings = functions.iter().filter_map(|(name, _)| self.host.standing(name));
        standings.map(|standing| standing.workers.saturating_sub(standing.idle)).sum()
    }

    /// Waits for calls that run, at most until `deadline`; what is queued stays queued. Tasks of executions
    /// have the same time as invocations, so that nobody waits twice.
    pub(crate) async fn shut_down(&self, deadline: Instant) {
        let left = move || deadline.saturating_duration_since(Instant::now());
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
