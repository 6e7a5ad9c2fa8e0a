//! Runs the children of a Map Run: as many at a time as there is room for, until all are over or too many
//! have failed.
//!
//! A run that is taken up again, after a crash or a redrive, looks at each of its children first and goes
//! on with those that are not over. Nothing else need be known of what was before.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use everstep_asl::model::{ExecutionType, Kind, Map, Mode, State};
use everstep_executions::{
    Cancelled, Error as Engine, Job, Message, Note, Prepared, Reader, Report, Result, Standing,
    Summary, Task,
};
use everstep_interpreter::map_run::{arn, label, too_many_failures};
use everstep_interpreter::{Failure, MapRun, Payload};
use serde_json::Value;

use super::child::{Family, News, Noted, Outcome};
use super::record::{self, Record, Settings, Status};
use super::tally::{Place, Tallies};
use super::{Helm, Word};
use crate::service::Service;

/// Children that run at a time when the definition does not say.
const CHILDREN_MAX: usize = 10_000;
/// How long to wait when too much is waiting already.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn run(service: Arc<Service>, task: Task, helm: Helm) {
    let map_runs = service.map_runs.clone();
    match Driver::board(&service, task.clone(), helm).await {
        Ok(driver) => {
            drop(service);
            driver.drive().await;
        }
        // The engine stops, or the execution is gone: nobody waits.
        Err(Engine::Stopped | Engine::NotFound) => {}
        Err(error) => {
            let failure = Failure::new("States.Runtime", error.to_string());
            task.report(Report::MapRunFailed { failure });
        }
    }
    map_runs.close(&task);
}

struct Driver {
    service: Weak<Service>,
    task: Task,
    helm: Helm,
    inputs: Payload,
    record: Record,
    settings: Settings,
    family: Arc<Family>,
    children: Vec<Child>,
    /// Those that are yet to be started or redriven.
    waiting: VecDeque<u32>,
    running: usize,
    /// Outcomes of EXPRESS children, which count when they are noted.
    unkept: Vec<(u32, Outcome)>,
    keeping: Vec<(u32, Outcome)>,
    ending: Option<Ending>,
}

struct Child {
    items: u64,
    place: Place,
    result: Option<std::result::Result<Payload, Failure>>,
}

/// Why a run ends before its children do.
enum Ending {
    Failed,
    /// Held until all children have been stopped: a crash before that brings it back.
    Cancelled(Vec<Cancelled>),
}

/// How a child was found when its run was taken up again.
enum Found {
    Absent,
    Running,
    /// It did not succeed before the redrive.
    Stale,
    Over(Outcome),
}

impl Driver {
    async fn board(service: &Arc<Service>, task: Task, helm: Helm) -> Result<Self> {
        let Job::MapRun { plan, .. } = &task.job else { return Err(Engine::NotFound) };
        let parent = service.reader.summary(task.execution)?.ok_or(Engine::NotFound)?;
        let prepared = service.reader.prepared(&parent)?;
        let (state, map) = map_state(&prepared, &task.state).ok_or(Engine::NotFound)?;
        let express = map.mode == Mode::Distributed(ExecutionType::Express);
        let run_arn = arn(&prepared.identity(&parent.arn), state, plan.run);
        let revision = prepared.revision.of_children(&state.name, &label(state), express);
        let revision_label = crate::operations::target::REVISION;
        let family = Arc::new(Family {
            run_arn,
            parent_started_ms: parent.started_ms,
            redrives: plan.redrives,
            prepared: service.prepare(revision).await?,
            labels: parent
                .labels
                .iter()
                .filter(|(name, _)| name == revision_label)
                .cloned()
                .collect(),
        });
        let children = children(plan, map);
        let record = record(service, &task, plan, &parent, &prepared, &family, &children)?;
        let settings = record::settings(&service.reader, task.execution, plan.run.number)?;
        let mut driver = Self {
            service: Arc::downgrade(service),
            inputs: plan.inputs.clone(),
            settings: settings.unwrap_or(record.settings),
            waiting: (0..).take(children.len()).collect(),
            record,
            family,
            children,
            running: 0,
            unkept: Vec::new(),
            keeping: Vec::new(),
            ending: None,
            task,
            helm,
        };
        *driver.tallies() = driver.record.tallies;
        driver.note(service, Vec::new()).await?;
        if driver.task.again || driver.record.redrives > 0 {
            driver.survey(service).await?;
        }
        Ok(driver)
    }

    async fn drive(mut self) {
        loop {
            let Some(service) = self.service.upgrade() else { return };
            self.advance(&service);
            if self.is_done() {
                return self.end(&service).await;
            }
            drop(service);
            let Some(word) = self.helm.heard.recv().await else { return };
            if self.hear(word).await.is_err() {
                // The engine stops: the run will be asked for again.
                return;
            }
        }
    }

    /// Does what there is room for.
    fn advance(&mut self, service: &Service) {
        if self.ending.is_none() && self.is_exceeded() {
            self.stop(service, Ending::Failed);
        }
        while self.ending.is_none()
            && self.running < self.room()
            && let Some(index) = self.waiting.pop_front()
        {
            self.begin(service, index);
        }
        self.keep(service);
    }

    fn is_done(&self) -> bool {
        self.running == 0 && (self.ending.is_some() || self.waiting.is_empty())
    }

    fn room(&self) -> usize {
        match self.settings.max_concurrency {
            0 => CHILDREN_MAX,
            set => (set as usize).min(CHILDREN_MAX),
        }
    }

    fn is_exceeded(&self) -> bool {
        let items = self.tallies().items;
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        self.settings.tolerance().is_exceeded(count(items.unsuccessful()), count(items.total()))
    }

    fn is_express(&self) -> bool {
        self.family.prepared.revision.express
    }

    fn begin(&mut self, service: &Service, index: u32) {
        let (id, child) = (self.family.id(index), &self.children[index as usize]);
        let message = if child.place == Place::PendingRedrive && !self.is_express() {
            Message::Redrive { id, reply: self.ear(index, News::Redriven) }
        } else {
            let input = self.inputs.get(index as usize).cloned().unwrap_or(Value::Null);
            let start = Box::new(self.family.start(index, input, child.items));
            let watcher = Some(self.ear(index, News::Ended));
            Message::Start { start, reply: self.ear(index, News::Begun), watcher }
        };
        self.shift(index, Place::Running);
        self.running += 1;
        service.engine.send(message);
    }

    /// A reply that becomes news of a child.
    fn ear<T: Send + 'static>(
        &self,
        index: u32,
        news: impl FnOnce(Result<T>) -> News + Send + 'static,
    ) -> everstep_executions::Reply<T> {
        let words = self.helm.live.words.clone();
        Box::new(move |answer| {
            let _ = words.send(Word::Child(index, news(answer)));
        })
    }

    fn watch(&self, service: &Service, index: u32) {
        let (id, reply) = (self.family.id(index), self.ear(index, News::Watched));
        service.engine.send(Message::Watch { id, reply });
    }

    async fn hear(&mut self, word: Word) -> Result<()> {
        let service = self.service.upgrade().ok_or(Engine::Stopped)?;
        match word {
            Word::Child(index, news) => self.hear_of(&service, index, news).await?,
            Word::Kept(outcome) => {
                if outcome.is_err() && outcome != Err(Engine::Busy) {
                    return outcome;
                }
                let kept = std::mem::take(&mut self.keeping);
                if outcome.is_ok() {
                    kept.into_iter().for_each(|(index, outcome)| self.settle(index, outcome));
                } else {
                    self.unkept.splice(0..0, kept);
                    tokio::time::sleep(PAUSE).await;
                }
            }
            Word::Changed(settings) => self.settings = settings,
            Word::Cancelled(cancelled) => match &mut self.ending {
                Some(Ending::Cancelled(held)) => held.push(cancelled),
                _ => self.stop(&service, Ending::Cancelled(vec![cancelled])),
            },
        }
        Ok(())
    }

    async fn hear_of(&mut self, service: &Service, index: u32, news: News) -> Result<()> {
        match news {
            News::Begun(Ok(_)) | News::Stopped(Ok(_)) | News::Ended(Err(_)) => {}
            News::Redriven(Ok(_)) => self.watch(service, index),
            News::Ended(Ok(ended)) | News::Watched(Ok(ended)) => {
                let outcome = Outcome::of(ended.status);
                if self.is_express() {
                    self.unkept.push((index, outcome));
                } else {
                    self.settle(index, outcome);
                }
            }
            News::Begun(Err(Engine::Busy)) => self.put_back(index, Place::Pending).await,
            News::Redriven(Err(Engine::Busy)) => self.put_back(index, Place::PendingRedrive).await,
            News::Watched(Err(Engine::Busy)) => {
                tokio::time::sleep(PAUSE).await;
                self.watch(service, index);
            }
            News::Stopped(Err(Engine::Busy)) => {
                tokio::time::sleep(PAUSE).await;
                self.stop_one(service, index);
            }
            // What was refused before it began is told as such too.
            News::Stopped(Err(Engine::NotFound)) => {}
            News::Begun(Err(Engine::AlreadyExists(_)))
            | News::Redriven(Err(Engine::WrongStatus(_) | Engine::NotFound))
            | News::Watched(Err(Engine::NotFound)) => {
                let found = look(&service.reader, &self.family, index, self.record.redriven_ms)?;
                self.running -= 1;
                self.take(service, index, found);
            }
            News::Begun(Err(error))
            | News::Redriven(Err(error))
            | News::Watched(Err(error))
            | News::Stopped(Err(error)) => return Err(error),
        }
        Ok(())
    }

    async fn put_back(&mut self, index: u32, place: Place) {
        self.running -= 1;
        self.shift(index, place);
        self.waiting.push_front(index);
        tokio::time::sleep(PAUSE).await;
    }

    fn settle(&mut self, index: u32, outcome: Outcome) {
        self.running -= 1;
        self.record_outcome(index, outcome);
    }

    fn record_outcome(&mut self, index: u32, outcome: Outcome) {
        self.shift(index, Place::Over(outcome.standing));
        self.children[index as usize].result = Some(outcome.result);
    }

    fn shift(&mut self, index: u32, to: Place) {
        let child = &mut self.children[index as usize];
        let (from, items) = (std::mem::replace(&mut child.place, to), child.items);
        self.tallies().shift(from, to, items);
    }

    fn tallies(&self) -> std::sync::MutexGuard<'_, Tallies> {
        self.helm.live.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what has come of EXPRESS children, all that has come meanwhile at once.
    fn keep(&mut self, service: &Service) {
        if !self.keeping.is_empty() || self.unkept.is_empty() {
            return;
        }
        self.keeping = std::mem::take(&mut self.unkept);
        let (run, redrives) = (self.run(), self.record.redrives);
        let note = |(index, outcome): &(u32, Outcome)| Note {
            key: record::outcome_key(run, *index),
            text: serde_json::to_vec(&Noted::of(outcome, redrives)).ok(),
        };
        let notes = self.keeping.iter().map(note).collect();
        let words = self.helm.live.words.clone();
        let reply = Box::new(move |outcome| {
            let _ = words.send(Word::Kept(outcome));
        });
        service.engine.send(Message::Note { id: self.task.execution, notes, reply });
    }

    /// The number that the run is known by.
    fn run(&self) -> u32 {
        match &self.task.job {
            Job::MapRun { plan, .. } => plan.run.number,
            Job::Call { .. } => 0,
        }
    }

    fn stop(&mut self, service: &Service, ending: Ending) {
        self.ending = Some(ending);
        for index in 0..self.children.len() {
            if self.children[index].place == Place::Running {
                self.stop_one(service, u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
    }

    fn stop_one(&self, service: &Service, index: u32) {
        let (id, reply) = (self.family.id(index), self.ear(index, News::Stopped));
        service.engine.send(Message::Stop { id, failure: Failure::default(), reply });
    }

    /// Looks at all children of a run that is taken up again.
    async fn survey(&mut self, service: &Arc<Service>) -> Result<()> {
        self.waiting.clear();
        let (service_, family, since) =
            (service.clone(), self.family.clone(), self.record.redriven_ms);
        let (count, run, redrives) = (self.children.len(), self.run(), self.record.redrives);
        let execution = self.task.execution;
        let look_at_all = move || -> Result<Vec<Found>> {
            let reader = &service_.reader;
            if !family.prepared.revision.express {
                return (0..)
                    .take(count)
                    .map(|index| look(reader, &family, index, since))
                    .collect();
            }
            let mut found: Vec<Found> = (0..count).map(|_| Found::Absent).collect();
            for (index, noted) in record::outcomes::<Noted>(reader, execution, run)? {
                let current = noted.redrives == redrives;
                let outcome = noted.outcome();
                let Some(slot) = found.get_mut(index as usize) else { continue };
                *slot = match outcome.standing {
                    Standing::Succeeded => Found::Over(outcome),
                    _ if current => Found::Over(outcome),
                    _ => Found::Stale,
                };
            }
            Ok(found)
        };
        let looked = tokio::task::spawn_blocking(look_at_all).await;
        let found = looked.map_err(|_| Engine::Stopped)??;
        for (index, found) in (0..).zip(found) {
            self.take(service, index, found);
        }
        Ok(())
    }

    /// Goes on with a child as it was found.
    fn take(&mut self, service: &Service, index: u32, found: Found) {
        match found {
            Found::Absent => {
                self.shift(index, Place::Pending);
                self.waiting.push_back(index);
            }
            Found::Stale => {
                self.shift(index, Place::PendingRedrive);
                self.waiting.push_back(index);
            }
            Found::Running => {
                self.shift(index, Place::Running);
                self.running += 1;
                self.watch(service, index);
            }
            Found::Over(outcome) => self.record_outcome(index, outcome),
        }
    }

    /// Makes the end of the run durable, and only then tells the execution that waits for it.
    async fn end(mut self, service: &Service) {
        let tallies = *self.tallies();
        self.record.tallies = tallies;
        self.record.stopped_ms = Some(service.now_ms());
        self.record.status = match &self.ending {
            None => Status::Succeeded,
            Some(Ending::Failed) => Status::Failed,
            Some(Ending::Cancelled(_)) => Status::Aborted,
        };
        let forgotten = match self.ending {
            None if self.is_express() => (0..).take(self.children.len()).collect(),
            _ => Vec::new(),
        };
        if self.note(service, forgotten).await.is_err() {
            return;
        }
        match self.ending {
            None => {
                let failure = || Err(Failure::default());
                let results =
                    self.children.into_iter().map(|child| child.result.unwrap_or_else(failure));
                self.task.report(Report::MapRunFinished { children: results.collect() });
            }
            Some(Ending::Failed) => {
                self.task.report(Report::MapRunFailed { failure: too_many_failures() });
            }
            Some(Ending::Cancelled(cancelled)) => drop(cancelled),
        }
    }

    /// Writes the record, and forgets the outcomes of children that are part of the execution now.
    async fn note(&self, service: &Service, forgotten: Vec<u32>) -> Result<()> {
        let run = self.run();
        loop {
            let forget = |index: &u32| Note { key: record::outcome_key(run, *index), text: None };
            let mut notes: Vec<Note> = forgotten.iter().map(forget).collect();
            notes.push(record::record_note(run, &self.record));
            let id = self.task.execution;
            match service.ask(|reply| Message::Note { id, notes, reply }).await {
                Err(Engine::Busy) => tokio::time::sleep(PAUSE).await,
                outcome => return outcome,
            }
        }
    }
}

fn map_state<'p>(prepared: &'p Prepared, name: &str) -> Option<(&'p State, &'p Map)> {
    let mut found = None;
    prepared.program.machine.each_state(&mut |state, _, _| {
        if let Kind::Map(map) = &state.kind
            && *state.name == *name
        {
            found = Some((state, &**map));
        }
    });
    found
}

/// A batch has its items in `Items`.
fn children(plan: &MapRun, map: &Map) -> Vec<Child> {
    let items = |input: &Value| match map.item_batcher {
        Some(_) => input["Items"].as_array().map_or(0, Vec::len) as u64,
        None => 1,
    };
    let child = |input| Child { items: items(input), place: Place::Pending, result: None };
    plan.inputs.as_array().into_iter().flatten().map(child).collect()
}

/// What is stored of the run, brought up to date.
fn record(
    service: &Service,
    task: &Task,
    plan: &MapRun,
    parent: &Summary,
    prepared: &Prepared,
    family: &Family,
    children: &[Child],
) -> Result<Record> {
    let mut tallies = Tallies::default();
    for child in children {
        tallies.add(Place::Pending, child.items);
    }
    let attempt = (task.attempt.frame.0, task.attempt.number);
    let known = record::record_of(&service.reader, task.execution, plan.run.number)?;
    Ok(match known {
        Some(known) => {
            let redriven_ms = match known.redrives < plan.redrives {
                true => Some(service.now_ms()),
                false => known.redriven_ms,
            };
            let (status, stopped_ms, redrives) = (Status::Running, None, plan.redrives);
            Record { attempt, status, stopped_ms, redrives, redriven_ms, tallies, ..known }
        }
        None => Record {
            arn: family.run_arn.clone(),
            execution_arn: parent.arn.clone(),
            machine_arn: prepared.revision.machine_arn.clone(),
            status: Status::Running,
            started_ms: service.now_ms(),
            stopped_ms: None,
            settings: Settings {
                max_concurrency: plan.max_concurrency,
                tolerated_count: plan.tolerance.count,
                tolerated_percentage: plan.tolerance.percentage,
            },
            redrives: plan.redrives,
            redriven_ms: None,
            attempt,
            tallies,
        },
    })
}

/// How a STANDARD child stands.
fn look(reader: &Reader, family: &Family, index: u32, redriven_ms: Option<i64>) -> Result<Found> {
    let Some(summary) = reader.summary(family.id(index))? else { return Ok(Found::Absent) };
    let before = |moment: i64| redriven_ms.is_some_and(|redriven| moment <= redriven);
    Ok(match summary.standing {
        Standing::Running => Found::Running,
        Standing::Succeeded => Found::Over(Outcome::read(reader, &summary)?),
        _ if summary.stopped_ms.is_some_and(before) => Found::Stale,
        _ => Found::Over(Outcome::read(reader, &summary)?),
    })
}
