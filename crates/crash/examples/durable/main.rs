//! What durability costs: `cargo run --release -p everstep-crash --example durable -- <what>`.
//!
//! Each command prints a table. Where a figure is a ratio, both sides are measured in the same run, in
//! turns, so that whatever else the machine does falls on both. docs/benchmarks.md keeps the figures.

mod gauge;
mod growth;
mod latency;
mod parked;
mod tap;
mod tasks;
mod throughput;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: durable <what> [how much]

  throughput [rounds]   executions a second, next to the store's own commits
  latency [rounds]      one start after another, next to append and fdatasync
  tasks [rounds]        a chain of five tasks that are answered at once
  parked [executions]   memory, disk and the time of a start with a million that wait
  growth [executions]   starts a second when up to a million are stored

EVERSTEP_BENCH_DIR names the directory to write to; it should be on a real disk.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, otherwise: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    match arguments.first().map(String::as_str) {
        Some("throughput") => throughput::run(number(1, 5)),
        Some("latency") => latency::run(number(1, 5)),
        Some("tasks") => tasks::run(number(1, 3)),
        Some("parked") => parked::run(number(1, 1_000_000)),
        Some("growth") => growth::run(number(1, 1_000_000)),
        // A process that `parked` starts, measures and kills.
        Some("parked-child") => {
            let seconds = number(3, 0) as u64;
            parked::child(Path::new(&arguments[1]), number(2, 0), seconds);
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// A fresh directory that goes away again.
fn directory() -> tempfile::TempDir {
    let base =
        std::env::var_os("EVERSTEP_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::tempdir_in(base).expect("the directory for benchmarks can be written")
}
