//! The engine is killed hundreds of times under load, and nothing is lost or done twice.
//!
//! `EVERSTEP_KILLS=5000 cargo test -p everstep-crash --test kill` kills more often; `EVERSTEP_SEED` repeats
//! what the driver did in a run that failed, as far as time itself can be repeated.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use everstep_crash::check::{self, Facts};
use everstep_crash::driver::{Plan, Run};
use everstep_crash::{harness, witness};

const PROGRAM: &str = env!("CARGO_BIN_EXE_engine-under-test");

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn check(kills: usize, executions: usize) -> (Run, Facts) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = number("EVERSTEP_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let plan = Plan { program: PROGRAM, home: home.path(), seed, kills, executions };
    match run(&plan) {
        Ok(facts) => facts,
        Err(problem) => {
            let kept = home.keep();
            panic!(
                "{problem}\n\nthe store and the witness are in {}\nrepeat with EVERSTEP_SEED={seed} \
                 EVERSTEP_KILLS={kills} cargo test -p everstep-crash --test kill",
                kept.display()
            );
        }
    }
}

fn run(plan: &Plan<'_>) -> Result<(Run, Facts), String> {
    let run = plan.run()?;
    let lines = witness::read(&plan.witness()).map_err(|error| error.to_string())?;
    let reader = check::reader(harness::store(&plan.directory())?);
    let (problems, facts) = check::check(&reader, &run.load, &lines);
    report(plan.home, &run, &facts);
    if problems.is_empty() {
        return Ok((run, facts));
    }
    let first: Vec<String> = problems.iter().take(20).cloned().collect();
    Err(format!("{} things are wrong, first {first:#?}", problems.len()))
}

fn report(home: &Path, run: &Run, facts: &Facts) {
    let ready = &run.ready_ms;
    println!(
        "{}: {facts:?}; {} processes were ready after {} ms (median) and at most {} ms, {} were killed before",
        home.display(),
        ready.len(),
        ready[ready.len() / 2],
        ready[ready.len() - 1],
        run.unready,
    );
}

#[test]
fn an_engine_that_is_killed_at_any_moment_loses_nothing_and_repeats_nothing() {
    let kills = number("EVERSTEP_KILLS").map_or(300, |kills| usize::try_from(kills).unwrap_or(300));
    let (run, facts) = check(kills, kills * 10);
    // Otherwise the test has shown nothing.
    assert!(facts.interrupted >= kills / 10, "{facts:?}");
    assert!(facts.failed_attempts > 0 && run.unready > 0, "{facts:?}");
}

#[test]
fn an_engine_that_is_left_in_peace_starts_everything_once() {
    let (_, facts) = check(0, 600);
    assert_eq!(facts.interrupted, 0, "{facts:?}");
}
