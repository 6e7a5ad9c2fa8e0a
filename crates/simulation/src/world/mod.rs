//! The world: what can happen next, and the dice that choose.

mod absorb;
mod calm;
mod clients;
mod drivers;
mod engine;
mod functions;
mod requests;
mod workers;

use std::sync::{Arc, Mutex};

use everstep_executions::{
    ExecutionId, Message, Parts, Revision, Settings, Shared as Runtime, Silent,
};
use everstep_shards::Outside;
use everstep_store::Behaviour;

use crate::checkers::{self, Violation};
use crate::dice::Dice;
use crate::disk::{Disk, disk};
use crate::evidence::{Evidence, Machine, Reply, Request};
use crate::ledger::Ledger;
use crate::log::Log;
use crate::post::Post;
use crate::tasks::{Runner, Witness};
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
    post: Arc<Mailbox>,
    plans: functions::Plans,
    shells: drivers::Shells,
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
    /// The execution that ended the engine last.
    culprit: Option<ExecutionId>,
}

/// How rough a run is.
struct Temper {
    /// Of a thousand actions.
    crashes: usize,
    disk_failures: usize,
    clock_jumps: usize,
    /// Of a hundred crashes, how many are the work of an execution.
    culprits: usize,
    /// Of a hundred tasks.
    task_failures: usize,
}

type Outcome<T = ()> = Result<T, Box<Violation>>;

impl World {
    pub(crate) fn new(seed: u64, options: &Options) -> Outcome<Self> {
        let mut dice = Dice::new(seed);
        let shard_count = 1 + u16::try_from(dice.below(4)).unwrap_or(0);
        let behaviour = Behaviour {
            reads_ahead_percent: dice.pick(&[0, 0, 50, 100]),
            durable_at_once: dice.percent(10),
            ..Behaviour::default()
        };
        let disk = Arc::new(disk(shard_count, dice.draw(), behaviour, options.fault));
        let settings = settings(&mut dice);
        let temper = Temper {
            crashes: dice.pick(&[0, 10, 10, 30]),
            disk_failures: dice.pick(&[0, 0, 5]),
            clock_jumps: dice.pick(&[0, 0, 10]),
            task_failures: dice.pick(&[10, 35, 60]),
            culprits: dice.pick(&[0, 30, 90]),
        };
        let (post, runner) =
            (Arc::new(Mailbox::default()), Arc::new(Runner::new(options.fault, disk.clone())));
        let runtime = runtime(&disk, &runner, &settings, &post);
        let machines = machines(&mut dice, &runtime);
        let (functions, plans) = functions::functions(&mut dice, &disk, options.fault);
        disk.settle(usize::MAX);
        let evidence = Evidence {
            now_ms: BEGIN_MS,
            latest_ms: BEGIN_MS,
            readings: [BEGIN_MS].into(),
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
            notified: Default::default(),
            facts: Vec::new(),
            outstanding: Default::default(),
            functions,
            drivers: Default::default(),
            deaths: Default::default(),
        };
        let mut world = Self {
            dice,
            evidence,
            log: Log::new(options.record),
            tally: Tally::default(),
            fault: options.fault,
            temper,
            post,
            plans,
            shells: drivers::Shells::default(),
            runner,
            replies: Arc::default(),
            flights: Vec::new(),
            requests: 0,
            answers: 0,
            true_ms: BEGIN_MS,
            offset_ms: 0,
            withheld: 0,
            calm: false,
            culprit: None,
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
        if self.has_failed() && self.dice.percent(30) {
            return self.crash();
        }
        match self.dice.below(100) {
            0..=34 => return self.act_on_functions(),
            35..=49 => return self.act_on_drivers(),
            _ => {}
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
            950..=957 => self.rest(),
            958 | 959 => self.release(),
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
            self.tick_queues();
            self.log.line(None, || format!("the clock is set by {jump} ms"));
            Ok(())
        } else {
            Ok(())
        }
    }

    /// Whether one of the engines can do nothing any more.
    fn has_failed(&self) -> bool {
        self.evidence.runtime.failure().is_some() || self.evidence.functions.engine.has_failed()
    }

    fn set_clock(&mut self) {
        let before = self.evidence.now_ms;
        let now = self.true_ms + self.offset_ms;
        self.evidence.now_ms = now;
        self.evidence.readings.insert(now);
        self.evidence.latest_ms = self.evidence.latest_ms.max(now);
        if now < before {
            // What is read from the store after that begins to wait for heartbeats then.
            self.evidence.signs.values_mut().for_each(|sign| *sign = now.min(*sign));
        }
    }

    /// The time that the engine is given.
    fn engine_ms(&self) -> i64 {
        let lie = if self.fault == Some(Fault::ClockLies) { HOUR_MS } else { 0 };
        self.evidence.now_ms + lie
    }

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
        let others = self.until_functions().into_iter().chain(self.until_drivers());
        engine.chain(flights).chain(others).filter(|step| *step > 0).min().unwrap_or(1)
    }
}

pub(crate) type Mailbox = Post<ExecutionId, Message>;

impl everstep_shards::Mailbox<Message> for Mailbox {
    fn post(&self, message: Message) {
        self.put(message.id(), message);
    }
}

fn settings(dice: &mut Dice) -> Settings {
    let horizon_ms = dice.pick(&[MINUTE_MS, 10 * MINUTE_MS, 10 * MINUTE_MS]);
    let sweep_every_ms = dice.pick(&[MINUTE_MS, 10 * MINUTE_MS]);
    let shards = everstep_shards::Settings {
        horizon_ms,
        sweep_every_ms,
        ..everstep_shards::Settings::default()
    };
    Settings {
        shards,
        resident_max: dice.pick(&[0, 1, 3, 1024]),
        resident_bytes: dice.pick(&[0, 1000, usize::MAX]),
        steps_at_a_time: dice.pick(&[1, 3, 1000]),
        express_bytes: usize::MAX,
        turn_events: dice.pick(&[1, 4, 20, 256]),
        turn_bytes: dice.pick(&[10, 1000, usize::MAX]),
        heavy_bytes: dice.pick(&[0, 50, usize::MAX, usize::MAX]),
        retention_ms: dice.pick(&[None, Some(90 * 24 * HOUR_MS), Some(20 * MINUTE_MS)]),
        ..Settings::default()
    }
}

fn runtime(
    disk: &Arc<Disk>,
    runner: &Arc<Runner>,
    settings: &Settings,
    post: &Arc<Mailbox>,
) -> Arc<Runtime> {
    let parts = Parts {
        store: disk.clone(),
        runner: runner.clone(),
        observer: Arc::new(Silent),
        settings: settings.clone(),
    };
    Arc::new(Runtime::new(parts, post.clone()))
}

fn prepare(runtime: &Runtime, revision: Revision) -> Arc<everstep_executions::Prepared> {
    let definition = revision.definition.clone();
    let prepared = runtime.prepare(revision, Box::new(|_| {}));
    prepared.unwrap_or_else(|error| panic!("the workload is wrong: {error}: {definition}"))
}

fn machines(dice: &mut Dice, runtime: &Runtime) -> Vec<Machine> {
    let count = 1 + dice.below(3);
    let machine = |number: usize| {
        let (sink, nested) = (number == count, number == count + 1);
        let (drawn, name) = match number - number.min(count) {
            0 if !sink => (workload::draw(dice), format!("m{number}")),
            0 => (workload::sink(), "sink".to_owned()),
            _ => (workload::nested(dice), "nested".to_owned()),
        };
        let arn = format!("arn:aws:states:us-east-1:000000000000:stateMachine:{name}");
        let definition = drawn.definition.to_string();
        let mut revision = Revision::new(&arn, "arn:aws:iam::000000000000:role/r", &definition);
        if drawn.express {
            revision = revision.express();
        }
        revision.aws = drawn.aws;
        revision.on_failure = drawn.notifies.then(|| "function:f0".to_owned());
        let prepared = prepare(runtime, revision);
        let (express, plain, long) = (drawn.express, drawn.plain, drawn.long);
        Machine { arn, prepared, express, plain, long, sink, child: nested }
    };
    (0..=count + 1).map(machine).collect()
}
