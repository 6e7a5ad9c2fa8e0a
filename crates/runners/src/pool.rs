//! The processes of one function, and the calls that wait for them.
//!
//! Processes come for calls, calls do not go to processes: a call that waits goes to whichever asks first.
//! The one that was used last is used next, so that the others can go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::call::{Call, Ended, Outcome};
use crate::claim::Claim;
use crate::error::Error;
use crate::function::Function;
use crate::host::{Shared, Standing};
use crate::lock::lock;
use crate::observer::Event;
use crate::worker;

/// A call. When its caller goes away, `reply` is closed.
pub(crate) struct Job {
    pub(crate) call: Call,
    /// Asked for by the process that takes it.
    pub(crate) claim: Claim,
    pub(crate) reply: oneshot::Sender<Ended>,
}

impl Job {
    pub(crate) fn end(self, ended: impl Into<Ended>) {
        // Whoever asked may have gone.
        let _ = self.reply.send(ended.into());
    }
}

pub(crate) struct Pool {
    pub(crate) function: Arc<Function>,
    pub(crate) shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// The one that asked last is at the end.
    idle: Vec<(u64, oneshot::Sender<Job>)>,
    /// Processes that are there or about to be.
    workers: u32,
    /// Of these, those that are expected to ask for work any moment.
    coming: u32,
    next_id: u64,
    /// No new ones are wanted, and those there may go when they are done.
    retired: bool,
    pause: Pause,
}

/// Starts that fail one after the other are further and further apart.
#[derive(Default)]
struct Pause {
    failures: u32,
    /// When the last failure was that counts.
    at: Option<Instant>,
    until: Option<Instant>,
    /// Somebody will look again when it is over.
    watched: bool,
}

/// What a process gets that asks for work.
pub(crate) enum Work {
    Job(Box<Job>),
    /// Wait for it; if the sender goes away, go too.
    Wait(oneshot::Receiver<Job>),
    Leave,
}

impl Pool {
    pub(crate) fn new(function: Arc<Function>, shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { function, shared, state: Mutex::default() })
    }

    pub(crate) fn submit(self: &Arc<Self>, job: Job) {
        let mut state = lock(&self.state);
        let mut job = job;
        while let Some((_, worker)) = state.idle.pop() {
            match worker.send(job) {
                Ok(()) => return,
                Err(back) => job = back,
            }
        }
        state.queue.retain(|waiting| !waiting.reply.is_closed());
        if self.most() == 0 || state.queue.len() >= self.shared.options.waiting_max {
            drop(state);
            return job.end(Outcome::Throttled);
        }
        state.queue.push_back(job);
        self.provide(&mut state);
    }

    /// Starts the processes that are to be there without calls.
    pub(crate) fn fill(self: &Arc<Self>) {
        self.provide(&mut lock(&self.state));
    }

    /// Whether an idle process stays, however long it has nothing to do.
    pub(crate) fn keeps(&self) -> bool {
        let state = lock(&self.state);
        !state.retired && state.workers <= self.function.instances_min
    }

    /// A process asks for work; `expected` if it was counted among those that come.
    pub(crate) fn ask(&self, id: u64, expected: bool) -> Work {
        let mut state = lock(&self.state);
        state.coming -= u32::from(expected);
        while let Some(job) = state.queue.pop_front() {
            if !job.reply.is_closed() {
                return Work::Job(Box::new(job));
            }
        }
        if state.retired {
            return Work::Leave;
        }
        let (offer, work) = oneshot::channel();
        state.idle.push((id, offer));
        Work::Wait(work)
    }

    /// A process that asked is alive, so the code can start.
    pub(crate) fn started(&self) {
        lock(&self.state).pause = Pause::default();
    }

    /// A process has answered and will soon ask again.
    pub(crate) fn expect(&self) {
        lock(&self.state).coming += 1;
    }

    /// It takes longer than was thought.
    pub(crate) fn give_up_on(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.coming -= 1;
        self.provide(&mut state);
    }

    /// An idle process wants to go; not if it has just been given work.
    pub(crate) fn withdraw(&self, id: u64) -> bool {
        let mut state = lock(&self.state);
        let before = state.idle.len();
        state.idle.retain(|(idle, _)| *idle != id);
        state.idle.len() < before
    }

    /// Work that its process never saw.
    pub(crate) fn give_back(self: &Arc<Self>, job: Job) {
        let mut state = lock(&self.state);
        state.queue.push_front(job);
        self.provide(&mut state);
    }

    /// A process is gone.
    pub(crate) fn left(self: &Arc<Self>, id: u64, expected: bool) {
        let mut state = lock(&self.state);
        state.idle.retain(|(idle, _)| *idle != id);
        state.coming -= u32::from(expected);
        state.workers -= 1;
        self.provide(&mut state);
        drop(state);
        self.shared.gone.notify_waiters();
    }

    /// A process that began at `begun` could not start. The call it was started for fails with it.
    pub(crate) fn failed_to_start(
        &self,
        begun: Instant,
        error: impl FnOnce(&str) -> (Error, Vec<String>),
    ) {
        let mut state = lock(&self.state);
        let options = &self.shared.options;
        // Those that were started together fail together.
        if state.pause.at.is_none_or(|at| begun >= at) {
            let pause_ms = options.pause_ms_min << state.pause.failures.min(20);
            state.pause.failures += 1;
            state.pause.at = Some(Instant::now());
            let pause = Duration::from_millis(pause_ms.min(options.pause_ms_max));
            state.pause.until = Some(Instant::now() + pause);
        }
        while let Some(job) = state.queue.pop_front() {
            if !job.reply.is_closed() {
                drop(state);
                let (error, log) = error(&job.call.request_id);
                let outcome = Outcome::Failed { error: Box::new(error) };
                return job.end(Ended { log, ..outcome.into() });
            }
        }
        drop(state);
        // It was started without a call, so no caller would learn of it.
        let (error, _) = error("-");
        let why = error.payload["errorMessage"].as_str().unwrap_or(&error.error_type);
        let why = why.trim_start_matches("RequestId: - Error: ");
        let (function, what) = (self.function.name.as_str().into(), format!("cannot start: {why}"));
        self.shared.events.send(Event::Misbehaved { function, pid: 0, what });
    }

    /// Ends idle processes and takes the queued calls; running calls continue.
    pub(crate) fn retire(&self) -> Vec<Job> {
        let mut state = lock(&self.state);
        state.retired = true;
        state.idle.clear();
        state.queue.drain(..).collect()
    }

    pub(crate) fn standing(&self) -> Standing {
        let state = lock(&self.state);
        let waiting = state.queue.iter().filter(|job| !job.reply.is_closed()).count();
        Standing { waiting, workers: state.workers as usize, idle: state.idle.len() }
    }

    fn most(&self) -> u32 {
        self.function.concurrency_max.unwrap_or(self.shared.options.concurrency_default)
    }

    /// Starts a process for each call that has none on its way, and the minimum number of instances.
    fn provide(self: &Arc<Self>, state: &mut State) {
        if self.shared.is_closed() {
            return state.queue.drain(..).for_each(|job| job.end(Outcome::Cancelled));
        }
        while self.wants_more(state) && state.workers < self.most() {
            if let Some(until) = state.pause.until.filter(|until| *until > Instant::now()) {
                return self.watch(state, until);
            }
            state.workers += 1;
            state.coming += 1;
            let id = state.next_id;
            state.next_id += 1;
            self.shared.runtime.spawn(worker::run(self.clone(), id));
        }
    }

    fn wants_more(&self, state: &State) -> bool {
        let too_few = !state.retired && state.workers < self.function.instances_min;
        too_few || state.queue.len() > state.coming as usize
    }

    fn watch(self: &Arc<Self>, state: &mut State, until: Instant) {
        if std::mem::replace(&mut state.pause.watched, true) {
            return;
        }
        let pool = self.clone();
        self.shared.runtime.spawn(async move {
            tokio::time::sleep_until(until).await;
            let mut state = lock(&pool.state);
            state.pause.watched = false;
            pool.provide(&mut state);
        });
    }
}
