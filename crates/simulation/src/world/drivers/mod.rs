//! The shell of the drivers: performs their requests and brings them the answers, one at a time and in any order.
//!
//! A crash drops all of them; the engine then asks again for what is not over.

mod activities;
mod map_run;
mod nested;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use everstep_drivers::activities::Queues;
use everstep_drivers::map_run::{
    AbortInput, AbortRequest, Input as RunInput, Request as RunRequest,
};
use everstep_drivers::nested::{
    CancelInput, CancelRequest, Input as CallInput, Request as CallRequest,
};
use everstep_executions::{Cancelled, Error, Reply, Task};

use super::{Outcome, World};
use crate::Fault;

/// What the world knows and the checkers need not.
#[derive(Default)]
pub(super) struct Shells {
    live: BTreeMap<u64, Shell>,
    opened: u64,
    /// Requests that have not been performed.
    requests: Vec<(u64, Request)>,
    answers: Arc<Mutex<Vec<(u64, Input)>>>,
    /// Runs to be taken up when an earlier attempt has ended: a run has one driver at a time.
    waiting: Vec<Task>,
    queues: Queues,
    /// Workers that poll for tasks of the activity.
    polls: Vec<u64>,
    polled: u64,
    /// Reports that a worker has a task, by request.
    taking: BTreeMap<u64, u64>,
}

enum Shell {
    Run(Box<map_run::Run>),
    Abort(Box<map_run::Aborting>),
    Call(Box<nested::Call>),
    Cancel(Box<nested::Cancelling>),
}

#[derive(Debug)]
enum Request {
    Run(RunRequest),
    Abort(AbortRequest),
    Call(CallRequest),
    Cancel(CancelRequest),
}

enum Input {
    Run(RunInput),
    Abort(AbortInput),
    /// One of the children of a run that is aborted has been stopped.
    AbortStopped,
    Call(CallInput),
    Cancel(CancelInput),
    /// The engine has failed, or there is nothing left to be driven.
    Drop,
}

impl World {
    pub(super) fn act_on_drivers(&mut self) -> Outcome {
        match self.dice.below(10) {
            0 => self.poll(),
            1 => self.leave(),
            _ => self.advance_drivers().map(|_| ()),
        }
    }

    /// Performs a request, brings an answer or lets a pause end; whether there was any.
    pub(super) fn advance_drivers(&mut self) -> Outcome<bool> {
        let answers = self.answers_waiting();
        let requests = self.shells.requests.len();
        if answers + requests == 0 {
            return self.end_pauses();
        }
        let index = self.dice.below(answers + requests);
        if index < requests {
            let (shell, request) = self.shells.requests.remove(index);
            self.log.line(None, || format!("driver {shell} asks: {request:?}"));
            self.perform(shell, request)?;
        } else {
            let mut waiting = self.shells.answers.lock().unwrap_or_else(PoisonError::into_inner);
            let (shell, input) = waiting.remove(index - requests);
            drop(waiting);
            self.bring(shell, input)?;
        }
        Ok(true)
    }

    fn answers_waiting(&self) -> usize {
        self.shells.answers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn drivers_are_idle(&self) -> bool {
        self.shells.requests.is_empty() && self.answers_waiting() == 0
    }

    fn end_pauses(&mut self) -> Outcome<bool> {
        let now = self.engine_ms();
        let due = |shell: &Shell| shell.next_due_ms().is_some_and(|due| due <= now);
        let Some((shell, input)) =
            self.shells.live.iter().find(|(_, shell)| due(shell)).map(|(id, shell)| {
                let input = match shell {
                    Shell::Run(_) => Input::Run(RunInput::TimePassed),
                    Shell::Abort(_) => Input::Abort(AbortInput::TimePassed),
                    Shell::Call(_) => Input::Call(CallInput::TimePassed),
                    Shell::Cancel(_) => Input::Cancel(CancelInput::TimePassed),
                };
                (*id, input)
            })
        else {
            return Ok(false);
        };
        self.bring(shell, input)?;
        Ok(true)
    }

    /// How long until a driver that pauses continues.
    pub(super) fn until_drivers(&self) -> Option<i64> {
        let due = self.shells.live.values().filter_map(Shell::next_due_ms).min()?;
        // A pause may be one of many: it is not worth a look each time.
        Some((due - self.evidence.now_ms).max(if self.calm { 1000 } else { 1 }))
    }

    fn perform(&mut self, shell: u64, request: Request) -> Outcome {
        match request {
            Request::Run(request) => self.perform_run(shell, request),
            Request::Abort(request) => self.perform_abort(shell, request),
            Request::Call(request) => self.perform_call(shell, request),
            Request::Cancel(request) => self.perform_cancel(shell, request),
        }
    }

    fn bring(&mut self, id: u64, input: Input) -> Outcome {
        let now = self.engine_ms();
        let Some(shell) = self.shells.live.get_mut(&id) else { return Ok(()) };
        let requests: Vec<Request> = match (shell, input) {
            (Shell::Run(run), Input::Run(input)) => {
                let input = run.broken(self.fault, input);
                if let RunInput::Ended(index, _) = &input {
                    self.evidence.drivers.express.remove(&run.family.id(*index));
                }
                run.driver.handle(input, now).into_iter().map(Request::Run).collect()
            }
            (Shell::Abort(aborting), Input::Abort(input)) => {
                aborting.abort.handle(input, now).map(Request::Abort).into_iter().collect()
            }
            (Shell::Abort(aborting), Input::AbortStopped) => {
                aborting.left -= 1;
                if aborting.left > 0 {
                    return Ok(());
                }
                let stopped = AbortInput::Stopped(Ok(()));
                aborting.abort.handle(stopped, now).map(Request::Abort).into_iter().collect()
            }
            (Shell::Call(call), Input::Call(input)) => {
                call.driver.handle(input, now).map(Request::Call).into_iter().collect()
            }
            (Shell::Cancel(cancelling), Input::Cancel(input)) => {
                cancelling.cancel.handle(input, now).map(Request::Cancel).into_iter().collect()
            }
            (_, Input::Drop) => {
                self.close(id);
                Vec::new()
            }
            _ => Vec::new(),
        };
        self.shells.requests.extend(requests.into_iter().map(|request| (id, request)));
        Ok(())
    }

    fn open_shell(&mut self, shell: Shell, requests: impl IntoIterator<Item = Request>) {
        self.shells.opened += 1;
        let id = self.shells.opened;
        self.shells.live.insert(id, shell);
        self.shells.requests.extend(requests.into_iter().map(|request| (id, request)));
    }

    /// A driver that is not needed any more: what it held of cancellations is confirmed.
    fn close(&mut self, id: u64) {
        self.shells.requests.retain(|(of, _)| *of != id);
        let shell = self.shells.live.remove(&id);
        drop(shell);
        for task in std::mem::take(&mut self.shells.waiting) {
            self.open_run(task);
        }
    }

    /// A reply that becomes an input of a driver.
    fn answer_to<T: 'static>(
        &self,
        shell: u64,
        wrap: impl FnOnce(Result<T, Error>) -> Input + Send + 'static,
    ) -> Reply<T> {
        let answers = self.shells.answers.clone();
        Box::new(move |answer| {
            let input = match answer {
                // Whoever is quarantined is dispatched again when it is released.
                Err(Error::Stopped | Error::Failed(_) | Error::Quarantined(_)) => Input::Drop,
                answer => wrap(answer),
            };
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((shell, input));
        })
    }

    fn answer_now(&self, shell: u64, input: Input) {
        let mut answers = self.shells.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push((shell, input));
    }

    /// Now and then the engine has no room for a request.
    fn is_busy(&mut self) -> bool {
        !self.calm && self.dice.percent(4)
    }

    /// An attempt has been cancelled.
    pub(super) fn cancelled(&mut self, cancelled: Cancelled) {
        if self.fault == Some(Fault::DropsCancellations) {
            return;
        }
        self.withdraw(&cancelled);
        if let Some(cancelled) = self.cancel_run(cancelled) {
            self.cancel_call(cancelled);
        }
    }

    /// Drivers that pause hold their cancellations.
    pub(super) fn note_cancelling(&mut self) {
        let held = self.shells.live.values().filter_map(|shell| match shell {
            Shell::Run(run) => run.cancelling(),
            Shell::Abort(aborting) => Some(aborting.parent()),
            Shell::Cancel(cancelling) => Some(cancelling.parent()),
            Shell::Call(call) => call.cancelled.as_ref().map(|cancelled| cancelled.execution),
        });
        self.evidence.drivers.cancelling = held.collect();
    }

    pub(super) fn drivers_die(&mut self) {
        let inside = self.shells.live.values().any(|shell| matches!(shell, Shell::Run(_)));
        self.tally.crashes_in_map_runs += u64::from(inside);
        let nested = self.shells.live.values().any(|shell| matches!(shell, Shell::Call(_)));
        self.tally.crashes_in_nested += u64::from(nested);
        let queues = Queues::new(self.mark_ms());
        self.shells = Shells { opened: self.shells.opened, queues, ..Shells::default() };
        self.evidence.drivers.express.clear();
        self.evidence.drivers.offered.clear();
    }
}

impl Shell {
    fn next_due_ms(&self) -> Option<i64> {
        match self {
            Self::Run(run) => run.driver.next_due_ms(),
            Self::Abort(aborting) => aborting.abort.next_due_ms(),
            Self::Call(call) => call.driver.next_due_ms(),
            Self::Cancel(cancelling) => cancelling.cancel.next_due_ms(),
        }
    }
}
