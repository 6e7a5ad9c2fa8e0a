//! The triggers of a server: which have a driver now, and how they are reached. What a driver decides is
//! `everstep_triggers`.
//!
//! - `deployment`: the configuration, as drivers take it;
//! - `shell`: performs the requests of a driver;
//! - `watch`: how what a trigger has started ends;
//! - `source`: where items come from: what each kind implements;
//! - `folder`: files that are put into a folder;
//! - `request`: requests to `/triggers/NAME`: who may send them, and which items they bring;
//! - `operations`: what callers of the API ask of triggers.

mod deployment;
mod folder;
mod operations;
mod request;
mod shell;
mod source;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use everstep_executions::Clock;
use everstep_invocations::Invocations;
use everstep_triggers::{Item, Settled, Standing};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::Frontend;
use crate::admission::Admission;
use crate::rate_limit::RateLimit;
use crate::service::Service;

pub(crate) use deployment::{Planned, plans};
pub(crate) use request::{Answer, Arrived, check, read};
use shell::Shell;

pub(crate) struct Triggers {
    invocations: Arc<Invocations>,
    clock: Arc<dyn Clock>,
    admission: Arc<Admission>,
    /// Known when the server has been started.
    surroundings: OnceLock<Surroundings>,
    live: Mutex<BTreeMap<String, Live>>,
    /// Held while triggers are started and stopped: of each one driver at a time has the rows.
    deploying: tokio::sync::Mutex<()>,
    warnings: RateLimit,
    runtime: Handle,
}

struct Surroundings {
    service: Weak<Service>,
    frontend: Arc<dyn Frontend>,
}

/// A trigger that has a driver.
#[derive(Clone)]
pub(crate) struct Live {
    planned: Arc<Planned>,
    events: mpsc::UnboundedSender<Event>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

/// What reaches the shell of a driver.
enum Event {
    Input(everstep_triggers::Input),
    /// Somebody brings an item, and waits for the answer.
    Offer(Item, oneshot::Sender<Settled>),
    Fire(Option<Vec<u8>>, oneshot::Sender<Settled>),
    Control(Control, oneshot::Sender<()>),
    Show(oneshot::Sender<Standing>),
    /// The engine cannot do what the driver has asked for.
    Failed(everstep_invocations::Error),
    /// No more is accepted; ends when the write that is under way is durable.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Pause,
    Resume,
}

impl Triggers {
    /// Must be called within a Tokio runtime.
    pub(crate) fn new(
        invocations: Arc<Invocations>,
        clock: Arc<dyn Clock>,
        admission: Arc<Admission>,
    ) -> Arc<Self> {
        Arc::new(Self {
            invocations,
            clock,
            admission,
            surroundings: OnceLock::new(),
            live: Mutex::default(),
            deploying: tokio::sync::Mutex::default(),
            warnings: RateLimit::default(),
            runtime: Handle::current(),
        })
    }

    /// Before any is deployed.
    pub(crate) fn connect(&self, service: &Arc<Service>, frontend: Arc<dyn Frontend>) {
        let service = Arc::downgrade(service);
        let _ = self.surroundings.set(Surroundings { service, frontend });
    }

    /// Starts, changes and stops triggers, so that these are there. Those that are as they were go on.
    pub(crate) async fn deploy(self: &Arc<Self>, planned: Vec<Planned>) {
        let _turn = self.deploying.lock().await;
        let kept = |live: &Live| planned.iter().any(|new| live.planned.is_same(new));
        let old: Vec<Live> = {
            let mut live = self.live();
            let gone: Vec<String> =
                live.iter().filter(|(_, live)| !kept(live)).map(|(name, _)| name.clone()).collect();
            gone.iter().filter_map(|name| live.remove(name)).collect()
        };
        let known: Vec<String> = old.iter().map(|live| live.planned.plan.name.clone()).collect();
        stop(old).await;
        for mut new in planned {
            if self.find(&new.plan.name).is_some() {
                continue;
            }
            // One that is changed has been there since the start.
            new.plan.is_startup &= !known.contains(&new.plan.name);
            self.start(new);
        }
    }

    fn start(self: &Arc<Self>, planned: Planned) {
        let (name, planned) = (planned.plan.name.clone(), Arc::new(planned));
        let (events, inbox) = mpsc::unbounded_channel();
        let shell = Shell::new(self.clone(), planned.clone(), events.clone(), inbox);
        let task = self.runtime.spawn(shell.run());
        let task = Arc::new(Mutex::new(Some(task)));
        self.live().insert(name, Live { planned, events, task });
    }

    /// Accepts no more. What was accepted is durable when it returns.
    pub(crate) async fn shut_down(&self) {
        let _turn = self.deploying.lock().await;
        let all: Vec<Live> = std::mem::take(&mut *self.live()).into_values().collect();
        stop(all).await;
    }

    pub(crate) fn find(&self, name: &str) -> Option<Live> {
        self.live().get(name).cloned()
    }

    fn all(&self) -> Vec<Live> {
        self.live().values().cloned().collect()
    }

    fn service(&self) -> Option<Arc<Service>> {
        self.surroundings.get()?.service.upgrade()
    }

    fn warn(&self, trigger: &str, what: &str) {
        let Some(surroundings) = self.surroundings.get() else { return };
        if let Some(others) = self.warnings.admit(trigger) {
            let line = format!("warning: trigger '{trigger}': {what}{others}\n");
            surroundings.frontend.write(&line);
        }
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<String, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All at once, because each may have to wait for its write.
async fn stop(all: Vec<Live>) {
    for live in &all {
        let _ = live.events.send(Event::Stop);
    }
    for live in all {
        let task = live.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

impl Live {
    /// None if the trigger is being stopped.
    async fn ask<T>(&self, event: impl FnOnce(oneshot::Sender<T>) -> Event) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        self.events.send(event(sender)).ok()?;
        receiver.await.ok()
    }

    /// Brings an item; the answer comes when it is durable.
    fn offer_later(&self, item: Item) -> oneshot::Receiver<Settled> {
        let (sender, receiver) = oneshot::channel();
        let _ = self.events.send(Event::Offer(item, sender));
        receiver
    }
}
