//! What durability costs: `cargo run --release -p everstep-crash --example durable -- <what>`.
//!
//! Each command prints a table. Where a figure is a ratio, both sides are measured in the same run, in
//! turns, so that whatever else the machine does falls on both. docs/benchmarks.md keeps the figures.

mod gauge;
mod latency;
mod tap;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: durable <what> [rounds]

  throughput [rounds]   executions a second, next to the store's own commits
  latency [rounds]      one start after another, next to append and fdatasync

EVERSTEP_BENCH_DIR names the directory to write to; it should be on a real disk.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, otherwise: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    match arguments.first().map(String::as_str) {
        Some("throughput") => throughput::run(number(1, 5)),
        Some("latency") => latency::run(number(1, 5)),
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
