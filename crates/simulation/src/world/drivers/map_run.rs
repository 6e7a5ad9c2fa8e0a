//! Map Runs: their children are executions in the same shards.

use everstep_asl::model::{ExecutionType, Mode};
use everstep_drivers::map_run::{
    self, Abort, AbortInput, AbortRequest, Busy, Driver, Family, Found, Input as RunInput, Plan,
    Refusal, Request as RunRequest, Settings, Status, Stored,
};
use everstep_executions::{
    Cancelled, Ended, Error, ExecutionId, Job, Message, Standing, Started, Task,
};
use everstep_history::{Failure, Payload};
use everstep_interpreter::map_run::{arn, label};

use super::super::{Outcome, World, prepare};
use super::{Input, Request, Shell};
use crate::Fault;
use crate::drivers::{Parent, Run as Known, RunId};
use crate::evidence::{Machine, Subject};

pub(super) struct Run {
    pub(super) driver: Driver,
    pub(super) family: Family,
    id: RunId,
    inputs: Payload,
    task: Task,
    machine: usize,
    /// Held until all children have been stopped: a crash before brings them back.
    cancelled: Vec<Cancelled>,
}

/// A run that was cancelled and has no driver.
pub(super) struct Aborting {
    pub(super) abort: Abort,
    found: Found,
    /// Children that have not been stopped yet.
    pub(super) left: usize,
    _cancelled: Cancelled,
}

impl Aborting {
    pub(super) fn parent(&self) -> ExecutionId {
        self.found.execution
    }
}

impl Run {
    /// The parent, if it does not wait any more.
    pub(super) fn cancelling(&self) -> Option<ExecutionId> {
        self.cancelled.first().map(|cancelled| cancelled.execution)
    }

    /// What a broken driver would make of an input.
    pub(super) fn broken(&self, fault: Option<Fault>, input: RunInput) -> RunInput {
        match input {
            RunInput::Ended(index, mut outcome)
                if fault == Some(Fault::MiscountsChildren)
                    && outcome.standing != Standing::Succeeded =>
            {
                outcome.standing = Standing::Succeeded;
                outcome.output = Some(Payload::new(serde_json::json!({})));
                RunInput::Ended(index, outcome)
            }
            input => input,
        }
    }
}

impl World {
    pub(in super::super) fn open_run(&mut self, task: Task) {
        if self.is_driven(&task) {
            return self.shells.waiting.push(task);
        }
        let opened = self.run_of(task);
        if let Some((run, requests)) = opened {
            self.tally.map_runs += 1;
            self.open_shell(Shell::Run(Box::new(run)), requests.into_iter().map(Request::Run));
        }
    }

    /// Whether an earlier attempt still stops the children of the run.
    fn is_driven(&self, task: &Task) -> bool {
        let Job::MapRun { plan, .. } = &task.job else { return false };
        let run = (task.execution, plan.run.number);
        self.shells.live.values().any(|shell| match shell {
            Shell::Run(other) => (other.id.0, other.id.2) == run,
            Shell::Abort(aborting) => (aborting.found.execution, aborting.found.run) == run,
            _ => false,
        })
    }

    fn run_of(&mut self, task: Task) -> Option<(Run, Vec<RunRequest>)> {
        let Job::MapRun { plan, .. } = &task.job else { return None };
        let subject = self.evidence.subject(task.execution)?;
        let prepared = self.evidence.machines[subject.machine].prepared.clone();
        let started_ms = self.evidence.ledger.last(task.execution)?.execution.started_ms();
        let (state, map) = map_run::map_state(&prepared.program.machine, &task.state)?;
        let express = map.mode == Mode::Distributed(ExecutionType::Express);
        let mut run_arn = arn(&prepared.identity(&task.execution_arn), state, plan.run);
        if self.fault == Some(Fault::RenamesChildren) {
            run_arn = format!("{run_arn}-{}", self.evidence.generation);
        }
        let revision = prepared.revision.of_children(&state.name, &label(state), express);
        let items = map_run::item_counts(plan, map);
        let machine = self.machine_of(&run_arn, revision, express);
        let family = Family {
            run_arn: run_arn.clone(),
            parent_started_ms: started_ms,
            prepared: self.evidence.machines[machine].prepared.clone(),
            labels: Vec::new(),
            redrives: plan.redrives,
        };
        let (parent, number) = (task.execution, plan.run.number);
        let reader = self.evidence.reader();
        let stored = Stored {
            record: map_run::record_of(&reader, parent, number).ok()?,
            settings: map_run::settings_of(&reader, parent, number).ok()?,
        };
        let opening = Plan {
            run_arn,
            execution_arn: task.execution_arn.to_string(),
            machine_arn: prepared.revision.machine_arn.clone(),
            state: task.state.to_string(),
            run: number,
            attempt: task.attempt,
            redrives: plan.redrives,
            settings: Settings {
                max_concurrency: plan.max_concurrency,
                tolerated_count: plan.tolerance.count,
                tolerated_percentage: plan.tolerance.percentage,
            },
            express,
            items,
            output_bytes_max: output_bytes_max(started_ms),
            again: task.again,
        };
        let (id, inputs) = ((parent, started_ms, number), plan.inputs.clone());
        let children = opening.items.len();
        self.evidence.drivers.runs.entry(id).or_insert_with(|| Known {
            express,
            children,
            started: Default::default(),
        });
        let (driver, requests) = Driver::open(opening, stored, self.engine_ms());
        let cancelled = Vec::new();
        Some((Run { driver, family, id, inputs, task, machine, cancelled }, requests))
    }

    /// The children of a run are in a list of their own.
    fn machine_of(
        &mut self,
        run_arn: &str,
        revision: everstep_executions::Revision,
        express: bool,
    ) -> usize {
        let known = self.evidence.machines.iter().position(|machine| machine.arn == run_arn);
        known.unwrap_or_else(|| {
            let prepared = prepare(&self.evidence.runtime, revision);
            self.evidence.machines.push(Machine {
                arn: run_arn.to_owned(),
                prepared,
                express,
                plain: false,
                long: false,
                sink: false,
                child: true,
            });
            self.evidence.machines.len() - 1
        })
    }

    pub(super) fn perform_run(&mut self, id: u64, request: RunRequest) -> Outcome {
        let busy = self.is_busy();
        let reader = self.evidence.reader();
        let Some(Shell::Run(run)) = self.shells.live.get(&id) else { return Ok(()) };
        let (parent, _, number) = run.id;
        let message = match request {
            RunRequest::Write(_) if busy => {
                self.answer_now(id, Input::Run(RunInput::Written(Err(Busy))));
                return Ok(());
            }
            RunRequest::Write(notes) => Message::Note {
                id: parent,
                notes,
                reply: self.answer_to(id, |answer| match answer {
                    Ok(()) => Input::Run(RunInput::Written(Ok(()))),
                    Err(Error::Busy) => Input::Run(RunInput::Written(Err(Busy))),
                    // The parent is gone.
                    Err(_) => Input::Drop,
                }),
            },
            RunRequest::Survey { children, outputs } => {
                let family = &run.family;
                let seen = map_run::survey(&reader, family, parent, number, children, outputs);
                let input = seen.map_or(Input::Drop, |seen| Input::Run(RunInput::Surveyed(seen)));
                self.answer_now(id, input);
                return Ok(());
            }
            RunRequest::Look(index) => {
                let seen = map_run::child(&reader, &run.family, index);
                let looked = |seen| Input::Run(RunInput::Looked(index, seen));
                self.answer_now(id, seen.map_or(Input::Drop, looked));
                return Ok(());
            }
            RunRequest::Start(index) if busy => {
                let refused = RunInput::Started(index, Err(Refusal::Busy));
                self.answer_now(id, Input::Run(refused));
                return Ok(());
            }
            RunRequest::Start(index) => return self.start_child(id, index),
            RunRequest::Redrive(index) => Message::Redrive {
                id: run.family.id(index),
                reply: self.answer_to(id, move |answer| {
                    Input::Run(RunInput::Redriven(index, answer.map(|_| ()).map_err(refusal)))
                }),
            },
            RunRequest::Watch(index) => Message::Watch {
                id: run.family.id(index),
                reply: self.answer_to(id, move |answer: Result<Ended, Error>| {
                    Input::Run(match answer {
                        Ok(ended) => RunInput::Ended(index, map_run::Outcome::of(ended.status)),
                        Err(error) => RunInput::NotWatched(index, refusal(error)),
                    })
                }),
            },
            RunRequest::Stop(index) => Message::Stop {
                id: run.family.id(index),
                failure: Failure::default(),
                reply: self.answer_to(id, move |answer| {
                    let busy = matches!(answer, Err(Error::Busy));
                    let stopped = if busy { Err(Busy) } else { Ok(()) };
                    Input::Run(RunInput::Stopped(index, stopped))
                }),
            },
            RunRequest::Report(report) => {
                let reply = self.answer_to(id, |answer| {
                    Input::Run(RunInput::Reported { counts: answer.is_ok() })
                });
                run.task.report_then(report, reply);
                return Ok(());
            }
            RunRequest::Finish => {
                self.close(id);
                return Ok(());
            }
        };
        self.handle(message)
    }

    fn start_child(&mut self, id: u64, index: u32) -> Outcome {
        let reply = self.answer_to(id, move |answer| {
            let started = answer.map(|_: Started| ()).map_err(refusal);
            Input::Run(RunInput::Started(index, started))
        });
        let watcher = Some(self.answer_to(id, move |answer| match answer {
            Ok(Ended { status, .. }) => {
                Input::Run(RunInput::Ended(index, map_run::Outcome::of(status)))
            }
            // The answer to the start says the same.
            Err(_) => Input::Run(RunInput::TimePassed),
        }));
        let Some(Shell::Run(run)) = self.shells.live.get(&id) else { return Ok(()) };
        let start = run.family.start(index, &run.inputs, run.driver.items(index));
        let (child, machine, parent) = (start.id, run.machine, run.id.0);
        if let Some(known) = self.evidence.drivers.runs.get_mut(&run.id) {
            known.started.entry(index).or_default().insert(child);
        }
        if run.family.is_express() {
            self.evidence.drivers.express.insert(child);
        }
        self.tally.children += 1;
        let (arn, input) = (start.arn.to_string(), start.input.clone());
        self.add_subject(arn, machine, input, Parent::MapRun(parent));
        self.handle(Message::Start { start: Box::new(start), reply, watcher })
    }

    pub(super) fn add_subject(
        &mut self,
        arn: String,
        machine: usize,
        input: Payload,
        parent: Parent,
    ) {
        let id = ExecutionId::of(&arn);
        if self.evidence.subject(id).is_none() {
            self.evidence.subjects.push(Subject {
                arn,
                id,
                machine,
                input,
                started: true,
                delete_sent: false,
                unsettled: 0,
                parent,
            });
        }
    }

    /// Ends the run that an attempt drives, or was to drive before a crash; gives the cancellation back if
    /// there is none.
    pub(super) fn cancel_run(&mut self, cancelled: Cancelled) -> Option<Cancelled> {
        let key = (cancelled.execution, cancelled.attempt);
        // What waits is later than what runs, which may be of an earlier execution with the same name.
        let waiting = self.shells.waiting.len();
        self.shells.waiting.retain(|task| (task.execution, task.attempt) != key);
        if self.shells.waiting.len() < waiting {
            return None;
        }
        let mut live = self.shells.live.iter_mut();
        let found = live.find_map(|(id, shell)| match shell {
            Shell::Run(run) if (run.task.execution, run.task.attempt) == key => Some((*id, run)),
            _ => None,
        });
        if let Some((id, run)) = found {
            run.cancelled.push(cancelled);
            self.answer_now(id, Input::Run(RunInput::Cancelled));
            return None;
        }
        let runs = map_run::of_execution(&self.evidence.reader(), cancelled.execution);
        // A later attempt may have taken the run over, and the store not show it yet.
        let live: Vec<(ExecutionId, u32)> = (self.shells.live.values())
            .filter_map(|shell| match shell {
                Shell::Run(run) => Some((run.id.0, run.id.2)),
                _ => None,
            })
            .collect();
        let wanted = |found: &Found| {
            found.record.attempt() == key.1
                && found.record.status == Status::Running
                && !live.contains(&(found.execution, found.run))
        };
        let Some(found) = runs.ok()?.into_iter().find(wanted) else { return Some(cancelled) };
        let (abort, request) = Abort::open(found.clone());
        let aborting = Aborting { abort, found, left: 0, _cancelled: cancelled };
        self.open_shell(Shell::Abort(Box::new(aborting)), [Request::Abort(request)]);
        None
    }

    pub(super) fn perform_abort(&mut self, id: u64, request: AbortRequest) -> Outcome {
        let reader = self.evidence.reader();
        let Some(Shell::Abort(aborting)) = self.shells.live.get_mut(&id) else { return Ok(()) };
        match request {
            AbortRequest::ListRunning => {
                let running = map_run::running(&reader, &aborting.found);
                let input = running.map(|running| Input::Abort(AbortInput::Running(running)));
                self.answer_now(id, input.unwrap_or(Input::Drop));
            }
            AbortRequest::ListAll => {
                let children = map_run::children(&reader, &aborting.found);
                let input = children.map(|children| Input::Abort(AbortInput::Children(children)));
                self.answer_now(id, input.unwrap_or(Input::Drop));
            }
            AbortRequest::Stop(children) => {
                aborting.left = children.len();
                for child in children {
                    let reply = self.answer_to(id, |_| Input::AbortStopped);
                    let failure = Failure::default();
                    self.handle(Message::Stop { id: child, failure, reply })?;
                }
            }
            AbortRequest::Write(notes) => {
                let parent = aborting.found.execution;
                let reply = self.answer_to(id, |answer| match answer {
                    Ok(()) => Input::Abort(AbortInput::Written(Ok(()))),
                    Err(_) => Input::Drop,
                });
                return self.handle(Message::Note { id: parent, notes, reply });
            }
            AbortRequest::Finish => self.close(id),
        }
        Ok(())
    }
}

/// Of some parents, two results are too many. The same each time a run is taken up.
fn output_bytes_max(started_ms: i64) -> usize {
    if started_ms % 3 == 0 { 8 } else { map_run::OUTPUT_BYTES_MAX }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Busy => Refusal::Busy,
        _ => Refusal::Unexpected,
    }
}
