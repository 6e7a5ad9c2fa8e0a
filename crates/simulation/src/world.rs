//! The world: what can happen next, and the dice that choose.

use std::sync::{Arc, Mutex, PoisonError};

use everstep_history::{Attempt, Event, Failure, FailureStage, Payload};
use everstep_runtime::{
    Error, ExecutionId, Message, Parts, Report, Revision, Settings, Shard, Silent, Start, Task,
    World as Runtime,
};
use everstep_store::Shard as StoreShard;
use serde_json::json;

use crate::checkers::{self, Violation};
use crate::dice::Dice;
use crate::disk::{Disk, Habits};
use crate::evidence::{Answer, Ask, Evidence, Fact, Machine, Reply, Request, Say, Subject};
use crate::ledger::{Ledger, Moment};
use crate::log::Log;
use crate::post::Post;
use crate::tasks::{Asked, Fate, Given, Runner, Way, Witness, way};
use crate::{Fault, Options, Tally, workload};

/// 2026, a Thursday.
const BEGIN_MS: i64 = 1_767_225_600_000;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const SUBJECTS_MAX: usize = 7;

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) evidence: Evidence,
    pub(crate) log: Log,
    pub(crate) tally: Tally,
    fault: Option<Fault>,
    temper: Temper,
    post: Arc<Post>,
    runner: Arc<Runner>,
    replies: Arc<Mutex<Vec<(u64, Reply)>>>,
    /// Requests on their way, each with the moment from which it can arrive.
    flights: Vec<(i64, Request)>,
    requests: u64,
    answers: u64,
    /// Time that never goes back; the engine's clock is this and an offset.
    true_ms: i64,
    offset_ms: i64,
    /// The disk does nothing for so many actions.
    withheld: usize,
    calm: bool,
}

/// How rough a run is.
struct Temper {
    /// Of a thousand actions.
    crashes: usize,
    disk_failures: usize,
    clock_jumps: usize,
    /// Of a hundred tasks.
    task_failures: usize,
}

type Outcome<T = ()> = Result<T, Box<Violation>>;

impl World {
    pub(crate) fn new(seed: u64, options: &Options) -> Outcome<Self> {
        let mut dice = Dice::new(seed);
        let shard_count = 1 + u16::try_from(dice.below(4)).unwrap_or(0);
        let habits = Habits { ahead: dice.pick(&[0, 0, 50, 100]), at_once: dice.percent(10) };
        let disk = Arc::new(Disk::new(shard_count, dice.draw(), habits, options.fault));
        let settings = settings(&mut dice);
        let temper = Temper {
            crashes: dice.pick(&[0, 10, 10, 30]),
            disk_failures: dice.pick(&[0, 0, 5]),
            clock_jumps: dice.pick(&[0, 0, 10]),
            task_failures: dice.pick(&[10, 35, 60]),
        };
        let (post, runner) =
            (Arc::new(Post::default()), Arc::new(Runner::new(options.fault, disk.clone())));
        let runtime = runtime(&disk, &runner, &settings, &post);
        let machines = machines(&mut dice, &runtime);
        disk.settle(usize::MAX);
        let evidence = Evidence {
            now_ms: BEGIN_MS,
            latest_ms: BEGIN_MS,
            generation: 0,
            settings,
            shard_count,
            disk,
            runtime,
            shards: Vec::new(),
            next_ms: Vec::new(),
            machines,
            subjects: Vec::new(),
            ledger: Ledger::default(),
            witness: Witness::default(),
            signs: Default::default(),
            facts: Vec::new(),
            outstanding: Default::default(),
        };
        let mut world = Self {
            dice,
            evidence,
            log: Log::new(options.record),
            tally: Tally::default(),
            fault: options.fault,
            temper,
            post,
            runner,
            replies: Arc::default(),
            flights: Vec::new(),
            requests: 0,
            answers: 0,
            true_ms: BEGIN_MS,
            offset_ms: 0,
            withheld: 0,
            calm: false,
        };
        world.open()?;
        Ok(world)
    }

    /// A rough time, and then a calm one in which everything must come to its end.
    pub(crate) fn run(&mut self, actions: usize) -> Outcome {
        let long = self.evidence.machines.iter().any(|machine| machine.long);
        // Those need time to become long.
        let actions = if long { actions * 8 } else { actions };
        for _ in 0..actions {
            self.tally.steps += 1;
            self.act()?;
        }
        self.calm_down()?;
        checkers::end(&self.evidence)
    }

    fn act(&mut self) -> Outcome {
        if self.evidence.runtime.failure().is_some() && self.dice.percent(30) {
            return self.crash();
        }
        match self.dice.below(1000) {
            0..=379 => self.deliver(),
            380..=559 => self.settle(),
            560..=709 => self.pass_time(),
            710..=869 => {
                let shard = self.dice.below(self.evidence.shards.len());
                self.tick(shard)
            }
            870..=939 => self.ask(),
            940..=949 => {
                self.withheld = self.dice.below(40);
                Ok(())
            }
            950..=959 => self.rest(),
            _ => self.go_wrong(),
        }
    }

    fn go_wrong(&mut self) -> Outcome {
        // One action in 25 comes here.
        let roll = self.dice.below(40);
        let Temper { crashes, disk_failures, clock_jumps, .. } = self.temper;
        if roll < crashes {
            self.crash()
        } else if roll < crashes + disk_failures {
            self.log.line(None, || "the disk fails".to_owned());
            self.evidence.disk.fail();
            self.absorb()
        } else if roll < crashes + disk_failures + clock_jumps {
            let jump = match self.dice.below(3) {
                0 => self.dice.between(HOUR_MS, 12 * HOUR_MS),
                _ => -self.dice.between(1000, 15 * MINUTE_MS),
            };
            self.offset_ms += jump;
            self.set_clock();
            self.log.line(None, || format!("the clock is set by {jump} ms"));
            Ok(())
        } else {
            Ok(())
        }
    }

    fn set_clock(&mut self) {
        let before = self.evidence.now_ms;
        let now = self.true_ms + self.offset_ms;
        self.evidence.now_ms = now;
        self.evidence.latest_ms = self.evidence.latest_ms.max(now);
        if now < before {
            // What is read from the store after that begins to wait for signs of life then.
            self.evidence.signs.values_mut().for_each(|sign| *sign = now.min(*sign));
        }
    }

    /// What the engine is told the time is.
    fn told_ms(&self) -> i64 {
        let lie = if self.fault == Some(Fault::ClockLies) { HOUR_MS } else { 0 };
        self.evidence.now_ms + lie
    }

    // --- the engine ---

    fn open(&mut self) -> Outcome {
        let seed = self.dice.draw();
        for number in 0..self.evidence.shard_count {
            let runtime = self.evidence.runtime.clone();
            let shard = Shard::open(StoreShard(number), runtime, seed, self.told_ms())
                .map_err(|error| fold_violation(None, format!("shard {number}: {error}")))?;
            self.evidence.shards.push(shard);
        }
        self.evidence.next_ms = vec![Some(self.evidence.now_ms); self.evidence.shards.len()];
        self.absorb()
    }

    fn crash(&mut self) -> Outcome {
        self.tally.crashes += 1;
        checkers::before_crash(&mut self.evidence)?;
        self.evidence.shards.clear();
        self.evidence.disk.crash();
        let durable_to = self.evidence.durable_to();
        self.log.line(None, || format!("crash: what is left ends with batch {durable_to}"));
        self.lose_requests();
        self.true_ms +=
            if self.dice.percent(50) { 0 } else { self.dice.between(0, 20 * MINUTE_MS) };
        self.set_clock();
        self.reopen(durable_to)?;
        checkers::after_crash(&self.evidence)
    }

    fn reopen(&mut self, durable_to: u64) -> Outcome {
        self.runner.take_unseen();
        self.post = Arc::default();
        let evidence = &mut self.evidence;
        evidence.generation += 1;
        evidence.runtime = runtime(&evidence.disk, &self.runner, &evidence.settings, &self.post);
        for machine in &mut evidence.machines {
            let revision = machine.prepared.revision.clone();
            machine.prepared = prepare(&evidence.runtime, revision);
        }
        let Evidence { ledger, subjects, machines, signs, now_ms, .. } = evidence;
        ledger.crash(durable_to, |id| {
            let subject = subjects.iter().find(|subject| subject.id == id)?;
            Some(&machines[subject.machine].prepared)
        });
        for life in ledger.present() {
            for (attempt, _) in life.execution.heartbeats() {
                signs.insert((life.id, attempt), *now_ms);
            }
        }
        self.open()
    }

    /// What the engine had taken is not answered any more, and some of what is on its way is lost.
    fn lose_requests(&mut self) {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let outstanding = std::mem::take(&mut self.evidence.outstanding);
        for request in outstanding.into_values() {
            self.unanswered(request);
        }
        let flights = std::mem::take(&mut self.flights);
        for (due, request) in flights {
            if !self.calm && self.dice.percent(15) {
                self.unanswered(request);
            } else {
                self.flights.push((due, request));
            }
        }
    }

    /// A client that gets no answer tries again, mostly.
    fn unanswered(&mut self, request: Request) {
        let again = self.dice.percent(70);
        let Request { subject, ask, .. } = request;
        let id = self.evidence.subjects[subject].id;
        match &ask {
            Ask::Start { .. } | Ask::Delete => self.evidence.subjects[subject].unsettled -= 1,
            Ask::Report { attempt, .. } => {
                if let Some(tried) = self.evidence.witness.of(id, *attempt) {
                    tried.flying -= 1;
                }
            }
            Ask::Watch | Ask::Heartbeat { .. } => return,
            Ask::Stop | Ask::Redrive => {}
        }
        if matches!(ask, Ask::Start { .. }) && !self.may_start(subject) {
            return;
        }
        if again {
            let delay = self.dice.between(0, 5000);
            self.send(subject, ask, delay);
        }
    }

    fn tick(&mut self, index: usize) -> Outcome {
        let now = self.told_ms();
        let (next, troubles) = self.evidence.shards[index].tick(now);
        let next = match self.fault {
            Some(Fault::LateTurns) => next.map(|next| next + HOUR_MS),
            Some(Fault::Restless) => Some(now),
            _ => next,
        };
        self.evidence.next_ms[index] = next;
        self.log.line(None, || format!("tick of shard {index}, next {next:?}"));
        if let Some((id, error)) = troubles.into_iter().next() {
            return Err(fold_violation(Some(id), format!("it cannot go on: {error}")));
        }
        self.absorb()
    }

    fn settle(&mut self) -> Outcome {
        if self.withheld > 0 {
            self.withheld -= 1;
            return Ok(());
        }
        let waiting = self.evidence.disk.waiting();
        let count = if self.dice.percent(50) { waiting } else { self.dice.below(waiting + 1) };
        self.evidence.disk.settle(count);
        self.log.line(None, || format!("{count} of {waiting} batches become durable"));
        self.absorb()
    }

    // --- time ---

    fn pass_time(&mut self) -> Outcome {
        let step = match self.dice.below(20) {
            0..=6 => self.dice.between(1, 50),
            7..=14 => self.until_next(),
            15..=17 => self.dice.between(1000, 10 * MINUTE_MS),
            18 => self.dice.between(HOUR_MS, 3 * HOUR_MS),
            _ => self.dice.pick(&[HOUR_MS, 24 * HOUR_MS, 30 * 24 * HOUR_MS]),
        };
        self.true_ms += step;
        self.set_clock();
        self.log.line(None, || format!("{step} ms pass"));
        Ok(())
    }

    fn until_next(&self) -> i64 {
        let engine = self.evidence.next_ms.iter().flatten().map(|next| next - self.evidence.now_ms);
        let flights = self.flights.iter().map(|(due, _)| due - self.true_ms);
        engine.chain(flights).filter(|step| *step > 0).min().unwrap_or(1)
    }

    // --- requests ---

    fn send(&mut self, subject: usize, ask: Ask, delay_ms: i64) {
        let known = &mut self.evidence.subjects[subject];
        match &ask {
            Ask::Start { .. } => known.unsettled += 1,
            Ask::Delete => {
                known.unsettled += 1;
                known.delete_sent = true;
            }
            Ask::Report { attempt, .. } => {
                let id = known.id;
                if let Some(tried) = self.evidence.witness.of(id, *attempt) {
                    tried.flying += 1;
                }
            }
            _ => {}
        }
        self.requests += 1;
        let request = Request { number: self.requests, subject, ask, arrived_ms: 0 };
        self.flights.push((self.true_ms + delay_ms, request));
    }

    fn deliver(&mut self) -> Outcome {
        if !self.post.is_empty() && self.dice.percent(50) {
            return self.deliver_post().map(|_| ());
        }
        let due: Vec<usize> = (0..self.flights.len())
            .filter(|index| self.flights[*index].0 <= self.true_ms)
            .collect();
        if due.is_empty() {
            return self.deliver_post().map(|_| ());
        }
        let index = due[self.dice.below(due.len())];
        let (_, request) = self.flights.remove(index);
        self.hand_over(request)
    }

    fn deliver_post(&mut self) -> Outcome<bool> {
        let Some(message) = self.post.take(&mut self.dice) else { return Ok(false) };
        self.log.line(Some(message.id()), || format!("the engine to itself: {message:?}"));
        self.handle(message)?;
        Ok(true)
    }

    fn handle(&mut self, message: Message) -> Outcome {
        let shard = usize::from(message.id().shard(self.evidence.shard_count).0);
        let now = self.told_ms();
        self.evidence.shards[shard].handle(message, now);
        self.absorb()
    }

    fn hand_over(&mut self, mut request: Request) -> Outcome {
        request.arrived_ms = self.evidence.now_ms;
        let id = self.evidence.subjects[request.subject].id;
        self.log.line(Some(id), || format!("request {}: {:?}", request.number, request.ask));
        if let Ask::Start { watched: true, .. } = request.ask {
            // The watcher's own number follows.
            let watch = Request { number: request.number + WATCHER, ..request.clone() };
            let watch = Request { ask: Ask::Watch, ..watch };
            self.evidence.outstanding.insert(watch.number, watch);
        }
        let message = self.message(&request);
        if let (Some(Fault::LosesResults), Ask::Report { say: Say::Result(..), .. }) =
            (self.fault, &request.ask)
        {
            return Ok(());
        }
        self.evidence.outstanding.insert(request.number, request);
        self.handle(message)
    }

    fn message(&self, request: &Request) -> Message {
        let subject = &self.evidence.subjects[request.subject];
        let (id, number) = (subject.id, request.number);
        match &request.ask {
            Ask::Start { input, watched } => {
                let prepared = self.evidence.machines[subject.machine].prepared.clone();
                let start = Box::new(Start::new(&subject.arn, prepared, input.clone()));
                let watcher = watched.then(|| self.reply(number + WATCHER, Answer::Ended));
                Message::Start { start, reply: self.reply(number, Answer::Started), watcher }
            }
            Ask::Report { attempt, say } => {
                let reply = Some(self.reply(number, |()| Answer::Counted));
                Message::Report { id, attempt: *attempt, report: report(*say), reply }
            }
            Ask::Heartbeat { attempt } => {
                let reply = self.reply(number, |()| Answer::Counted);
                Message::Heartbeat { id, attempt: *attempt, reply }
            }
            Ask::Stop => {
                let failure = Failure::new("Stopped", "by a client");
                Message::Stop { id, failure, reply: self.reply(number, Answer::At) }
            }
            Ask::Redrive => Message::Redrive { id, reply: self.reply(number, Answer::At) },
            Ask::Watch => Message::Watch { id, reply: self.reply(number, Answer::Ended) },
            Ask::Delete => Message::Delete { id, reply: self.reply(number, |()| Answer::Deleted) },
        }
    }

    fn reply<T: 'static>(
        &self,
        number: u64,
        wrap: impl FnOnce(T) -> Answer + Send + 'static,
    ) -> everstep_runtime::Reply<T> {
        let replies = self.replies.clone();
        let swallow = self.fault == Some(Fault::SwallowsReplies) && number.is_multiple_of(5);
        Box::new(move |answer| {
            if !swallow {
                let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
                replies.push((number, answer.map(wrap)));
            }
        })
    }

    // --- what the engine did ---

    /// Looks at all that the engine has written, asked for and said since the last look.
    fn absorb(&mut self) -> Outcome {
        if let Some(space) = self.evidence.disk.unexpected().first() {
            let what = format!("a batch did not find what it expected in {}", space.name());
            return Err(Violation::boxed("expectations_hold", None, what));
        }
        for (batch, written) in self.evidence.disk.take_unseen() {
            self.log.count(batch);
            for write in &written.writes {
                self.log.count((write.space, &write.key, &write.value));
            }
            let Evidence { generation, now_ms, .. } = self.evidence;
            checkers::batch(&self.evidence, &written)?;
            let moment = Moment { batch, generation, now_ms };
            let Evidence { ledger, subjects, machines, .. } = &mut self.evidence;
            let who = |id: ExecutionId| {
                let subject = subjects.iter().find(|subject| subject.id == id)?;
                Some((subject.arn.as_str(), &*machines[subject.machine].prepared))
            };
            let touched = ledger
                .take(&written, moment, who)
                .map_err(|(id, what)| fold_violation(id, what))?;
            for id in touched {
                self.log_step(id, batch);
                checkers::step(&self.evidence, id)?;
            }
        }
        for asked in self.runner.take_unseen() {
            match asked {
                Asked::Dispatch(task, durable_to) => self.dispatched(*task, durable_to)?,
                Asked::Cancel(cancelled) => {
                    let (id, attempt) = (cancelled.execution, cancelled.attempt);
                    self.log.line(Some(id), || format!("cancel {attempt:?}"));
                    if let Some(tried) = self.evidence.witness.of(id, attempt) {
                        tried.cancelled = true;
                    }
                }
            }
        }
        let replies =
            std::mem::take(&mut *self.replies.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, reply) in replies {
            self.replied(number, reply)?;
        }
        Ok(())
    }

    fn log_step(&mut self, id: ExecutionId, batch: u64) {
        let Some(step) = self.evidence.ledger.last(id).and_then(|life| life.steps.last()) else {
            return;
        };
        let now = self.evidence.now_ms;
        self.log.line(Some(id), || format!("at {now} batch {batch}: {:?}", step.events));
    }

    fn dispatched(&mut self, task: Task, durable_to: u64) -> Outcome {
        let (id, attempt) = (task.execution, task.attempt);
        let Evidence { generation, now_ms, .. } = self.evidence;
        self.log.line(Some(id), || format!("dispatch {attempt:?} again {}", task.again));
        self.log.count((id, attempt, task.again, now_ms));
        checkers::dispatch(&self.evidence, &task, durable_to)?;
        self.evidence.witness.see(&task, generation, now_ms);
        let Some(subject) = self.evidence.subjects.iter().position(|known| known.id == id) else {
            return Err(Violation::boxed("same_attempt_same_id", Some(id), "nobody's".to_owned()));
        };
        match way(&task.job) {
            Way::Call => self.plan_result(subject, attempt),
            Way::Callback => {
                let delay = self.dice.between(0, 500);
                self.send(subject, Ask::Report { attempt, say: Say::Submitted }, delay);
                self.plan_result(subject, attempt);
            }
            Way::Activity if !self.calm && self.dice.percent(10) => {}
            Way::Activity => {
                let delay = self.delay(subject);
                self.send(subject, Ask::Report { attempt, say: Say::Started }, delay);
            }
        }
        Ok(())
    }

    /// What a worker will say of an attempt, when, and how often.
    fn plan_result(&mut self, subject: usize, attempt: Attempt) {
        let id = self.evidence.subjects[subject].id;
        let (has_end, heartbeat) = self.limits(id, attempt);
        let delay = self.delay(subject);
        if let Some(seconds) = heartbeat {
            self.plan_heartbeats(subject, attempt, seconds, delay);
        }
        if !self.calm && has_end && self.dice.percent(8) {
            return;
        }
        let times = if self.dice.percent(12) { 2 } else { 1 };
        for _ in 0..times {
            let failures = if self.calm { 5 } else { self.temper.task_failures };
            let error = self.dice.percent(failures).then(|| self.dice.pick(&workload::ERRORS));
            self.answers += 1;
            let say = Say::Result(self.answers, error);
            let given = Given { number: self.answers, failed: error.is_some(), fate: Fate::Open };
            if let Some(tried) = self.evidence.witness.of(id, attempt) {
                tried.answers.push(given);
            }
            let late = if times == 2 { self.dice.between(0, 3000) } else { 0 };
            self.send(subject, Ask::Report { attempt, say }, delay + late);
        }
    }

    /// Whether an attempt ends by itself, and how often it must send a sign of life.
    fn limits(&self, id: ExecutionId, attempt: Attempt) -> (bool, Option<u64>) {
        match self.evidence.scheduled(id, attempt) {
            Some((Event::TaskScheduled { heartbeat_seconds, deadline_ms, .. }, ..)) => {
                (deadline_ms.is_some() || heartbeat_seconds.is_some(), *heartbeat_seconds)
            }
            _ => (false, None),
        }
    }

    fn plan_heartbeats(&mut self, subject: usize, attempt: Attempt, seconds: u64, until_ms: i64) {
        let interval = i64::try_from(seconds).unwrap_or(1) * 600;
        for beat in 1..=8 {
            let at = beat * interval;
            if at >= until_ms || (!self.calm && self.dice.percent(12)) {
                return;
            }
            self.send(subject, Ask::Heartbeat { attempt }, at);
        }
    }

    fn delay(&mut self, subject: usize) -> i64 {
        let machine = self.evidence.subjects[subject].machine;
        if self.evidence.machines[machine].long || self.calm {
            return self.dice.between(0, 20);
        }
        match self.dice.below(20) {
            0..=9 => 0,
            10..=14 => self.dice.between(1, 2000),
            15..=18 => self.dice.between(2000, 6 * MINUTE_MS),
            _ => self.dice.between(HOUR_MS, 30 * HOUR_MS),
        }
    }

    fn replied(&mut self, number: u64, reply: Reply) -> Outcome {
        let Some(request) = self.evidence.outstanding.remove(&number) else {
            let what = format!("request {number} is answered, and nobody asked");
            return Err(Violation::boxed("every_request_is_answered", None, what));
        };
        let id = self.evidence.subjects[request.subject].id;
        let reply = match (&request.ask, reply) {
            (Ask::Report { .. }, Err(_)) if self.fault == Some(Fault::AcceptsEverything) => {
                Ok(Answer::Counted)
            }
            (_, reply) => reply,
        };
        self.log.line(Some(id), || format!("reply to {number}: {}", brief(&reply)));
        self.log.count((number, reply.is_ok(), self.evidence.now_ms));
        self.note_settled(&request, &reply);
        self.note_fact(id, &request, &reply);
        checkers::reply(&self.evidence, &request, &reply)?;
        match (&request.ask, &reply) {
            (Ask::Report { attempt, say: Say::Started }, Ok(_)) => {
                self.plan_result(request.subject, *attempt);
            }
            (_, Err(Error::Store(_) | Error::Stopped | Error::Busy)) if self.dice.percent(70) => {
                self.try_again(&request);
            }
            _ => {}
        }
        Ok(())
    }

    fn try_again(&mut self, request: &Request) {
        let starts = matches!(request.ask, Ask::Start { .. });
        let idle = matches!(request.ask, Ask::Watch | Ask::Heartbeat { .. });
        if idle || (starts && !self.may_start(request.subject)) {
            return;
        }
        let delay = self.dice.between(100, 3000);
        self.send(request.subject, request.ask.clone(), delay);
    }

    fn note_settled(&mut self, request: &Request, reply: &Reply) {
        let subject = &mut self.evidence.subjects[request.subject];
        let id = subject.id;
        match &request.ask {
            Ask::Start { .. } => {
                subject.unsettled -= 1;
                subject.started |= reply.is_ok();
            }
            Ask::Delete => subject.unsettled -= 1,
            Ask::Report { attempt, say } => {
                let Some(tried) = self.evidence.witness.of(id, *attempt) else { return };
                tried.flying -= 1;
                let Say::Result(number, _) = *say else { return };
                for given in tried.answers.iter_mut().filter(|given| given.number == number) {
                    match reply {
                        Ok(_) => given.fate = Fate::Counted,
                        Err(Error::Settled | Error::NoSuchTask | Error::NotFound)
                            if given.fate == Fate::Open =>
                        {
                            given.fate = Fate::Refused;
                        }
                        Err(_) => {}
                    }
                }
            }
            Ask::Heartbeat { attempt } if reply.is_ok() => {
                self.evidence.signs.insert((id, *attempt), request.arrived_ms);
            }
            _ => {}
        }
    }

    fn note_fact(&mut self, id: ExecutionId, request: &Request, reply: &Reply) {
        let Ok(answer) = reply else { return };
        if self.evidence.is_express(id) {
            return;
        }
        let fact = match (&request.ask, answer) {
            (_, Answer::Started(started)) => Fact::Started(started.started_ms),
            (Ask::Report { attempt, say }, Answer::Counted) => Fact::Counted(*attempt, *say),
            (Ask::Stop, Answer::At(at)) => Fact::Stopped(*at),
            (Ask::Redrive, Answer::At(at)) => Fact::Redriven(*at),
            (_, Answer::Deleted) => Fact::Deleted,
            (_, Answer::Ended(ended)) => Fact::Ended(ended.clone()),
            _ => return,
        };
        self.evidence.facts.push((id, fact));
    }

    // --- clients ---

    fn ask(&mut self) -> Outcome {
        let count = self.evidence.subjects.len();
        if count == 0 || (count < SUBJECTS_MAX && self.dice.percent(35)) {
            self.new_start();
            return Ok(());
        }
        let subject = self.dice.below(count);
        let known = &self.evidence.subjects[subject];
        match self.dice.below(20) {
            0..=4 if self.may_start(subject) => {
                let input = known.input.clone();
                let watched = self.dice.percent(30);
                self.send(subject, Ask::Start { input, watched }, 0);
            }
            5 if self.may_start(subject) => {
                let input = Payload::new(workload::input(&mut self.dice, 2));
                let watched = self.dice.percent(50);
                self.send(subject, Ask::Start { input, watched }, 0);
            }
            6..=8 => self.send(subject, Ask::Stop, 0),
            9..=13 => self.send(subject, Ask::Redrive, 0),
            14 | 15 if known.unsettled == 0 => self.send(subject, Ask::Delete, 0),
            16..=18 => self.send(subject, Ask::Watch, 0),
            _ => {}
        }
        Ok(())
    }

    /// A name that may be removed is given again only where no task could be confused by it.
    fn may_start(&self, subject: usize) -> bool {
        let known = &self.evidence.subjects[subject];
        let machine = &self.evidence.machines[known.machine];
        let confusing = known.delete_sent || (machine.express && known.started);
        machine.plain || machine.long || !confusing
    }

    fn new_start(&mut self) {
        let number = self.evidence.subjects.len();
        let machine = self.dice.below(self.evidence.machines.len());
        let arn = format!("arn:aws:states:us-east-1:000000000000:execution:m{machine}:e{number}");
        let input = Payload::new(workload::input(&mut self.dice, 1));
        let id = ExecutionId::of(&arn);
        let (started, delete_sent, unsettled) = (false, false, 0);
        let kept = input.clone();
        self.evidence.subjects.push(Subject {
            arn,
            id,
            machine,
            input: kept,
            started,
            delete_sent,
            unsettled,
        });
        let watched = self.evidence.machines[machine].express || self.dice.percent(30);
        self.send(number, Ask::Start { input: input.clone(), watched }, 0);
        if self.dice.percent(20) {
            self.send(number, Ask::Start { input, watched: false }, 0);
        }
    }

    // --- peace ---

    /// Lets the engine finish what it can do now, and looks at the result.
    fn rest(&mut self) -> Outcome {
        self.drain()?;
        checkers::quiet(&mut self.evidence)
    }

    fn drain(&mut self) -> Outcome {
        for _ in 0..300 {
            let mut busy = false;
            if self.evidence.runtime.failure().is_some() {
                self.crash()?;
            }
            while self.deliver_post()? {
                busy = true;
            }
            while self.evidence.disk.waiting() > 0 {
                busy = true;
                self.evidence.disk.settle(usize::MAX);
                self.absorb()?;
            }
            for index in 0..self.evidence.shards.len() {
                self.tick(index)?;
                busy |= self.evidence.next_ms[index].is_some_and(|next| next <= self.told_ms());
            }
            let failed = self.evidence.runtime.failure().is_some();
            if !busy && !failed && self.evidence.disk.waiting() == 0 && self.post.is_empty() {
                return Ok(());
            }
        }
        let what = format!(
            "shards want a turn at {:?}, and it is {}",
            self.evidence.next_ms, self.evidence.now_ms
        );
        Err(Violation::boxed("the_engine_comes_to_rest", None, what))
    }

    fn calm_down(&mut self) -> Outcome {
        self.calm = true;
        self.log.line(None, || "calm".to_owned());
        self.rest()?;
        for _ in 0..8000 {
            self.deliver_due()?;
            self.drain()?;
            self.answer_open();
            let Some(step) = self.until_something() else { break };
            self.true_ms += step.max(0);
            self.set_clock();
        }
        self.rest()?;
        if let Some(kept) = self.evidence.settings.retention_ms {
            self.true_ms += kept;
            for _ in 0..12 {
                self.true_ms += self.evidence.settings.sweep_every_ms + 1;
                self.set_clock();
                self.rest()?;
            }
        }
        Ok(())
    }

    fn deliver_due(&mut self) -> Outcome {
        while let Some(index) = self.flights.iter().position(|(due, _)| *due <= self.true_ms) {
            let (_, request) = self.flights.remove(index);
            self.hand_over(request)?;
        }
        Ok(())
    }

    /// Somebody answers what nobody was going to, but for some that may wait for ever.
    fn answer_open(&mut self) {
        let quiet: Vec<(ExecutionId, Attempt, Way)> = self
            .evidence
            .witness
            .tried
            .iter()
            .filter(|(_, tried)| tried.flying == 0 && !tried.held && !tried.cancelled)
            .filter(|((id, attempt), _)| self.is_open(*id, *attempt))
            .map(|((id, attempt), tried)| (*id, *attempt, way(&tried.job)))
            .collect();
        for (id, attempt, way) in quiet {
            let forever = !self.limits(id, attempt).0;
            let holds = way != Way::Call && forever && self.dice.percent(30);
            if holds && let Some(tried) = self.evidence.witness.of(id, attempt) {
                tried.held = true;
                continue;
            }
            if let Some(subject) = self.evidence.subjects.iter().position(|known| known.id == id) {
                self.plan_result(subject, attempt);
            }
        }
    }

    fn is_open(&self, id: ExecutionId, attempt: Attempt) -> bool {
        match self.evidence.ledger.last(id) {
            Some(life) => life.is_there() && life.execution.awaits(attempt),
            None => self.express_runs(id),
        }
    }

    fn express_runs(&self, id: ExecutionId) -> bool {
        self.evidence.is_express(id)
            && self.evidence.outstanding.values().any(|request| {
                matches!(request.ask, Ask::Watch)
                    && self.evidence.subjects[request.subject].id == id
            })
    }

    /// How long until something can happen.
    fn until_something(&self) -> Option<i64> {
        let flights = self.flights.iter().map(|(due, _)| due - self.true_ms);
        let lives = self.evidence.ledger.present();
        let due = lives.filter_map(|life| life.execution.next_due_ms());
        let due = due.map(|due| due - self.evidence.now_ms).filter(|step| *step > 0);
        // Signs of life and what is not stored are known to the engine alone.
        let express = self.evidence.subjects.iter().any(|subject| self.express_runs(subject.id));
        let hidden =
            express || self.evidence.ledger.present().any(|life| life.execution.has_heartbeats());
        let next = self.evidence.next_ms.iter().flatten().filter(|_| hidden);
        let next = next.map(|next| next - self.evidence.now_ms);
        flights.chain(due).chain(next).min().map(|step| step.max(1))
    }
}

/// The number of a start's watcher is that of the start and this.
const WATCHER: u64 = 1 << 32;

fn fold_violation(id: Option<ExecutionId>, what: String) -> Box<Violation> {
    Violation::boxed("recovery_is_a_fold", id, what)
}

fn brief(reply: &Reply) -> String {
    match reply {
        Err(Error::AlreadyExists(_)) => "it exists already".to_owned(),
        Err(Error::WrongStatus(known)) => format!("it is {:?}", known.standing),
        other => format!("{other:?}"),
    }
}

fn report(say: Say) -> Report {
    match say {
        Say::Started => Report::Started { worker: Some("w".into()) },
        Say::Submitted => Report::Submitted { output: Payload::new(json!({})) },
        Say::Result(number, None) => {
            Report::Succeeded { output: Payload::new(json!({"answer": number})) }
        }
        Say::Result(number, Some(error)) => Report::Failed {
            failure: Failure::new(error, format!("answer {number}")),
            stage: FailureStage::Run,
        },
    }
}

fn settings(dice: &mut Dice) -> Settings {
    Settings {
        horizon_ms: dice.pick(&[MINUTE_MS, 10 * MINUTE_MS, 10 * MINUTE_MS]),
        resident_max: dice.pick(&[0, 1, 3, 1024]),
        retention_ms: dice.pick(&[None, Some(90 * 24 * HOUR_MS), Some(20 * MINUTE_MS)]),
        sweep_every_ms: dice.pick(&[MINUTE_MS, 10 * MINUTE_MS]),
        ..Settings::default()
    }
}

fn runtime(
    disk: &Arc<Disk>,
    runner: &Arc<Runner>,
    settings: &Settings,
    post: &Arc<Post>,
) -> Arc<Runtime> {
    let parts = Parts {
        store: disk.clone(),
        runner: runner.clone(),
        observer: Arc::new(Silent),
        settings: settings.clone(),
    };
    Arc::new(Runtime::new(parts, post.clone()))
}

fn prepare(runtime: &Runtime, revision: Revision) -> Arc<everstep_runtime::Prepared> {
    let definition = revision.definition.clone();
    let prepared = runtime.prepare(revision, Box::new(|_| {}));
    prepared.unwrap_or_else(|error| panic!("the workload is wrong: {error}: {definition}"))
}

fn machines(dice: &mut Dice, runtime: &Runtime) -> Vec<Machine> {
    let count = 1 + dice.below(3);
    let machine = |number: usize| {
        let drawn = workload::draw(dice);
        let arn = format!("arn:aws:states:us-east-1:000000000000:stateMachine:m{number}");
        let definition = drawn.definition.to_string();
        let mut revision = Revision::new(&arn, "arn:aws:iam::000000000000:role/r", &definition);
        if drawn.express {
            revision = revision.express();
        }
        revision.aws = drawn.aws;
        let prepared = prepare(runtime, revision);
        let (express, plain, long) = (drawn.express, drawn.plain, drawn.long);
        Machine { arn, prepared, express, plain, long }
    };
    (0..count).map(machine).collect()
}
