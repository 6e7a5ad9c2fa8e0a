//! A small world to run invocations in: one thread, a virtual clock, scripted functions.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_retry::{Class, Delay, Policy, Rule};
use everstep_store::{MemoryStore, Store};

use crate::id::{AttemptId, InvocationId};
use crate::invocation::{Invocation, Source, SourceKind};
use crate::message::{Acceptance, Accepted, Finished, Message, Mode};
use crate::shard::Shard;
use crate::shared::{Parts, Shared};
use crate::{
    Attempt, Claim, Delivered, Delivery, Destinations, Done, Error, Failure, Filter,
    FunctionSettings, Functions, Observer, Outcome, Settings, Shown, Terms, reader,
};
use everstep_shards::{Clock, Mailbox};

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a function answers an attempt; `None` if it keeps running.
pub(super) type Behaviour = Arc<dyn Fn(&Attempt) -> Option<Outcome> + Send + Sync>;

pub(super) type Inspector = Box<dyn Fn(&Attempt) + Send>;
pub(super) type Auditor = Arc<dyn Fn(&Attempt, &crate::Result<()>) + Send + Sync>;

/// A line that an attempt writes when it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) attempt: Attempt,
    pub(super) at_ms: i64,
}

#[derive(Default)]
pub(super) struct Script {
    functions: Mutex<HashMap<String, (Arc<FunctionSettings>, Behaviour)>>,
    /// What independent witnesses have seen.
    pub(super) lines: Mutex<Vec<Line>>,
    /// Attempts that no worker has taken yet.
    pub(super) waiting: Mutex<VecDeque<(Attempt, Claim, Done)>>,
    pub(super) running: Mutex<VecDeque<(Attempt, Done)>>,
    pub(super) killed: Mutex<Vec<AttemptId>>,
    pub(super) now_ms: AtomicI64,
    pub(super) running_most: AtomicU64,
    /// Looks at each start.
    pub(super) inspector: Mutex<Option<Inspector>>,
    /// Looks at each receipt.
    pub(super) auditor: Mutex<Option<Auditor>>,
}

impl Functions for Script {
    fn function(&self, name: &str) -> Option<Arc<FunctionSettings>> {
        locked(&self.functions).get(name).map(|(settings, _)| settings.clone())
    }

    fn start(&self, attempt: Attempt, claim: Claim, done: Done) {
        locked(&self.waiting).push_back((attempt, claim, done));
    }

    fn kill(&self, attempt: AttemptId) {
        locked(&self.killed).push(attempt);
    }
}

impl Script {
    /// A worker is ready for one of the attempts that wait for one.
    pub(super) fn take_one(self: &Arc<Self>, which: usize) -> bool {
        let mut waiting = locked(&self.waiting);
        let place = which % waiting.len().max(1);
        let Some((attempt, claim, done)) = waiting.remove(place) else { return false };
        drop(waiting);
        let script = self.clone();
        claim(Box::new(move |granted| {
            if granted.is_ok() {
                script.run(attempt, done);
            }
        }));
        true
    }

    fn run(&self, attempt: Attempt, done: Done) {
        if let Some(inspect) = &*locked(&self.inspector) {
            inspect(&attempt);
        }
        let at_ms = self.now_ms.load(Ordering::Relaxed);
        locked(&self.lines).push(Line { attempt: attempt.clone(), at_ms });
        let mut running = locked(&self.running);
        running.push_back((attempt, done));
        self.running_most.fetch_max(running.len() as u64, Ordering::Relaxed);
    }
}

impl Clock for Script {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }
}

impl Script {
    pub(super) fn set(&self, name: &str, settings: FunctionSettings, behaviour: Behaviour) {
        locked(&self.functions).insert(name.to_owned(), (Arc::new(settings), behaviour));
    }

    pub(super) fn remove(&self, name: &str) {
        locked(&self.functions).remove(name);
    }

    /// Lets one of the attempts that run end, if one wants to.
    pub(super) fn answer_one(&self, which: usize) -> bool {
        let mut running = locked(&self.running);
        for offset in 0..running.len() {
            let place = (which + offset) % running.len();
            let attempt = &running[place].0;
            let behaviour = locked(&self.functions)[&attempt.function].1.clone();
            if let Some(outcome) = behaviour(attempt) {
                let (attempt, done) = running.remove(place).expect("it is there");
                drop(running);
                let auditor = locked(&self.auditor).clone();
                let receipt =
                    move |answer| auditor.iter().for_each(|audit| audit(&attempt, &answer));
                done(outcome, Box::new(receipt));
                return true;
            }
        }
        false
    }

    pub(super) fn answer_all(&self) -> bool {
        let mut any = false;
        while self.answer_one(0) {
            any = true;
        }
        any
    }

    /// Moments at which a function was started, in seconds.
    pub(super) fn starts(&self, function: &str) -> Vec<f64> {
        let lines = locked(&self.lines);
        let of_it = lines.iter().filter(|line| line.attempt.function == function);
        of_it.map(|line| line.at_ms as f64 / 1000.0).collect()
    }
}

/// Everything that is neither a function nor a session.
#[derive(Default)]
pub(super) struct Outside {
    pub(super) deliveries: Mutex<Vec<Delivery>>,
    pub(super) waiting: Mutex<VecDeque<Delivered>>,
    pub(super) down: Mutex<bool>,
}

impl Destinations for Outside {
    fn deliver(&self, delivery: Delivery, done: Delivered) {
        locked(&self.deliveries).push(delivery);
        locked(&self.waiting).push_back(done);
    }

    fn record_bytes_max(&self, target: &crate::Target) -> Option<usize> {
        (target.to_string() == "queue:narrow").then_some(1000)
    }
}

impl Outside {
    pub(super) fn answer_one(&self) -> bool {
        let Some(done) = locked(&self.waiting).pop_front() else { return false };
        done(if *locked(&self.down) { Err("it is down".to_owned()) } else { Ok(()) });
        true
    }
}

#[derive(Default)]
pub(super) struct Post(pub(super) Mutex<VecDeque<Message>>);

impl Mailbox<Message> for Post {
    fn post(&self, message: Message) {
        locked(&self.0).push_back(message);
    }
}

#[derive(Default)]
pub(super) struct Notes(pub(super) Mutex<Vec<String>>);

impl Observer for Notes {
    fn stale_result(&self, _: InvocationId, _: AttemptId) {
        locked(&self.0).push("StaleResult".to_owned());
    }

    fn delivery_failed(&self, _: InvocationId, target: &crate::Target, why: &str) {
        locked(&self.0).push(format!("{target}: {why}"));
    }

    fn stuck(&self, id: InvocationId, error: &Error) {
        panic!("{id} is stuck: {error}");
    }

    fn failed(&self, error: &Error) {
        locked(&self.0).push(format!("failed: {error}"));
    }
}

pub(super) struct Harness {
    pub(super) store: Arc<dyn Store>,
    pub(super) script: Arc<Script>,
    pub(super) outside: Arc<Outside>,
    pub(super) notes: Arc<Notes>,
    pub(super) post: Arc<Post>,
    pub(super) shards: Vec<Shard>,
    pub(super) settings: Settings,
    drawn: u64,
}

/// 2019-11-14T18:16:05.568Z, as in AWS's examples.
pub(super) const START_MS: i64 = 1_573_755_365_568;

impl Harness {
    pub(super) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new(4)))
    }

    pub(super) fn on(store: Arc<dyn Store>) -> Self {
        let mut harness = Self {
            store,
            script: Arc::default(),
            outside: Arc::default(),
            notes: Arc::default(),
            post: Arc::default(),
            shards: Vec::new(),
            settings: Settings::default(),
            drawn: 0,
        };
        harness.set_now(START_MS);
        harness.open();
        harness
    }

    pub(super) fn parts(&self) -> Parts {
        Parts {
            store: self.store.clone(),
            functions: self.script.clone(),
            destinations: self.outside.clone(),
            observer: self.notes.clone(),
            clock: self.script.clone(),
            settings: self.settings.clone(),
        }
    }

    /// Begins a new life: of the old one only the store is left.
    pub(super) fn open(&mut self) {
        self.shards.clear();
        self.post = Arc::default();
        locked(&self.script.waiting).clear();
        locked(&self.script.running).clear();
        locked(&self.outside.waiting).clear();
        let shared = Arc::new(Shared::new(self.parts(), self.post.clone()));
        self.drawn += 1;
        let (seed, now_ms) = (self.drawn, self.now_ms());
        let open = |number| {
            let shard = everstep_store::Shard(number);
            Shard::open(shard, shared.clone(), seed, now_ms).expect("it opens")
        };
        self.shards = (0..self.store.shards()).map(open).collect();
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.script.now_ms.load(Ordering::Relaxed)
    }

    pub(super) fn set_now(&self, now_ms: i64) {
        self.script.now_ms.store(now_ms, Ordering::Relaxed);
    }

    pub(super) fn handle(&mut self, message: Message) {
        let shard = message.id().shard(self.store.shards());
        let now_ms = self.now_ms();
        self.shards[usize::from(shard.0)].handle(message, now_ms);
    }

    pub(super) fn handle_one(&mut self) -> bool {
        let message = locked(&self.post.0).pop_front();
        message.map(|message| self.handle(message)).is_some()
    }

    /// What is due is begun, as far as that needs no worker.
    pub(super) fn wake(&mut self) {
        let now_ms = self.now_ms();
        for shard in &mut self.shards {
            shard.tick(now_ms);
        }
        while self.handle_one() {}
    }

    /// Lets everything happen that can happen now; when there will be more to do.
    pub(super) fn settle(&mut self) -> Option<i64> {
        let mut quiet = 0;
        loop {
            let now_ms = self.now_ms();
            let next = self.shards.iter_mut().filter_map(|shard| shard.tick(now_ms)).min();
            let mut busy = false;
            while self.handle_one() {
                busy = true;
            }
            while self.script.take_one(0) {
                busy = true;
            }
            busy |= self.script.answer_all();
            while self.outside.answer_one() {
                busy = true;
            }
            quiet = if busy || next.is_some_and(|next| next <= now_ms) { 0 } else { quiet + 1 };
            if quiet == 2 {
                return next;
            }
        }
    }

    /// Lets so many seconds pass.
    pub(super) fn pass(&mut self, seconds: f64) {
        // Tests wait for whole milliseconds.
        let until_ms = self.now_ms() + (seconds * 1000.0) as i64;
        while let Some(next) = self.settle()
            && next <= until_ms
        {
            self.set_now(next);
        }
        self.set_now(until_ms);
        self.settle();
    }

    pub(super) fn acceptance(&mut self, function: &str, payload: &str) -> Acceptance {
        self.drawn += 1;
        Acceptance {
            id: InvocationId::drawn([self.drawn.rotate_right(13), self.drawn]),
            function: function.to_owned(),
            payload: payload.as_bytes().to_vec(),
            source: Source::new(SourceKind::Invoke, function),
            key: None,
            mode: Mode::Asynchronous,
            session: None,
            handling: None,
        }
    }

    pub(super) fn send(
        &mut self,
        acceptance: Acceptance,
    ) -> mpsc::Receiver<crate::Result<Accepted>> {
        let (sender, receiver) = mpsc::channel();
        let reply = Box::new(move |answer| drop(sender.send(answer)));
        self.handle(Message::Accept { acceptance: Box::new(acceptance), reply, watcher: None });
        receiver
    }

    /// Accepts an event at the start of the tests' time, after which seconds count.
    pub(super) fn accept(&mut self, function: &str, payload: &str) -> InvocationId {
        let acceptance = self.acceptance(function, payload);
        let answer = self.send(acceptance);
        answer.try_recv().expect("an answer").expect("accepted").id
    }

    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        message: impl FnOnce(crate::Reply<T>) -> Message,
    ) -> mpsc::Receiver<crate::Result<T>> {
        let (sender, receiver) = mpsc::channel();
        self.handle(message(Box::new(move |answer| drop(sender.send(answer)))));
        receiver
    }

    pub(super) fn watch(&mut self, id: InvocationId) -> mpsc::Receiver<crate::Result<Finished>> {
        self.ask(|reply| Message::Watch { id, reply })
    }

    pub(super) fn show(&self, id: InvocationId) -> Shown {
        reader::show(&*self.store, id).expect("readable").expect("it is there")
    }

    pub(super) fn invocation(&self, id: InvocationId) -> Invocation {
        self.show(id).invocation
    }

    pub(super) fn all(&self, filter: &Filter) -> Vec<Invocation> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = reader::list(&*self.store, filter, after, 100).expect("readable");
            all.extend(page.invocations);
            match page.next {
                Some(next) => after = Some(next),
                None => return all,
            }
        }
    }

    /// The state's name and how many attempts there were.
    pub(super) fn stands(&self, id: InvocationId) -> (&'static str, u32) {
        let invocation = self.invocation(id);
        (invocation.state.name(), invocation.attempts.started())
    }

    /// Seconds since the tests began at which a function was started.
    pub(super) fn starts(&self, function: &str) -> Vec<f64> {
        let first = START_MS as f64 / 1000.0;
        let round = |at: f64| ((at - first) * 1000.0).round() / 1000.0;
        self.script.starts(function).into_iter().map(round).collect()
    }
}

pub(super) fn policy(retries_max: Option<u32>, delay: Delay) -> Policy {
    let rule = Rule { errors: vec!["Error.ALL".to_owned()], retries_max, delay };
    Policy { rules: vec![rule], non_retryable: vec!["Never".to_owned()] }
}

pub(super) fn settings(name: &str, policy: Policy) -> FunctionSettings {
    let arn = format!("arn:aws:lambda:us-east-2:123456789012:function:{name}");
    FunctionSettings {
        version: "1".to_owned(),
        concurrency: 10,
        throttles: true,
        failures_answer: true,
        event_age_max_ms: None,
        terms: Terms { arn, policy, ..Terms::default() },
    }
}

pub(super) fn fixed(retries_max: u32, seconds: u64) -> Policy {
    policy(Some(retries_max), Delay::Fixed { ms: seconds * 1000 })
}

pub(super) fn success(output: &str) -> Option<Outcome> {
    let (output, log) = (output.as_bytes().to_vec(), Vec::new());
    Some(Outcome::Succeeded { output, worker_pid: Some(7), log })
}

pub(super) fn error(name: &str) -> Option<Outcome> {
    let failure = Failure {
        stack: vec!["line 1".to_owned()],
        ..Failure::new(name, Class::User, &format!("{name} happened"))
    };
    let payload = format!("{{\"errorMessage\":\"{name} happened\",\"errorType\":\"{name}\"}}");
    Some(Outcome::Failed { failure, payload: Some(payload.into_bytes()), worker_pid: Some(7) })
}

/// Fails its first attempts, then succeeds.
pub(super) fn fails(first: u32) -> Behaviour {
    Arc::new(move |attempt| if attempt.n <= first { error("E") } else { success("\"done\"") })
}

pub(super) fn holds() -> Behaviour {
    Arc::new(|_| None)
}
