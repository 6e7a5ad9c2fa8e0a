//! Performs the requests of a Map Run's driver.

use std::ops::Range;
use std::sync::Arc;

use everstep_asl::model::{ExecutionType, Mode};
use everstep_drivers::map_run::{
    Busy, Driver, Family, Input, OUTPUT_BYTES_MAX, Outcome, Plan, Refusal, Request, Settings,
    Stored, child, item_counts, map_state, record_of, settings_of, survey,
};
use everstep_executions::{
    Cancelled, Ended, Error as Engine, Job, Message, Note, Reply, Report, Result, Task,
};
use everstep_interpreter::map_run::{arn, label};
use everstep_interpreter::{Failure, MapRun};
use tokio::sync::mpsc;

use super::backlog::Backlog;
use super::{Event, Inbox};
use crate::operations::target;
use crate::pause::until;
use crate::service::Service;

/// Drives the Map Run of a task to its end.
pub(crate) async fn run(service: Arc<Service>, task: Task, inbox: Inbox) {
    let (map_runs, live) = (service.map_runs.clone(), inbox.live.clone());
    let Job::MapRun { plan, .. } = &task.job else { return map_runs.close(&task, &live) };
    let turn = map_runs.turn(task.execution, plan.run.number);
    let waiting = Arc::downgrade(&service);
    drop(service);
    let _turn = turn.lock().await;
    // If the engine has stopped meanwhile, the run is dispatched again.
    let Some(service) = waiting.upgrade() else { return map_runs.close(&task, &live) };
    match drive(service, &task, inbox).await {
        // When the engine stops, the run is dispatched again. When its execution is gone, nobody waits for it.
        Ok(()) | Err(Engine::Stopped | Engine::NotFound) => {}
        Err(error) => {
            let failure = Failure::new("States.Runtime", error.to_string());
            task.report(Report::MapRunFailed { failure });
        }
    }
    map_runs.close(&task, &live);
}

async fn drive(service: Arc<Service>, task: &Task, inbox: Inbox) -> Result<()> {
    let Job::MapRun { plan: asked, .. } = &task.job else { return Err(Engine::NotFound) };
    let (family, plan) = prepare(&service, task, asked).await?;
    let stored = Stored {
        record: record_of(&service.reader, task.execution, plan.run)?,
        settings: settings_of(&service.reader, task.execution, plan.run)?,
    };
    let (run, backlog) = (plan.run, Backlog::new(plan.output_bytes_max));
    let (driver, requests) = Driver::open(plan, stored, service.now_ms());
    let shell = Shell {
        service,
        task: task.clone(),
        asked: asked.clone(),
        run,
        backlog,
        family: Arc::new(family),
        inbox,
        cancelled: Vec::new(),
    };
    shell.drive(driver, requests).await
}

async fn prepare(service: &Service, task: &Task, asked: &MapRun) -> Result<(Family, Plan)> {
    let parent = service.reader.summary(task.execution)?.ok_or(Engine::NotFound)?;
    let prepared = service.reader.prepared(&parent)?;
    let found = map_state(&prepared.program.machine, &task.state);
    let (state, map) = found.ok_or(Engine::NotFound)?;
    let express = map.mode == Mode::Distributed(ExecutionType::Express);
    let run_arn = arn(&prepared.identity(&parent.arn), state, asked.run);
    let revision = prepared.revision.of_children(&state.name, &label(state), express);
    let labels = parent.labels.iter().filter(|(name, _)| name == target::REVISION);
    let family = Family {
        run_arn: run_arn.clone(),
        parent_started_ms: parent.started_ms,
        redrives: asked.redrives,
        prepared: service.prepare(revision).await?,
        labels: labels.cloned().collect(),
    };
    let plan = Plan {
        run_arn,
        execution_arn: parent.arn.clone(),
        machine_arn: prepared.revision.machine_arn.clone(),
        state: task.state.to_string(),
        run: asked.run.number,
        attempt: task.attempt,
        redrives: asked.redrives,
        settings: Settings {
            max_concurrency: asked.max_concurrency,
            tolerated_count: asked.tolerance.count,
            tolerated_percentage: asked.tolerance.percentage,
        },
        express,
        items: item_counts(asked, map),
        output_bytes_max: OUTPUT_BYTES_MAX,
        again: task.again,
    };
    Ok((family, plan))
}

struct Shell {
    service: Arc<Service>,
    task: Task,
    asked: MapRun,
    run: u32,
    backlog: Backlog,
    family: Arc<Family>,
    inbox: Inbox,
    /// Held until all children have been stopped: a crash before that brings them back.
    cancelled: Vec<Cancelled>,
}

impl Shell {
    async fn drive(mut self, mut driver: Driver, mut requests: Vec<Request>) -> Result<()> {
        loop {
            for request in requests {
                self.perform(&driver, request)?;
            }
            if driver.is_over() {
                return Ok(());
            }
            self.inbox.live.set(driver.tallies());
            let clock = self.service.clock.clone();
            let event = match driver.next_due_ms() {
                None => self.inbox.events.recv().await,
                Some(due_ms) => tokio::select! {
                    event = self.inbox.events.recv() => event,
                    now_ms = until(due_ms, &*clock) => {
                        requests = driver.handle(Input::TimePassed, now_ms);
                        continue;
                    }
                },
            };
            let input = match event.ok_or(Engine::Stopped)? {
                Event::Input(input) => {
                    if let Input::Ended(_, outcome) = &input {
                        self.backlog.take(outcome);
                    }
                    input
                }
                Event::Cancelled(cancelled) => {
                    self.cancelled.push(cancelled);
                    Input::Cancelled
                }
                Event::Failed(error) => return Err(error),
            };
            requests = driver.handle(input, clock.now_ms());
        }
    }

    fn perform(&self, driver: &Driver, request: Request) -> Result<()> {
        let service = &self.service;
        match request {
            Request::Write(notes) => self.write(service, notes),
            Request::Survey { children, outputs } => self.survey(service, children, outputs),
            Request::Start(index) => self.start(service, index, driver.items(index)),
            Request::Redrive(index) => {
                let reply = self.reply(move |answer| match refused(answer) {
                    Ok(answer) => Event::Input(Input::Redriven(index, answer)),
                    Err(error) => Event::Failed(error),
                });
                service.engine.send(Message::Redrive { id: self.family.id(index), reply });
            }
            Request::Watch(index) => {
                let backlog = self.backlog.clone();
                let reply = self.reply(move |answer| match answer {
                    Ok(ended) => ended_event(index, ended, &backlog),
                    Err(error) => match refused::<()>(Err(error)) {
                        Ok(Err(refusal)) => Event::Input(Input::NotWatched(index, refusal)),
                        Ok(Ok(())) => Event::Failed(Engine::Stopped),
                        Err(error) => Event::Failed(error),
                    },
                });
                service.engine.send(Message::Watch { id: self.family.id(index), reply });
            }
            Request::Stop(index) => self.stop(service, index),
            Request::Look(index) => {
                let seen = child(&service.reader, &self.family, index)?;
                self.send(Event::Input(Input::Looked(index, seen)));
            }
            Request::Report(report) => self.report(report),
            Request::Finish => {}
        }
        Ok(())
    }

    fn write(&self, service: &Service, notes: Vec<Note>) {
        let reply = self.reply(|answer| match answer {
            Ok(()) => Event::Input(Input::Written(Ok(()))),
            Err(Engine::Busy) => Event::Input(Input::Written(Err(Busy))),
            Err(error) => Event::Failed(error),
        });
        service.engine.send(Message::Note { id: self.task.execution, notes, reply });
    }

    fn report(&self, report: Report) {
        let reply = self.reply(|answer| match answer {
            Ok(()) => Event::Input(Input::Reported { counts: true }),
            Err(Engine::Settled | Engine::NoSuchTask | Engine::NotFound) => {
                Event::Input(Input::Reported { counts: false })
            }
            Err(error) => Event::Failed(error),
        });
        self.task.report_then(report, reply);
    }

    fn survey(&self, service: &Arc<Service>, children: Range<u32>, outputs: bool) {
        let (reader, family) = (service.reader.clone(), self.family.clone());
        let (parent, run) = (self.task.execution, self.run);
        let events = self.inbox.live.events.clone();
        tokio::task::spawn_blocking(move || {
            let event = match survey(&reader, &family, parent, run, children, outputs) {
                Ok(seen) => Event::Input(Input::Surveyed(seen)),
                Err(error) => Event::Failed(error),
            };
            let _ = events.send(event);
        });
    }

    fn start(&self, service: &Service, index: u32, items: u64) {
        let start = Box::new(self.family.start(index, &self.asked.inputs, items));
        let child_arn = self.family.arn(index);
        let test_cases = service.test_cases.clone();
        if let Some(test_cases) = &test_cases {
            test_cases.begin_child(&self.task.execution_arn, &child_arn);
        }
        let reply = self.reply(move |answer| match refused(answer) {
            Ok(answer) => Event::Input(Input::Started(index, answer)),
            Err(error) => Event::Failed(error),
        });
        let (events, backlog) = (self.inbox.live.events.clone(), self.backlog.clone());
        let watcher: Reply<_> = Box::new(move |answer| {
            if let Some(test_cases) = &test_cases {
                test_cases.end_child(&child_arn);
            }
            // Why it was not started, the reply says.
            if let Ok(ended) = answer {
                let _ = events.send(ended_event(index, ended, &backlog));
            }
        });
        service.engine.send(Message::Start { start, reply, watcher: Some(watcher) });
    }

    fn stop(&self, service: &Service, index: u32) {
        let reply = self.reply(move |answer| match answer {
            Ok(_) | Err(Engine::NotFound) => Event::Input(Input::Stopped(index, Ok(()))),
            Err(Engine::Busy) => Event::Input(Input::Stopped(index, Err(Busy))),
            Err(error) => Event::Failed(error),
        });
        let (id, failure) = (self.family.id(index), Failure::default());
        service.engine.send(Message::Stop { id, failure, reply });
    }

    /// A reply that becomes an event.
    fn reply<T: Send + 'static>(
        &self,
        event: impl FnOnce(Result<T>) -> Event + Send + 'static,
    ) -> Reply<T> {
        let events: mpsc::UnboundedSender<Event> = self.inbox.live.events.clone();
        Box::new(move |answer| {
            let _ = events.send(event(answer));
        })
    }

    fn send(&self, event: Event) {
        let _ = self.inbox.live.events.send(event);
    }
}

fn ended_event(index: u32, ended: Ended, backlog: &Backlog) -> Event {
    Event::Input(Input::Ended(index, backlog.add(Outcome::of(ended.status))))
}

/// What a driver can do something about; other errors end it.
fn refused<T>(answer: Result<T>) -> Result<std::result::Result<(), Refusal>> {
    match answer {
        Ok(_) => Ok(Ok(())),
        Err(Engine::Busy) => Ok(Err(Refusal::Busy)),
        Err(Engine::AlreadyExists(_) | Engine::WrongStatus(_) | Engine::NotFound) => {
            Ok(Err(Refusal::Unexpected))
        }
        Err(error) => Err(error),
    }
}
