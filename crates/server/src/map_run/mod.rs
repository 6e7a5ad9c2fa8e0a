//! Map Runs as the server has them: which have a driver now, and how they are found, changed and cancelled. What a
//! driver decides is `everstep_drivers::map_run`.
//!
//! - `shell`: performs the requests of a driver;
//! - `backlog`: bounds what waits for a driver;
//! - `cancel`: ends a run that has no driver.

mod backlog;
mod cancel;
mod shell;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use everstep_api::arn::{Arn, Kind};
use everstep_drivers::map_run::{self, Input, MAP_RUN, Tallies, settings_note};
use everstep_executions::{
    Cancelled, Error as Engine, ExecutionId, Message, Reader, Result, Summary, Task,
};
use everstep_interpreter::Attempt;
use everstep_interpreter::map_run::starter;
use tokio::sync::mpsc;

pub(crate) use cancel::cancel;
pub(crate) use everstep_drivers::map_run::{Found, ITEMS, Settings, Status, of_execution};
pub(crate) use shell::run;

use crate::service::Service;

/// The runs that have a driver now.
#[derive(Default)]
pub(crate) struct MapRuns {
    live: Mutex<HashMap<Key, Live>>,
    /// A run has one driver at a time: after a redrive, the attempt before may still be stopping children. It would
    /// stop those of the redrive too, and write the record last.
    turns: Mutex<HashMap<(ExecutionId, u32), Weak<Turn>>>,
}

/// Held by whatever drives a run.
type Turn = tokio::sync::Mutex<()>;

type Key = (ExecutionId, Attempt);

#[derive(Clone)]
pub(crate) struct Live {
    tallies: Arc<Mutex<Tallies>>,
    events: mpsc::UnboundedSender<Event>,
}

/// What reaches the shell of a driver.
enum Event {
    Input(Input),
    Cancelled(Cancelled),
    /// The engine cannot do what the driver has asked for.
    Failed(Engine),
}

/// The shell's end of it.
pub(crate) struct Inbox {
    live: Live,
    events: mpsc::UnboundedReceiver<Event>,
}

impl MapRuns {
    /// Must be called before the task can be cancelled: otherwise the run would not be stopped.
    pub(crate) fn open(&self, task: &Task) -> Inbox {
        let (sender, events) = mpsc::unbounded_channel();
        let live = Live { tallies: Arc::default(), events: sender };
        self.live().insert((task.execution, task.attempt), live.clone());
        Inbox { live, events }
    }

    /// Leaves alone the run of a later execution with the same name, which may wait for its turn.
    fn close(&self, task: &Task, closed: &Live) {
        let (key, mut live) = ((task.execution, task.attempt), self.live());
        if live.get(&key).is_some_and(|known| Arc::ptr_eq(&known.tallies, &closed.tallies)) {
            live.remove(&key);
        }
    }

    pub(crate) fn find(&self, execution: ExecutionId, attempt: Attempt) -> Option<Live> {
        self.live().get(&(execution, attempt)).cloned()
    }

    fn turn(&self, execution: ExecutionId, run: u32) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = turns.get(&(execution, run)).and_then(Weak::upgrade).unwrap_or_default();
        turns.insert((execution, run), Arc::downgrade(&turn));
        turn
    }

    /// Cancels the run of an attempt; gives the cancellation back if it has no driver.
    pub(crate) fn cancel(&self, cancelled: Cancelled) -> Option<Cancelled> {
        match self.find(cancelled.execution, cancelled.attempt) {
            Some(live) => live.cancel(cancelled),
            None => Some(cancelled),
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<Key, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    pub(crate) fn tallies(&self) -> Tallies {
        *self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, tallies: Tallies) {
        *self.tallies.lock().unwrap_or_else(PoisonError::into_inner) = tallies;
    }

    fn change(&self, settings: Settings) {
        let _ = self.events.send(Event::Input(Input::Changed(settings)));
    }

    fn cancel(&self, cancelled: Cancelled) -> Option<Cancelled> {
        match self.events.send(Event::Cancelled(cancelled)) {
            Err(mpsc::error::SendError(Event::Cancelled(cancelled))) => Some(cancelled),
            _ => None,
        }
    }
}

/// The Map Run that has started an execution, if one has.
pub(crate) fn parent_run(summary: &Summary) -> Option<&str> {
    crate::operations::start_execution::label(summary, MAP_RUN)
}

/// The run of an ARN that names one. The execution that started it is read off its name.
pub(crate) fn find(reader: &Reader, arn: &str) -> Result<Option<Found>> {
    let Ok(Arn { kind: Kind::MapRun { run, .. }, .. }) = Arn::parse(arn) else { return Ok(None) };
    let Some((starter, number)) = starter(run) else { return Ok(None) };
    match reader.starting_with(&starter)? {
        Some(execution) => map_run::find(reader, execution, number, arn),
        None => Ok(None),
    }
}

/// Writes what `UpdateMapRun` says, and notifies the driver.
pub(crate) async fn update(service: &Service, found: &Found, settings: Settings) -> Result<()> {
    let (id, notes) = (found.execution, vec![settings_note(found.run, &settings)]);
    service.ask(|reply| Message::Note { id, notes, reply }).await?;
    if let Some(live) = service.map_runs.find(id, found.record.attempt()) {
        live.change(settings);
    }
    Ok(())
}
