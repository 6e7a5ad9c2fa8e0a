//! `cargo xtask simulate`: the engine in a simulated world, seed after seed.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use everstep_simulation::{Options, Tally, simulate, timeline};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many seeds to run
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only this one
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Actions of the rough part of each run
    #[arg(long, default_value_t = Options::default().actions)]
    steps: usize,
    /// Show all that happens, not only what concerns the execution that went wrong
    #[arg(long)]
    verbose: bool,
    /// Go on after a failure, naming each
    #[arg(long)]
    keep_going: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let options = Options { actions: arguments.steps, ..Options::default() };
    if let (Some(seed), true) = (arguments.seed, arguments.verbose) {
        timeline(seed, &options).iter().for_each(|line| println!("{line}"));
    }
    let (from, count) = arguments.seed.map_or((arguments.from, arguments.seeds), |seed| (seed, 1));
    let begun = Instant::now();
    let (mut total, mut failures) = (Tally::default(), 0);
    for (done, seed) in (from..from + count).enumerate() {
        if done > 0 && done % 1000 == 0 {
            println!("{done} seeds, {:.0} s", begun.elapsed().as_secs_f64());
        }
        match simulate(seed, &options) {
            Ok(tally) => total += &tally,
            Err(failure) if arguments.keep_going => {
                println!("seed {seed}: {}: {}", failure.checker, failure.what);
                failures += 1;
            }
            Err(failure) => {
                println!("{failure}");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    println!("{total}");
    println!("{count} seeds, {failures} failures, {:.1} s", begun.elapsed().as_secs_f64());
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
