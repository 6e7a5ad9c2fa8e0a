//! Attempts of invocations, run by the host of processes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_invocations::{
    Attempt, AttemptId, Claim, Done, Failure, FunctionSettings, Invocations, Outcome, Request,
    Source, SourceKind,
};
use everstep_retry::Class;
use everstep_runners::{Acceptor, Call, Ended, Host, Outcome as Came, Receipt};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::Deployment;
use super::machines::{Machines, machine_of};

pub(crate) struct Calls {
    host: Arc<Host>,
    settings: Mutex<HashMap<String, Arc<FunctionSettings>>>,
    running: Arc<Mutex<HashMap<AttemptId, AbortHandle>>>,
    machines: Arc<Machines>,
    runtime: Handle,
}

impl Calls {
    /// Must be called within a Tokio runtime.
    pub(super) fn new(host: Arc<Host>) -> Self {
        let (settings, running, machines) = (Mutex::default(), Arc::default(), Arc::default());
        Self { host, settings, running, machines, runtime: Handle::current() }
    }

    pub(super) fn deploy(&self, deployment: Deployment) {
        self.host.deploy(deployment.functions);
        *lock(&self.settings) = deployment.settings;
    }

    /// Every function's name, sorted, with how it is invoked.
    pub(super) fn all(&self) -> Vec<(String, Arc<FunctionSettings>)> {
        let settings = lock(&self.settings);
        let mut all: Vec<_> =
            settings.iter().map(|(name, settings)| (name.clone(), settings.clone())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    pub(super) fn machines(&self) -> &Machines {
        &self.machines
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }
}

impl everstep_invocations::Functions for Calls {
    fn function(&self, name: &str) -> Option<Arc<FunctionSettings>> {
        match machine_of(name) {
            Some(machine) => Some(self.machines.settings(machine)),
            None => lock(&self.settings).get(name).cloned(),
        }
    }

    fn start(&self, attempt: Attempt, claim: Claim, done: Done) {
        if let Some(machine) = machine_of(&attempt.function) {
            return self.start_machine(machine.to_owned(), attempt, claim, done);
        }
        let (host, running, id) = (self.host.clone(), self.running.clone(), attempt.id);
        let mut entries = lock(&self.running);
        let task = self.runtime.spawn(async move {
            let call = Call {
                request_id: attempt.invocation.to_string(),
                payload: attempt.payload.to_vec().into(),
                client_context: Some(attempt.client_context),
                attempt: attempt.n,
                ..Call::default()
            };
            let Ended { outcome: came, worker_pid, log, receipt } =
                host.invoke_claimed(&attempt.function, call, claimed(claim)).await;
            lock(&running).remove(&id);
            // Dropped without a call, it reports that the attempt was interrupted, or has not run.
            if let Some(outcome) = outcome(&attempt.function, came, worker_pid, log) {
                done(outcome, acknowledge(receipt));
            }
        });
        entries.insert(id, task.abort_handle());
    }

    /// Dropping the future of a call ends it.
    fn kill(&self, attempt: AttemptId) {
        if let Some(task) = lock(&self.running).remove(&attempt) {
            task.abort();
        }
    }
}

impl Calls {
    /// Starting an execution is an attempt, which takes no longer than the call.
    fn start_machine(&self, machine: String, attempt: Attempt, claim: Claim, done: Done) {
        let (machines, runtime) = (self.machines.clone(), self.runtime.clone());
        claim(Box::new(move |durable| {
            if durable.is_err() {
                return;
            }
            runtime.spawn(async move {
                // Dropped without a call, it reports that the attempt was interrupted.
                if let Some(outcome) = machines.start(&machine, &attempt).await {
                    done(outcome, Box::new(|_| {}));
                }
            });
        }));
    }
}

/// The worker gets its event when its claim is durable.
fn claimed(claim: Claim) -> everstep_runners::Claim {
    everstep_runners::Claim::new(|grant| {
        claim(Box::new(|durable| {
            if durable.is_ok() {
                grant.allow();
            }
        }));
    })
}

/// The worker waits until its result is durable, or is refused.
fn acknowledge(receipt: Receipt) -> everstep_invocations::Receipt {
    Box::new(move |durable| match durable {
        Ok(()) => drop(receipt),
        Err(_) => receipt.refuse(),
    })
}

fn outcome(
    function: &str,
    came: Came,
    worker_pid: Option<u32>,
    log: Vec<String>,
) -> Option<Outcome> {
    Some(match came {
        Came::Succeeded { payload } => {
            Outcome::Succeeded { output: payload.to_vec(), worker_pid, log }
        }
        Came::Failed { error } => {
            let payload = Some(error.text().into_bytes());
            let failure = Failure {
                stack: stack(&error.payload),
                log,
                retry_after_ms: error.retry_after_ms,
                permanent: error.permanent,
                ..Failure::new(
                    &error.error_type,
                    error.class,
                    &text(&error.payload["errorMessage"]),
                )
            };
            Outcome::Failed { failure, payload, worker_pid }
        }
        Came::Throttled => Outcome::Throttled,
        Came::NotFound => {
            let name = "Lambda.ResourceNotFoundException";
            let message = format!("the function '{function}' no longer exists");
            let failure = Failure::new(name, Class::Runtime, &message);
            Outcome::Failed { failure, payload: None, worker_pid }
        }
        Came::Cancelled => return None,
    })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Python's clients say `stackTrace`, those for Node.js `trace`.
fn stack(payload: &Value) -> Vec<String> {
    let lines = payload.get("stackTrace").or_else(|| payload.get("trace"));
    let lines = lines.and_then(Value::as_array).into_iter().flatten();
    lines.map(text).collect()
}

/// Accepts asynchronous calls of tasks: `InvocationType: Event`.
pub(super) struct Deferred(pub(super) Arc<Invocations>);

impl Acceptor for Deferred {
    fn accept(
        &self,
        function: &str,
        call: Call,
        accepted: Box<dyn FnOnce(Result<(), String>) + Send>,
    ) {
        let request = Request {
            function: function.to_owned(),
            payload: call.payload.to_vec(),
            source: Source::new(SourceKind::Task, function),
            // A task that is asked for again after a crash finds what it has accepted.
            key: Some(call.request_id),
            unparseable: false,
        };
        let reply = move |answer: everstep_invocations::Result<_>| {
            accepted(answer.map(|_| ()).map_err(|error| error.to_string()));
        };
        self.0.accept(request, Box::new(reply));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
