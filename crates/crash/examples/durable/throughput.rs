//! Durable executions a second, next to the commits that the store alone makes of the same rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use everstep_crash::harness;
use everstep_executions::{Cancelled, Engine, Prepared, Task, TaskRunner};
use everstep_history::Payload;
use everstep_store::Store;
use serde_json::{Map, Value, json};

use crate::gauge::{Spread, cpu, microseconds};
use crate::tap::{Replay, Tap};

const WINDOW: Duration = Duration::from_secs(3);

pub(crate) struct NoTasks;

impl TaskRunner for NoTasks {
    fn dispatch(&self, _: Task) {}
    fn cancel(&self, _: Cancelled) {}
}

/// Ten Pass states.
pub(crate) fn ten_passes() -> Value {
    let mut states = Map::new();
    for n in 0..9 {
        let state = json!({"Type": "Pass", "Next": format!("S{}", n + 1)});
        states.insert(format!("S{n}"), state);
    }
    states.insert("S9".to_owned(), json!({"Type": "Pass", "End": true}));
    json!({"StartAt": "S0", "States": states})
}

pub(crate) fn input() -> Payload {
    Payload::new(json!({"order": 4711, "items": ["a", "b"], "customer": {"name": "Ada"}}))
}

/// What a window showed.
pub(crate) struct Seen {
    pub(crate) rate: f64,
    /// Microseconds of processor time for each.
    pub(crate) cpu: f64,
}

/// Keeps `in_flight` requests on their way for a while; `send` sends one that is answered through the
/// channel.
pub(crate) fn closed_loop(
    in_flight: usize,
    window: Duration,
    mut send: impl FnMut(mpsc::Sender<bool>),
) -> Seen {
    let (sender, answers) = mpsc::channel();
    let (begun, cpu_before) = (Instant::now(), cpu());
    let (mut sent, mut done) = (0, 0_u32);
    while sent < in_flight {
        send(sender.clone());
        sent += 1;
    }
    while begun.elapsed() < window {
        assert!(answers.recv().expect("the sender is here"), "refused");
        done += 1;
        send(sender.clone());
    }
    let (took, used) = (begun.elapsed(), cpu().saturating_sub(cpu_before));
    for _ in 0..in_flight {
        assert!(answers.recv().expect("the sender is here"), "refused");
    }
    Seen { rate: f64::from(done) / took.as_secs_f64(), cpu: microseconds(used) / f64::from(done) }
}

/// Starts executions one after another, each with a name of its own.
pub(crate) struct Starter {
    pub(crate) engine: Engine,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) input: Payload,
    pub(crate) next: u64,
}

impl Starter {
    pub(crate) fn on(store: Arc<dyn Store>, runner: Arc<dyn TaskRunner>, machine: &Value) -> Self {
        let engine = harness::quiet_engine(store, runner).expect("the engine opens");
        let prepared = harness::prepare(&engine, "m", machine).expect("the machine is valid");
        Self { engine, prepared, input: input(), next: 0 }
    }

    pub(crate) fn send(&mut self, answers: mpsc::Sender<bool>) {
        self.next += 1;
        let name = format!("execution-{:010}", self.next);
        let reply = Box::new(move |answer: everstep_executions::Result<_>| {
            let _ = answers.send(answer.is_ok());
        });
        self.engine.send(harness::start(&self.prepared, &name, self.input.clone(), reply));
    }
}

fn raw(store: &Arc<dyn Store>, replay: &mut Replay, in_flight: usize) -> Seen {
    closed_loop(in_flight, WINDOW, |answers| {
        let done = Box::new(move |outcome: everstep_store::Result<()>| {
            let _ = answers.send(outcome.is_ok());
        });
        store.commit(replay.batch(), done);
    })
}

pub(crate) fn open(directory: &Path) -> Arc<dyn Store> {
    harness::store(directory).expect("the store opens")
}

pub(crate) fn run(rounds: usize) {
    let (ours, theirs) = (crate::directory(), crate::directory());
    let tap = Arc::new(Tap::new(open(ours.path())));
    let mut starter = Starter::on(tap.clone(), Arc::new(NoTasks), &ten_passes());
    closed_loop(64, Duration::from_secs(1), |answers| starter.send(answers));
    let mut replay = tap.replay();
    let store = open(theirs.path());
    println!("ten Pass states: {} rows and {} bytes for each\n", replay.rows(), replay.bytes());
    println!(
        "| starters | executions/s | the store's batches/s | ratio | CPU µs, engine | store |"
    );
    println!("|---|---|---|---|---|---|");
    for in_flight in [64, 1024] {
        let mut seen = Vec::new();
        for _ in 0..rounds {
            let engine = closed_loop(in_flight, WINDOW, |answers| starter.send(answers));
            seen.push((engine, raw(&store, &mut replay, in_flight)));
        }
        let all = |pick: fn(&(Seen, Seen)) -> f64| Spread::of(seen.iter().map(pick).collect());
        println!(
            "| {in_flight} | {} | {} | {} | {} | {} |",
            all(|(engine, _)| engine.rate).show(0),
            all(|(_, raw)| raw.rate).show(0),
            all(|(engine, raw)| engine.rate / raw.rate).show(2),
            all(|(engine, _)| engine.cpu).show(1),
            all(|(_, raw)| raw.cpu).show(1),
        );
    }
}
