//! Executions that fail, told to whom their machine names: each until it has arrived, over restarts too.
//!
//! A function is given the event as an asynchronous invocation, which has its own retries and dead letters:
//! it is told when that is accepted, once however often it is tried. All other targets are tried again until
//! they have taken it, and see the same id each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use everstep_executions::Failed;
use everstep_invocations::{Error, Invocations, Request, Source, SourceKind, Target};
use tokio::runtime::Handle;
use tokio::sync::{RwLock, Semaphore};

use super::Functions;
use super::destinations::Destinations;
use super::targets::KnownTargets;
use crate::Frontend;
use crate::dispatch::Notifier;
use crate::rate_limit::RateLimit;
use crate::service::Service;
use crate::tag_settings::{Syntax, Targets as _};

/// Of each target, so many are told at a time: after an outage there may be many, and one that hangs is not
/// to hold up the others.
const AT_A_TIME: usize = 8;
/// How many failures may follow from each other before the next is not told.
const DEPTH_MAX: u64 = 16;
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(5 * 60);

pub(crate) struct Failures {
    service: Arc<Service>,
    invocations: Arc<Invocations>,
    destinations: Arc<Destinations>,
    targets: Arc<KnownTargets>,
    /// How many of each target may be told at a time.
    rooms: Mutex<HashMap<String, Arc<Semaphore>>>,
    warnings: RateLimit,
    frontend: Arc<dyn Frontend>,
    /// Held by all that are being told; whether no more are to be.
    stopped: RwLock<bool>,
    runtime: Handle,
}

/// Why a failure has not been told.
enum Untold {
    /// It may be later.
    Yet(String),
    /// Its execution is gone, and all that is known of it.
    Gone,
    /// Failures have led to failures, one after the other, and would go on to.
    Endless,
    /// The server stops: the next start brings it back.
    Stopping,
}

impl Notifier for Failures {
    fn notify(self: Arc<Self>, failed: Failed) {
        self.runtime.clone().spawn(async move { self.tell(failed).await });
    }
}

impl Failures {
    /// Must be called within a Tokio runtime.
    pub(crate) fn new(
        service: Arc<Service>,
        functions: &Functions,
        destinations: Arc<Destinations>,
        frontend: Arc<dyn Frontend>,
    ) -> Self {
        let (rooms, warnings) = (Mutex::default(), RateLimit::default());
        let stopped = RwLock::new(false);
        let (invocations, targets) = (functions.invocations.clone(), functions.targets.clone());
        let runtime = Handle::current();
        Self {
            service,
            invocations,
            destinations,
            targets,
            rooms,
            warnings,
            frontend,
            stopped,
            runtime,
        }
    }

    /// Tells nobody any more, and waits for those who are being told, at most for `grace`.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        if let Ok(mut stopped) = tokio::time::timeout(grace, self.stopped.write()).await {
            *stopped = true;
        }
    }

    fn room(&self, target: &str) -> Arc<Semaphore> {
        let mut rooms = lock(&self.rooms);
        let room = rooms.entry(target.to_owned());
        room.or_insert_with(|| Arc::new(Semaphore::new(AT_A_TIME))).clone()
    }

    async fn tell(&self, failed: Failed) {
        let room = self.room(&failed.ending.target);
        let mut pause = AGAIN_MIN;
        loop {
            match self.try_to_tell(&failed, &room).await {
                Ok(()) => return,
                Err(Untold::Yet(why)) => {
                    if let Some(others) = self.warnings.admit(&failed.ending.target) {
                        self.warn(&failed, &format!("{why}; it will be retried{others}"));
                    }
                }
                Err(Untold::Gone) => {
                    return self.warn(&failed, "its execution no longer exists; dropped");
                }
                Err(Untold::Endless) => {
                    let why = format!("{DEPTH_MAX} failures led to each other; dropped");
                    failed.told();
                    return self.warn(&failed, &why);
                }
                Err(Untold::Stopping) => return,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(AGAIN_MAX);
        }
    }

    async fn try_to_tell(&self, failed: &Failed, room: &Semaphore) -> Result<(), Untold> {
        let _room = room.acquire().await.map_err(|_| Untold::Stopping)?;
        let stopped = self.stopped.read().await;
        if *stopped {
            return Err(Untold::Stopping);
        }
        let target = self.resolve(&failed.ending.target).map_err(Untold::Yet)?;
        // Made anew each time: what waits to be told is not held in memory.
        let record = self.record(failed).await?;
        match target.function() {
            Some(function) => self.accept(function, failed, record).await?,
            None => {
                let sent = self.destinations.send(&target, &failed.id(), &record).await;
                sent.map_err(Untold::Yet)?;
            }
        }
        failed.told();
        Ok(())
    }

    async fn record(&self, failed: &Failed) -> Result<Vec<u8>, Untold> {
        let service = self.service.clone();
        let asked = failed.clone();
        let read = tokio::task::spawn_blocking(move || service.status_change(&asked)).await;
        match read.map_err(|_| Untold::Stopping)? {
            Ok(Some(event)) if event["everstep"]["depth"].as_u64() > Some(DEPTH_MAX) => {
                Err(Untold::Endless)
            }
            Ok(Some(event)) => Ok(event.to_string().into_bytes()),
            Ok(None) => Err(Untold::Gone),
            Err(error) => Err(Untold::Yet(error.message().to_owned())),
        }
    }

    fn warn(&self, failed: &Failed, what: &str) {
        let (arn, target) = (&failed.execution_arn, &failed.ending.target);
        let line =
            format!("warning: the failure of {arn} could not be reported to {target}: {what}\n");
        self.frontend.write(&line);
    }

    fn resolve(&self, written: &str) -> Result<Target, String> {
        // A tag shows no secret, and names no file by itself: a configuration must have said what it is.
        if self.targets.contains(written) || Syntax.problem(written).is_none() {
            return Ok(Target::from(written));
        }
        Err("the configuration no longer has this target".to_owned())
    }

    async fn accept(
        &self,
        function: &str,
        failed: &Failed,
        payload: Vec<u8>,
    ) -> Result<(), Untold> {
        let machine = failed.execution_arn.split(':').nth(6).unwrap_or_default();
        let request = Request {
            function: function.to_owned(),
            payload,
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
            Err(Error::Stopped) => Err(Untold::Stopping),
            Err(error) => Err(Untold::Yet(error.to_string())),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
