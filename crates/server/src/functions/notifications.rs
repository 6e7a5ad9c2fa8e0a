//! Notifications of failed executions: each attempt to deliver one. The engine keeps them until they have arrived, and
//! decides when a failed delivery is retried.
//!
//! A function receives the event as an asynchronous invocation, which has its own retries and dead letters: it is
//! notified once that is accepted, however often that is attempted. All other targets see the same id each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use everstep_executions::{DEPTH_MAX, Notification};
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

/// Notifications that are sent to one target at a time: after an outage there may be many, and a target that hangs
/// must not hold up the others.
const CONCURRENCY: usize = 8;

pub(crate) struct Notifications {
    service: Arc<Service>,
    invocations: Arc<Invocations>,
    destinations: Arc<Destinations>,
    targets: Arc<KnownTargets>,
    /// How many may be sent to each target at a time.
    rooms: Mutex<HashMap<String, Arc<Semaphore>>>,
    warnings: RateLimit,
    frontend: Arc<dyn Frontend>,
    /// Held while notifications are sent; whether no more are to be.
    stopped: RwLock<bool>,
    runtime: Handle,
}

/// Why a notification has not arrived.
enum NotDelivered {
    /// It may arrive later.
    Yet(String),
    /// Its execution is gone, and all that is known of it.
    Gone,
    /// Too many failures have led to each other.
    TooDeep,
    /// The server stops: the next start brings it back.
    Stopping,
}

impl Notifier for Notifications {
    fn notify(self: Arc<Self>, notification: Notification) {
        self.runtime.clone().spawn(async move { self.deliver(notification).await });
    }
}

impl Notifications {
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

    /// Sends no more, and waits for what is being sent, at most for `grace`.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        if let Ok(mut stopped) = tokio::time::timeout(grace, self.stopped.write()).await {
            *stopped = true;
        }
    }

    fn room(&self, target: &str) -> Arc<Semaphore> {
        let mut rooms = lock(&self.rooms);
        let room = rooms.entry(target.to_owned());
        room.or_insert_with(|| Arc::new(Semaphore::new(CONCURRENCY))).clone()
    }

    async fn deliver(&self, notification: Notification) {
        let room = self.room(&notification.ending.target);
        match self.attempt(&notification, &room).await {
            Ok(()) => notification.delivered(),
            Err(NotDelivered::Yet(why)) => {
                if let Some(others) = self.warnings.admit(&notification.ending.target) {
                    self.warn(&notification, &format!("{why}; it will be retried{others}"));
                }
                notification.retry();
            }
            Err(NotDelivered::Gone) => {
                notification.delivered();
                self.warn(&notification, "its execution no longer exists; dropped");
            }
            Err(NotDelivered::TooDeep) => {
                notification.delivered();
                self.warn(
                    &notification,
                    &format!("{DEPTH_MAX} failures led to each other; dropped"),
                );
            }
            Err(NotDelivered::Stopping) => {}
        }
    }

    async fn attempt(
        &self,
        notification: &Notification,
        room: &Semaphore,
    ) -> Result<(), NotDelivered> {
        let _room = room.acquire().await.map_err(|_| NotDelivered::Stopping)?;
        let stopped = self.stopped.read().await;
        if *stopped {
            return Err(NotDelivered::Stopping);
        }
        let target = self.resolve(&notification.ending.target).map_err(NotDelivered::Yet)?;
        // Made for each attempt: what waits is not held in memory.
        let record = self.record(notification).await?;
        match target.function() {
            Some(function) => self.accept(function, notification, record).await?,
            None => {
                let machine = machine(notification);
                let id = notification.id();
                let sent = self.destinations.send(&target, &id, &record, machine).await;
                sent.map_err(NotDelivered::Yet)?;
            }
        }
        Ok(())
    }

    async fn record(&self, notification: &Notification) -> Result<Vec<u8>, NotDelivered> {
        let service = self.service.clone();
        let asked = notification.clone();
        let read = tokio::task::spawn_blocking(move || service.status_change(&asked)).await;
        match read.map_err(|_| NotDelivered::Stopping)? {
            Ok(Some(event)) if event["everstep"]["depth"].as_u64() > Some(DEPTH_MAX.into()) => {
                Err(NotDelivered::TooDeep)
            }
            Ok(Some(event)) => Ok(event.to_string().into_bytes()),
            Ok(None) => Err(NotDelivered::Gone),
            Err(error) => Err(NotDelivered::Yet(error.message().to_owned())),
        }
    }

    fn warn(&self, notification: &Notification, what: &str) {
        let (arn, target) = (&notification.execution_arn, &notification.ending.target);
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
        notification: &Notification,
        payload: Vec<u8>,
    ) -> Result<(), NotDelivered> {
        let machine = machine(notification);
        let request = Request {
            function: function.to_owned(),
            payload,
            source: Source {
                message_id: Some(notification.execution_arn.to_string()),
                ..Source::new(SourceKind::Destination, machine)
            },
            key: Some(notification.id()),
            unparseable: false,
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |answer| {
            let _ = sender.send(answer);
        });
        self.invocations.accept(request, reply);
        match receiver.await.unwrap_or(Err(Error::Stopped)) {
            Ok(_) => Ok(()),
            Err(Error::Stopped) => Err(NotDelivered::Stopping),
            Err(error) => Err(NotDelivered::Yet(error.to_string())),
        }
    }
}

/// The name of the machine whose execution has failed.
fn machine(notification: &Notification) -> &str {
    notification.execution_arn.split(':').nth(6).unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
