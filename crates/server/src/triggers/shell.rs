//! Performs the requests of a trigger's driver.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use everstep_invocations::{Error, Intake};
use everstep_triggers::{
    Driver, Input, Item, Origin, Overlap, Refusal, Request, Settled, Stored, Write,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::deployment::Planned;
use super::source::Source;
use super::{Control, Event, Triggers, watch};

/// It looks at the time at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(10);

pub(super) struct Shell {
    triggers: Arc<Triggers>,
    planned: Arc<Planned>,
    source: Option<Arc<dyn Source>>,
    events: mpsc::UnboundedSender<Event>,
    inbox: mpsc::UnboundedReceiver<Event>,
    /// Who waits for an answer, by handle. Those of the source are others.
    answers: HashMap<u64, oneshot::Sender<Settled>>,
    confirmations: HashMap<u64, oneshot::Sender<()>>,
    /// Handles that were given to those who wait. They are counted down, those of sources up.
    handles: u64,
    fetching: Option<JoinHandle<()>>,
    trouble: Option<String>,
    is_stopping: bool,
}

impl Shell {
    pub(super) fn new(
        triggers: Arc<Triggers>,
        planned: Arc<Planned>,
        events: mpsc::UnboundedSender<Event>,
        inbox: mpsc::UnboundedReceiver<Event>,
    ) -> Self {
        Self {
            source: planned.source(),
            triggers,
            planned,
            events,
            inbox,
            answers: HashMap::new(),
            confirmations: HashMap::new(),
            handles: u64::MAX,
            fetching: None,
            trouble: None,
            is_stopping: false,
        }
    }

    /// Runs the trigger until it is stopped. If the engine stops or its store fails, the driver is dropped, as by a crash.
    pub(super) async fn run(mut self) {
        if let Err(error) = self.drive().await
            && error != Error::Stopped
        {
            self.triggers.warn(&self.planned.plan.name, &error.to_string());
        }
        if let Some(fetching) = self.fetching.take() {
            fetching.abort();
        }
    }

    async fn drive(&mut self) -> Result<(), Error> {
        let (mut driver, mut requests) = self.open().await?;
        loop {
            for request in requests {
                self.perform(request);
            }
            self.show_trouble(&driver);
            if self.is_stopping && !driver.is_writing() {
                return Ok(());
            }
            requests = match self.next(&driver).await? {
                Some(input) => driver.handle(input, self.triggers.clock.now_ms()),
                None => Vec::new(),
            };
        }
    }

    async fn open(&self) -> Result<(Driver, Vec<Request>), Error> {
        let (invocations, home) = (self.triggers.invocations.clone(), self.planned.plan.home());
        let notes = tokio::task::spawn_blocking(move || invocations.notes(home)).await;
        let stored = Stored::read(&notes.unwrap_or(Err(Error::Stopped))?).map_err(Error::Failed)?;
        Ok(Driver::open(self.planned.plan.clone(), stored, self.triggers.clock.now_ms()))
    }

    /// What comes next, or that time has passed. None if the driver has nothing to do with it.
    async fn next(&mut self, driver: &Driver) -> Result<Option<Input>, Error> {
        let due_ms = driver.next_due_ms().filter(|_| !self.is_stopping);
        let clock = self.triggers.clock.clone();
        let event = match due_ms {
            None => self.inbox.recv().await,
            Some(due_ms) => {
                let wait_ms = u64::try_from(due_ms.saturating_sub(clock.now_ms())).unwrap_or(0);
                let wait = Duration::from_millis(wait_ms).min(LOOK_EVERY);
                tokio::select! {
                    event = self.inbox.recv() => event,
                    () = tokio::time::sleep(wait) => {
                        let is_due = clock.now_ms() >= due_ms;
                        return Ok(is_due.then_some(Input::TimePassed));
                    }
                }
            }
        };
        self.take(driver, event.ok_or(Error::Stopped)?)
    }

    fn take(&mut self, driver: &Driver, event: Event) -> Result<Option<Input>, Error> {
        match event {
            Event::Input(input) => Ok(Some(input)),
            Event::Failed(error) => Err(error),
            Event::Show(answer) => {
                let _ = answer.send(driver.standing());
                Ok(None)
            }
            Event::Stop => {
                self.is_stopping = true;
                Ok(None)
            }
            // Whoever asks is told by the sender being dropped.
            _ if self.is_stopping => Ok(None),
            Event::Offer(item, answer) => {
                let handle = self.handle();
                self.answers.insert(handle, answer);
                Ok(Some(Input::Offered(Item { handle, ..item })))
            }
            Event::Fire(payload, answer) => {
                let handle = self.handle();
                self.answers.insert(handle, answer);
                let id = format!("fired-{:016x}", uuid::Uuid::new_v4().as_u64_pair().0);
                Ok(Some(Input::Fired { id, payload, handle }))
            }
            Event::Control(control, answer) => {
                let handle = self.handle();
                self.confirmations.insert(handle, answer);
                Ok(Some(match control {
                    Control::Pause => Input::Pause { handle },
                    Control::Resume => Input::Resume { handle },
                }))
            }
        }
    }

    fn handle(&mut self) -> u64 {
        self.handles -= 1;
        self.handles
    }

    fn perform(&mut self, request: Request) {
        match request {
            Request::Write(write) => self.write(write),
            Request::Fetch { number, most, after } => self.fetch(number, most, after),
            Request::Watch(id) => {
                let service = self.follows_executions().then(|| self.triggers.service()).flatten();
                let work = watch::watch(self.triggers.invocations.clone(), service, id);
                self.spawn(work);
            }
            Request::Redrive(id) => {
                self.spawn(watch::redrive(self.triggers.invocations.clone(), id));
            }
            Request::Settle(handle, settled) => self.settle(handle, settled),
            Request::Confirm(handle) => {
                if let Some(answer) = self.confirmations.remove(&handle) {
                    let _ = answer.send(());
                }
            }
        }
    }

    fn write(&self, write: Write) {
        let refused = self.triggers.admission.refusal().filter(|_| !write.items.is_empty());
        if let Some(reason) = refused {
            let refusal = Refusal::Because(reason.to_string());
            return self.send(Event::Input(Input::Written(Err(refusal))));
        }
        let events = self.events.clone();
        let reply = Box::new(move |answer: everstep_invocations::Result<Vec<_>>| {
            let event = match answer {
                Ok(accepted) => {
                    let known = accepted
                        .iter()
                        .map(|accepted: &everstep_invocations::Accepted| accepted.known);
                    Event::Input(Input::Written(Ok(known.collect())))
                }
                Err(Error::Busy) => Event::Input(Input::Written(Err(Refusal::Busy))),
                Err(error @ (Error::Stopped | Error::Failed(_))) => Event::Failed(error),
                Err(error) => {
                    Event::Input(Input::Written(Err(Refusal::Because(error.to_string()))))
                }
            };
            let _ = events.send(event);
        });
        let Write { items, notes } = write;
        let intake = Intake { home: self.planned.plan.home(), items, notes };
        self.triggers.invocations.accept_all(intake, reply);
    }

    /// A fetch that is under way is dropped.
    fn fetch(&mut self, number: u64, most: usize, after: Option<String>) {
        if let Some(fetching) = self.fetching.take() {
            fetching.abort();
        }
        let Some(source) = &self.source else { return };
        let (work, events) = (source.fetch(most, after), self.events.clone());
        self.fetching = Some(self.triggers.runtime.spawn(async move {
            let fetched = work.await;
            let _ = events.send(Event::Input(Input::Fetched(number, fetched)));
        }));
    }

    fn settle(&mut self, handle: u64, settled: Settled) {
        if let Some(answer) = self.answers.remove(&handle) {
            let _ = answer.send(settled);
            return;
        }
        let Some(source) = &self.source else { return };
        let (work, triggers) = (source.settle(handle, settled), self.triggers.clone());
        let name = self.planned.plan.name.clone();
        self.triggers.runtime.spawn(async move {
            if let Err(why) = work.await {
                triggers.warn(&name, &why);
            }
        });
    }

    /// Whether something waits for the end of what it has started.
    fn follows_executions(&self) -> bool {
        let plan = &self.planned.plan;
        let waits = match &plan.origin {
            Origin::Timer(timer) => timer.overlap != Overlap::Allow,
            Origin::Fetched { .. } => true,
            Origin::Offered => false,
        };
        waits && self.planned.starts_executions
    }

    fn show_trouble(&mut self, driver: &Driver) {
        let trouble = driver.trouble();
        if trouble != self.trouble.as_deref() {
            if let Some(trouble) = trouble {
                self.triggers
                    .warn(&self.planned.plan.name, &format!("{trouble}; it will be retried"));
            }
            self.trouble = trouble.map(str::to_owned);
        }
    }

    fn spawn(&self, work: impl Future<Output = Event> + Send + 'static) {
        let events = self.events.clone();
        self.triggers.runtime.spawn(async move {
            let _ = events.send(work.await);
        });
    }

    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}
