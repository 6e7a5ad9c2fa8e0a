//! How long one start takes from sending to being over, next to the least that a disk allows.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use everstep_crash::harness;

use crate::gauge::{Spread, microseconds, percentile};
use crate::tap::Tap;
use crate::throughput::{NoTasks, Starter, open, ten_passes};

/// Samples of each side in a round.
const SAMPLES: usize = 300;

/// Times one thing after another.
pub(crate) fn samples(mut work: impl FnMut()) -> Vec<Duration> {
    let one = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..SAMPLES).map(one).collect();
    times.sort();
    times
}

pub(crate) fn run(rounds: usize) {
    let directory = crate::directory();
    let tap = Arc::new(Tap::new(open(&directory.path().join("engine"))));
    let mut starter = Starter::on(tap.clone(), Arc::new(NoTasks), &ten_passes());
    let mut start = || {
        starter.next += 1;
        let name = format!("execution-{:010}", starter.next);
        let (prepared, input) = (&starter.prepared, starter.input.clone());
        let answer = starter.engine.ask(|reply| harness::start(prepared, &name, input, reply));
        answer.expect("starts");
    };
    samples(&mut start);
    let mut replay = tap.replay();
    let store = open(&directory.path().join("store"));
    let mut commit = || {
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |outcome| {
            let _ = sender.send(outcome);
        });
        store.commit(replay.batch(), done);
        receiver.recv().expect("answered").expect("durable");
    };
    let bytes = vec![b'x'; tap.replay().bytes()];
    let mut file = File::create(directory.path().join("file")).expect("a file");
    let mut append = || {
        file.write_all(&bytes).expect("written");
        file.sync_data().expect("synced");
    };
    let mut seen = Vec::new();
    for _ in 0..rounds {
        let synced = samples(&mut append);
        let engine = samples(&mut start);
        seen.push([engine, samples(&mut commit), synced]);
    }
    println!("one start of ten Pass states at a time, {} bytes each\n", bytes.len());
    println!("| what | p50 µs | p99 µs | p50, times fdatasync |");
    println!("|---|---|---|---|");
    for (index, what) in
        ["start to finish", "the store's commit", "append and fdatasync"].into_iter().enumerate()
    {
        let at = |share| {
            let all = seen.iter().map(|round| microseconds(percentile(&round[index], share)));
            Spread::of(all.collect()).show(0)
        };
        let ratio = seen.iter().map(|round| {
            let [own, least] = [index, 2].map(|n| microseconds(percentile(&round[n], 0.5)));
            own / least
        });
        let ratio = Spread::of(ratio.collect()).show(2);
        println!("| {what} | {} | {} | {ratio} |", at(0.5), at(0.99));
    }
}
