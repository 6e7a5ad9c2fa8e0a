//! Whether starts cost the same when a million executions are stored.

use std::sync::Arc;
use std::time::Duration;

use crate::gauge::bytes_in;
use crate::throughput::{NoTasks, Starter, closed_loop, open, ten_passes};

const WINDOW: Duration = Duration::from_secs(3);
const IN_FLIGHT: usize = 256;

pub(crate) fn run(most: usize) {
    let directory = crate::directory();
    let store = open(directory.path());
    let mut starter = Starter::on(store, Arc::new(NoTasks), &ten_passes());
    println!("starts of ten Pass states, {IN_FLIGHT} in flight\n");
    println!("| stored | starts/s | CPU µs for each | bytes of disk for each |");
    println!("|---|---|---|---|");
    for size in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|size| *size <= most) {
        let stored = usize::try_from(starter.next).unwrap_or(0);
        fill(&mut starter, size.saturating_sub(stored));
        let disk = bytes_in(directory.path()) as f64 / starter.next as f64;
        let stored = starter.next;
        // A longer one would pass the next size.
        let window = if size < 100_000 { WINDOW / 12 } else { WINDOW };
        let seen = closed_loop(IN_FLIGHT, window, |answers| starter.send(answers));
        println!("| {stored} | {:.0} | {:.1} | {disk:.0} |", seen.rate, seen.cpu);
    }
}

/// Starts so many, and waits until all are durable.
pub(crate) fn fill(starter: &mut Starter, count: usize) {
    let (sender, answers) = std::sync::mpsc::channel();
    let first = count.min(IN_FLIGHT);
    (0..first).for_each(|_| starter.send(sender.clone()));
    for sent in first..first + count {
        assert!(answers.recv().expect("the sender is here"), "refused");
        if sent < count {
            starter.send(sender.clone());
        }
    }
}
