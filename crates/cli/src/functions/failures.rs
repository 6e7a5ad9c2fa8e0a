//! Executions that fail, told to whom their machine names: each until it has arrived, over restarts too.
//!
//! A function is given the event as an asynchronous invocation, which has its own retries and dead letters:
//! it is told when that is accepted, once however often it is tried. All other targets are tried again until
//! they have taken it, and see the same id each time.

use std::sync::Arc;
use std::time::Duration;

use everstep_api::own::{Targets, Written};
use everstep_invocations::{
    Error, Functions as _, Invocations, Request, Source, SourceKind, Target,
};
use everstep_runtime::{Cancelled, Failed, Task, TaskRunner};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::calls::Calls;
use super::destinations::Destinations;
use crate::output::Stream;

/// Targets that are being called at a time: after an outage there may be many to be told.
const AT_A_TIME: usize = 32;
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(5 * 60);

pub(crate) struct Failures {
    calls: Arc<Calls>,
    invocations: Arc<Invocations>,
    destinations: Arc<Destinations>,
    room: Semaphore,
    runtime: Handle,
}

/// Runs tasks, and tells of executions that fail.
pub(super) struct Telling {
    pub(super) tasks: Arc<dyn TaskRunner>,
    pub(super) failures: Arc<Failures>,
}

impl TaskRunner for Telling {
    fn dispatch(&self, task: Task) {
        self.tasks.dispatch(task);
    }

    fn cancel(&self, cancelled: Cancelled) {
        self.tasks.cancel(cancelled);
    }

    fn tell(&self, failed: Failed) {
        let failures = self.failures.clone();
        self.failures.runtime.spawn(async move { failures.tell(failed).await });
    }

    fn lacks_activity(&self, arn: &str) -> bool {
        self.tasks.lacks_activity(arn)
    }
}

impl Failures {
    /// Must be called within a Tokio runtime.
    pub(super) fn new(
        calls: Arc<Calls>,
        invocations: Arc<Invocations>,
        destinations: Arc<Destinations>,
    ) -> Self {
        let room = Semaphore::new(AT_A_TIME);
        Self { calls, invocations, destinations, room, runtime: Handle::current() }
    }

    async fn tell(&self, failed: Failed) {
        let Some(record) = self.record(&failed).await else { return };
        let mut pause = AGAIN_MIN;
        while let Err(why) = self.deliver(&failed, &record).await {
            let gone = self.is_gone(&failed).await;
            if gone {
                return warn(&failed, &why, "its execution is gone, so it is given up");
            }
            warn(&failed, &why, "it is tried again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(AGAIN_MAX);
        }
        failed.told();
    }

    /// What is told. Nothing if there is nothing to tell any more, or no way to know: then the next start
    /// brings it back.
    async fn record(&self, failed: &Failed) -> Option<Vec<u8>> {
        let service = self.destinations.service().await?;
        let asked = failed.clone();
        let event =
            tokio::task::spawn_blocking(move || service.status_change(&asked)).await.ok()?;
        match event {
            Ok(event) => event.map(|event| event.to_string().into_bytes()),
            Err(error) => {
                warn(failed, error.message(), "it is tried again after the next start");
                None
            }
        }
    }

    async fn is_gone(&self, failed: &Failed) -> bool {
        let Some(service) = self.destinations.service().await else { return false };
        let summary = service.reader().summary(failed.execution);
        summary.is_ok_and(|found| found.is_none_or(|now| now.started_ms != failed.started_ms))
    }

    async fn deliver(&self, failed: &Failed, record: &[u8]) -> Result<(), String> {
        let target = self.resolve(&failed.ending.target)?;
        let _room = self.room.acquire().await.map_err(|error| error.to_string())?;
        match target.function() {
            Some(function) => self.accept(function, failed, record).await,
            None => self.destinations.send(&target, &failed.id(), record).await,
        }
    }

    fn resolve(&self, written: &str) -> Result<Target, String> {
        // A tag shows no secret, and names no file by itself: a configuration must have said what it is.
        if self.destinations.knows(written) || Written.problem(written).is_none() {
            return Ok(Target(written.to_owned()));
        }
        Err("no everstep.yaml says what that is any more".to_owned())
    }

    async fn accept(&self, function: &str, failed: &Failed, record: &[u8]) -> Result<(), String> {
        let machine = failed.execution_arn.split(':').nth(6).unwrap_or_default();
        let request = Request {
            function: function.to_owned(),
            payload: record.to_vec(),
            source: Source {
                message_id: Some(failed.execution_arn.to_string()),
                ..Source::new(SourceKind::Destination, machine)
            },
            key: Some(failed.id()),
            unparseable: false,
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        self.invocations.accept(request, reply);
        match receiver.await.unwrap_or(Err(Error::Stopped)) {
            Ok(_) => Ok(()),
            // The server stops: the next start brings it back.
            Err(Error::Stopped) => std::future::pending().await,
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Targets for Failures {
    fn problem(&self, target: &str) -> Option<String> {
        if self.destinations.knows(target) {
            return None;
        }
        let problem = Written.problem(target);
        let function = target.strip_prefix("function:").filter(|_| problem.is_none());
        match function {
            Some(name) if self.calls.function(name).is_none() => {
                Some(format!("there is no function '{name}'"))
            }
            _ => problem,
        }
    }
}

fn warn(failed: &Failed, why: &str, then: &str) {
    let (arn, target) = (&failed.execution_arn, &failed.ending.target);
    let _ = Stream::Story
        .write(&format!("warning: the failure of {arn} does not reach {target}: {why}; {then}\n"));
}
