//! Tasks of executions: functions and URLs.
//!
//! `request` reads what a task asks for, `answer` writes its result. A task that is cancelled stops where it is:
//! its code is killed.

mod answer;
mod request;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use everstep_asl::model::Resource;
use everstep_client::Client;
use everstep_executions::{Cancelled, Job, Report, Task, TaskRunner, request_id};
use everstep_interpreter::{Failure, Payload, attempt_name};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use self::answer::Answered;
use self::request::{Form, Request, Target};
use crate::call::{Call, Outcome};
use crate::error::Error;
use crate::host::Host;
use crate::http::{self, Service};
use crate::lock::lock;
use crate::log_result::log_result;
use crate::remote::{Asked, Invocation, Invoked, RemoteLambda};

/// How long a URL may take; a state's own timeout cancels its task before.
const POST_MS_MAX: u64 = 15 * 60 * 1000;

/// Takes asynchronous calls: `InvocationType: Event`.
pub trait Acceptor: Send + Sync {
    /// Called once for each. Call `accepted` when the call is durable, or with the reason for refusing it.
    fn accept(
        &self,
        function: &str,
        call: Call,
        accepted: Box<dyn FnOnce(Result<(), String>) + Send>,
    );
}

/// Runs tasks with the functions of a host, and with those of a Lambda endpoint if it has none.
pub struct Tasks {
    means: Arc<Means>,
    runtime: Handle,
    running: Arc<Mutex<HashMap<String, AbortHandle>>>,
}

struct Means {
    host: Arc<Host>,
    client: Arc<Client>,
    remote: Option<RemoteLambda>,
    acceptor: Option<Arc<dyn Acceptor>>,
}

impl Tasks {
    /// Must be called within a Tokio runtime.
    #[must_use]
    pub fn new(host: Arc<Host>, client: Arc<Client>) -> Self {
        let means = Means { host, client, remote: None, acceptor: None };
        Self { means: Arc::new(means), runtime: Handle::current(), running: Arc::default() }
    }

    /// Where functions are that the host does not have.
    #[must_use]
    pub fn with_remote(self, remote: RemoteLambda) -> Self {
        self.with(|means| means.remote = Some(remote))
    }

    /// Without one, asynchronous calls are made once and not retried.
    #[must_use]
    pub fn with_acceptor(self, acceptor: Arc<dyn Acceptor>) -> Self {
        self.with(|means| means.acceptor = Some(acceptor))
    }

    fn with(mut self, change: impl FnOnce(&mut Means)) -> Self {
        let Means { host, client, remote, acceptor } = &*self.means;
        let (host, client) = (host.clone(), client.clone());
        let mut means = Means { host, client, remote: remote.clone(), acceptor: acceptor.clone() };
        change(&mut means);
        self.means = Arc::new(means);
        self
    }
}

impl TaskRunner for Tasks {
    fn dispatch(&self, task: Task) {
        let request_id = task.request_id();
        let (means, running) = (self.means.clone(), self.running.clone());
        let mut entries = lock(&self.running);
        let key = request_id.clone();
        let handle = self.runtime.spawn(async move {
            means.run(&task, &request_id).await;
            lock(&running).remove(&request_id);
        });
        entries.insert(key, handle.abort_handle());
    }

    fn cancel(&self, cancelled: Cancelled) {
        let token = attempt_name(&cancelled.execution_arn, cancelled.attempt);
        if let Some(handle) = lock(&self.running).remove(&request_id(&token)) {
            handle.abort();
        }
    }
}

impl Means {
    async fn run(&self, task: &Task, request_id: &str) {
        let Job::Call { resource, parameters, .. } = &task.job else {
            let cause = "a function cannot run a distributed Map";
            let failure = Failure::new("States.Runtime", cause);
            return task.report(Report::MapRunFailed { failure });
        };
        let result = match request::read(resource, parameters.value()) {
            Ok(Request::Function(target)) => self.call(&target, resource, request_id).await,
            Ok(Request::Post { url }) => self.post(&url, parameters, request_id).await,
            Err(failure) => Some(Err(failure.into())),
        };
        match result {
            Some(Ok(output)) => task.succeed(output),
            Some(Err(report)) => task.report(report),
            // The engine is stopping; it dispatches the task again at its next start.
            None => {}
        }
    }

    async fn post(
        &self,
        url: &str,
        parameters: &Payload,
        request_id: &str,
    ) -> Option<Result<Payload, Report>> {
        let payload = parameters.value().to_string().into();
        let call =
            Call { request_id: request_id.to_owned(), payload, attempt: 1, ..Call::default() };
        let service = Service { url, shown: url, headers: &[], timeout_ms: POST_MS_MAX };
        let answer = http::post(&self.client, &service, call).await;
        let answer = answer.map_err(|error| report(&error, Form::Result, url));
        Some(answer.and_then(|body| {
            let text = std::str::from_utf8(&body).unwrap_or_default();
            Payload::from_text(text)
                .map_err(|error| Failure::new("Runtime.InvalidResponse", error.to_string()).into())
        }))
    }

    async fn call(
        &self,
        target: &Target,
        resource: &Resource,
        request_id: &str,
    ) -> Option<Result<Payload, Report>> {
        let call = Call {
            request_id: request_id.to_owned(),
            payload: target.payload.clone().into(),
            client_context: target.client_context.clone(),
            trace_id: None,
            function_arn: target.name.arn.clone(),
            // Each attempt of a task has a request id of its own.
            attempt: 1,
        };
        let function = &target.name.function;
        let place = match target.form {
            Form::Result => resource.as_str(),
            Form::Invocation | Form::Sdk => "lambda",
        };
        match (self.host.has(function), &self.remote) {
            (true, _) => self.here(target, call, place).await,
            (false, Some(remote)) => Some(there(remote, target, &call, place).await),
            (false, None) => {
                let arn = self.arn(target);
                Some(Err(answer::not_found(&arn, request_id).into()))
            }
        }
    }

    fn arn(&self, target: &Target) -> String {
        let arn = target.name.arn.clone();
        let arn = arn.unwrap_or_else(|| self.host.function_arn(&target.name.function));
        if arn.matches(':').count() > 6 { arn } else { format!("{arn}:$LATEST") }
    }

    async fn here(
        &self,
        target: &Target,
        call: Call,
        place: &str,
    ) -> Option<Result<Payload, Report>> {
        let (function, id) = (&target.name.function, call.request_id.clone());
        let version = self.host.version(function).unwrap_or_default();
        let answered = |status, payload, log_result| {
            let (version, request_id) = (&*version, &*id);
            answer::output(&Answered { payload, status, version, request_id, log_result }, target)
        };
        match target.how {
            Invocation::RequestResponse => {}
            Invocation::Event => {
                let accepted = self.accept(function, call).await;
                return Some(
                    accepted.and_then(|()| answered(202, b"", None)).map_err(Report::from),
                );
            }
            Invocation::DryRun => return Some(answered(204, b"", None).map_err(Report::from)),
        }
        let ended = self.host.invoke(function, call).await;
        Some(match ended.outcome {
            Outcome::Succeeded { payload } => {
                let log = target.log_tail.then(|| log_result(&id, &version, &ended.log));
                answered(200, &payload, log).map_err(Report::from)
            }
            Outcome::Failed { error } => Err(report(&error, target.form, place)),
            Outcome::Throttled => Err(answer::throttled(&id).into()),
            Outcome::NotFound => Err(answer::not_found(&self.arn(target), &id).into()),
            Outcome::Cancelled => return None,
        })
    }

    async fn accept(&self, function: &str, call: Call) -> Result<(), Failure> {
        let Some(acceptor) = &self.acceptor else {
            let (host, function) = (self.host.clone(), function.to_owned());
            tokio::spawn(async move { host.invoke(&function, call).await });
            return Ok(());
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let accepted = Box::new(move |accepted| {
            let _ = sender.send(accepted);
        });
        acceptor.accept(function, call, accepted);
        let refused = |why: String| Failure::new("Lambda.ServiceException", why);
        match receiver.await {
            Ok(accepted) => accepted.map_err(refused),
            Err(_) => Err(refused("the call was not accepted".to_owned())),
        }
    }
}

async fn there(
    remote: &RemoteLambda,
    target: &Target,
    call: &Call,
    place: &str,
) -> Result<Payload, Report> {
    let function = target.name.arn.as_deref().unwrap_or(&target.name.function);
    // In an ARN, the qualifier is there already.
    let qualifier = target.name.qualifier.as_deref();
    let qualifier = qualifier.filter(|qualifier| !function.ends_with(&format!(":{qualifier}")));
    let (invocation, log_tail) = (target.how, target.log_tail);
    let invoked = remote.invoke(Asked { function, qualifier, invocation, log_tail }, call).await;
    let Invoked { status, executed_version, payload, failed, log_result } =
        invoked.map_err(|refusal| Failure::new(refusal.error, refusal.cause))?;
    if failed {
        return Err(report(&Error::raised(&payload, None), target.form, place));
    }
    let version = &*executed_version.unwrap_or_else(|| "$LATEST".to_owned());
    let (payload, request_id) = (&*payload, &*call.request_id);
    Ok(answer::output(&Answered { payload, status, version, request_id, log_result }, target)?)
}

/// What a failed call is to its task.
fn report(error: &Error, form: Form, place: &str) -> Report {
    let failure = answer::failure(error, form, place);
    if error.by_code { Report::Raised { failure } } else { failure.into() }
}
