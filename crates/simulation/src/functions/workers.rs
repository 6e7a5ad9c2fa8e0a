//! Who runs functions, and the witness of it: every attempt that reached code, and every answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_invocations::{
    Attempt, AttemptId, Claim, Done, Error, FunctionSettings, Functions, InvocationId, Outcome,
};

use crate::Fault;
use crate::disk::Disk;

/// Takes what the engine asks for; the world looks at it when its turn comes.
pub(crate) struct Workers {
    fault: Option<Fault>,
    disk: Arc<Disk>,
    functions: Mutex<BTreeMap<String, Arc<FunctionSettings>>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    unseen: Vec<Called>,
    /// Attempts that no worker has taken yet.
    waiting: BTreeMap<u64, Waiting>,
    /// Attempts that code has and has not answered.
    running: BTreeMap<u64, (AttemptId, Done)>,
    started: u64,
    receipts: Vec<Receipt>,
    /// The attempt before, for a fault.
    earlier: BTreeMap<InvocationId, Attempt>,
}

/// An attempt without a worker.
struct Waiting {
    attempt: Attempt,
    claim: Claim,
    done: Done,
}

pub(crate) enum Called {
    /// The engine wants a worker for the attempt of this number.
    Wanted(u64),
    /// With its number among all, and the number of the last batch that was durable.
    Start(Box<Attempt>, u64, u64),
    Kill(AttemptId),
}

/// The engine has said whether an answer counts, when this batch was the last that was durable.
pub(crate) struct Receipt {
    pub(crate) attempt: AttemptId,
    pub(crate) answer: u64,
    pub(crate) counts: Result<(), Error>,
    pub(crate) durable_to: u64,
}

impl Workers {
    pub(crate) fn new(fault: Option<Fault>, disk: Arc<Disk>) -> Self {
        Self { fault, disk, functions: Mutex::default(), state: Mutex::default() }
    }

    pub(crate) fn set(&self, name: &str, settings: Option<FunctionSettings>) {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        match settings {
            Some(settings) => functions.insert(name.to_owned(), Arc::new(settings)),
            None => functions.remove(name),
        };
    }

    pub(crate) fn take_unseen(&self) -> Vec<Called> {
        std::mem::take(&mut self.state().unseen)
    }

    pub(crate) fn take_receipts(&self) -> Vec<Receipt> {
        std::mem::take(&mut self.state().receipts)
    }

    pub(crate) fn take_running(&self, number: u64) -> Option<(AttemptId, Done)> {
        self.state().running.remove(&number)
    }

    /// The numbers of the attempts that code has.
    pub(crate) fn running(&self) -> Vec<(u64, AttemptId)> {
        self.state().running.iter().map(|(number, (attempt, _))| (*number, *attempt)).collect()
    }

    /// The numbers of the attempts that wait for a worker.
    pub(crate) fn waiting(&self) -> Vec<u64> {
        self.state().waiting.keys().copied().collect()
    }

    /// No worker comes for an attempt: with an outcome, or silently.
    pub(crate) fn drop_waiting(&self, number: u64, outcome: Option<Outcome>) {
        let waiting = self.state().waiting.remove(&number);
        if let (Some(Waiting { done, .. }), Some(outcome)) = (waiting, outcome) {
            done(outcome, Box::new(|_| {}));
        }
    }

    /// An attempt is not wanted any more.
    pub(crate) fn forget_waiting(&self, attempt: AttemptId) {
        let mut state = self.state();
        let of_it = |(_, waiting): &(&u64, &Waiting)| waiting.attempt.id == attempt;
        let numbers: Vec<u64> = state.waiting.iter().filter(of_it).map(|(n, _)| *n).collect();
        let dropped: Vec<_> = numbers.iter().filter_map(|n| state.waiting.remove(n)).collect();
        drop(state);
        drop(dropped);
    }

    /// A worker is ready to take an attempt. It gets it when the engine says so, unless the worker is gone by then.
    pub(crate) fn take_waiting(self: &Arc<Self>, number: u64, stays: bool) -> Option<AttemptId> {
        let Waiting { attempt, claim, done } = self.state().waiting.remove(&number)?;
        let (workers, id) = (self.clone(), attempt.id);
        claim(Box::new(move |granted| match granted {
            Ok(()) if stays => workers.run(attempt, number, done),
            Ok(()) => done(Outcome::Throttled, Box::new(|_| {})),
            Err(_) => drop(done),
        }));
        Some(id)
    }

    fn run(&self, attempt: Attempt, number: u64, done: Done) {
        let durable_to = self.disk.durable_to();
        let mut state = self.state();
        state.running.insert(number, (attempt.id, done));
        let earlier = state.earlier.insert(attempt.invocation, attempt.clone());
        state.unseen.push(Called::Start(Box::new(attempt), number, durable_to));
        if let (Some(Fault::RunsEarlierAttempts), Some(earlier)) = (self.fault, earlier) {
            state.unseen.push(Called::Start(Box::new(earlier), number, durable_to));
        }
    }

    pub(crate) fn receipt(
        self: &Arc<Self>,
        attempt: AttemptId,
        answer: u64,
    ) -> everstep_invocations::Receipt {
        let workers = self.clone();
        Box::new(move |counts| {
            let durable_to = workers.disk.durable_to();
            workers.state().receipts.push(Receipt { attempt, answer, counts, durable_to });
        })
    }

    /// The engine has died, and with it all that ran for it.
    pub(crate) fn die(&self) {
        let running = std::mem::take(&mut self.state().running);
        let waiting = std::mem::take(&mut self.state().waiting);
        drop((running, waiting));
        let mut state = self.state();
        state.unseen.clear();
        state.receipts.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Functions for Workers {
    fn function(&self, name: &str) -> Option<Arc<FunctionSettings>> {
        let functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let known = functions.get(name).cloned()?;
        if self.fault == Some(Fault::LendsSlots) {
            return Some(Arc::new(FunctionSettings {
                concurrency: known.concurrency + 3,
                ..(*known).clone()
            }));
        }
        Some(known)
    }

    fn start(&self, attempt: Attempt, claim: Claim, done: Done) {
        let claim = if self.fault == Some(Fault::ClaimsWithoutAWorker) {
            claim(Box::new(|_| {}));
            Box::new(|receipt: everstep_invocations::Receipt| receipt(Ok(())))
        } else {
            claim
        };
        let mut state = self.state();
        state.started += 1;
        let number = state.started;
        state.waiting.insert(number, Waiting { attempt, claim, done });
        state.unseen.push(Called::Wanted(number));
    }

    fn kill(&self, attempt: AttemptId) {
        self.state().unseen.push(Called::Kill(attempt));
    }
}

#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) tried: BTreeMap<AttemptId, Vec<Tried>>,
    pub(crate) starts: u64,
    /// How often a worker was ready to take an attempt.
    pub(crate) taken: BTreeMap<AttemptId, u32>,
}

/// An attempt as its worker knows it.
pub(crate) struct Tried {
    pub(crate) number: u64,
    pub(crate) invocation: InvocationId,
    /// Which one of that id.
    pub(crate) begun: u64,
    pub(crate) n: u32,
    pub(crate) function: String,
    /// The worker has given it up or answered.
    pub(crate) over: bool,
    pub(crate) answers: Vec<Given>,
}

/// What a worker has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) answer: u64,
    pub(crate) fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is not known, or not yet.
    Open,
    Counted,
    Refused,
}

impl Witness {
    pub(crate) fn all(&self) -> impl Iterator<Item = (AttemptId, &Tried)> {
        self.tried.iter().flat_map(|(id, tried)| tried.iter().map(|tried| (*id, tried)))
    }

    pub(crate) fn numbered(&mut self, number: u64) -> Option<&mut Tried> {
        self.tried.values_mut().flatten().find(|tried| tried.number == number)
    }
}
