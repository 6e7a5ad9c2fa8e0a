//! A chain of five tasks whose runner answers at once: what the engine itself adds to work.

use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use everstep_crash::harness;
use everstep_executions::{Cancelled, Ended, Message, Task, TaskRunner};
use everstep_history::Payload;
use serde_json::{Map, Value, json};

use crate::gauge::{Spread, microseconds, percentile};
use crate::throughput::{Starter, closed_loop, open};

const WINDOW: Duration = Duration::from_secs(3);

/// Answers from the very call: the engine takes the result as a message like any other.
#[derive(Default)]
struct AtOnce {
    output: OnceLock<Payload>,
}

impl TaskRunner for AtOnce {
    fn dispatch(&self, task: Task) {
        task.succeed(self.output.get_or_init(|| Payload::new(json!({"done": true}))).clone());
    }

    fn cancel(&self, _: Cancelled) {}
}

fn five_tasks() -> Value {
    let mut states = Map::new();
    for n in 0..5 {
        let next =
            if n == 4 { ("End", json!(true)) } else { ("Next", json!(format!("T{}", n + 1))) };
        let resource = "arn:aws:lambda:us-east-1:000000000000:function:f";
        let mut state = json!({"Type": "Task", "Resource": resource});
        state[next.0] = next.1;
        states.insert(format!("T{n}"), state);
    }
    json!({"StartAt": "T0", "States": states})
}

/// Starts an execution and reports its end.
fn until_over(starter: &mut Starter, ended: impl FnOnce(bool) + Send + 'static) {
    starter.next += 1;
    let name = format!("execution-{:010}", starter.next);
    let message = harness::start(&starter.prepared, &name, starter.input.clone(), Box::new(|_| {}));
    let Message::Start { start, reply, .. } = message else { unreachable!("a start") };
    let watcher = move |end: everstep_executions::Result<Ended>| ended(end.is_ok());
    starter.engine.send(Message::Start { start, reply, watcher: Some(Box::new(watcher)) });
}

pub(crate) fn run(rounds: usize) {
    let directory = crate::directory();
    let store = open(directory.path());
    let mut starter = Starter::on(store, Arc::new(AtOnce::default()), &five_tasks());
    println!("a chain of five tasks that are answered at once: six commits one after another\n");
    println!("| in flight | executions/s | CPU µs for each | p50 ms | p99 ms |");
    println!("|---|---|---|---|---|");
    for in_flight in [1, 64, 1024] {
        let mut rates = Vec::new();
        let mut cpu = Vec::new();
        let mut times = Vec::new();
        for _ in 0..rounds {
            let (sender, took) = mpsc::channel();
            let seen = closed_loop(in_flight, WINDOW, |answers| {
                let (begun, sender) = (Instant::now(), sender.clone());
                until_over(&mut starter, move |fine| {
                    let _ = sender.send(begun.elapsed());
                    let _ = answers.send(fine);
                });
            });
            rates.push(seen.rate);
            cpu.push(seen.cpu);
            drop(sender);
            let mut all: Vec<Duration> = took.iter().collect();
            all.sort();
            times.push(all);
        }
        let at = |share| {
            let all = times.iter().map(|all| microseconds(percentile(all, share)) / 1000.0);
            Spread::of(all.collect()).show(2)
        };
        let (rates, cpu) = (Spread::of(rates).show(0), Spread::of(cpu).show(0));
        println!("| {in_flight} | {rates} | {cpu} | {} | {} |", at(0.5), at(0.99));
    }
}
