//! The engine is killed hundreds of times under load, and nothing is lost or done twice.
//!
//! `EVERSTEP_KILLS=5000 cargo test -p everstep-crash --test kill` kills more often; `EVERSTEP_SEED` repeats
//! what the driver did in a run that failed, as far as time itself can be repeated.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use everstep_crash::check::{self, Facts};
use everstep_crash::driver::{Plan, Run};
use everstep_crash::{harness, witness};
use everstep_test_postgres::{Server, Settings};

const PROGRAM: &str = env!("CARGO_BIN_EXE_engine-under-test");

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// On a directory, or on a database.
fn check(kills: usize, executions: usize, database: Option<String>) -> (Run, Facts) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = number("EVERSTEP_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let store = database.map_or_else(|| home.path().join("store"), PathBuf::from);
    let plan = Plan { program: PROGRAM, home: home.path(), store, seed, kills, executions };
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
    let reader = check::reader(harness::store(&plan.store)?);
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

fn kills(usual: usize) -> usize {
    number("EVERSTEP_KILLS").and_then(|kills| usize::try_from(kills).ok()).unwrap_or(usual)
}

#[test]
fn an_engine_that_is_killed_at_any_moment_loses_nothing_and_repeats_nothing() {
    let kills = kills(300);
    let (run, facts) = check(kills, kills * 10, None);
    // Otherwise the test has shown nothing.
    assert!(facts.interrupted >= kills / 10, "{facts:?}");
    assert!(facts.failed_attempts > 0 && run.unready > 0, "{facts:?}");
}

#[test]
fn an_engine_that_is_left_in_peace_starts_everything_once() {
    let (_, facts) = check(0, 600, None);
    assert_eq!(facts.interrupted, 0, "{facts:?}");
}

fn database() -> Option<Server> {
    Server::start(&Settings { fsync: true, ..Settings::default() })
}

#[test]
fn an_engine_on_postgresql_that_is_killed_loses_nothing_and_repeats_nothing() {
    let Some(server) = database() else { return };
    let kills = kills(40);
    let (run, facts) = check(kills, kills * 10, Some(server.new_url()));
    assert!(facts.interrupted >= kills / 10, "{facts:?}");
    assert!(facts.failed_attempts > 0 && run.unready > 0, "{facts:?}");
}

/// The engine continues: it neither fails nor starts anything twice, as it is not restarted.
#[test]
fn an_engine_whose_postgresql_is_killed_continues() {
    let Some(server) = database() else { return };
    let url = server.new_url();
    let is_over = AtomicBool::new(false);
    let (facts, kills) = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut kills = 0;
            while kills < 8 && !is_over.load(Ordering::Relaxed) {
                // Under load for a while each time.
                thread::sleep(Duration::from_millis(400 + 300 * (kills % 4)));
                server.kill();
                server.run();
                kills += 1;
            }
            kills
        });
        let (_, facts) = check(0, 1200, Some(url.clone()));
        is_over.store(true, Ordering::Relaxed);
        (facts, killer.join().expect("no panic"))
    });
    assert_eq!(facts.interrupted, 0, "{facts:?}");
    assert!(kills >= 3, "it was over after {kills} kills");
}

#[test]
fn an_engine_on_postgresql_that_is_left_in_peace_starts_everything_once() {
    let Some(server) = database() else { return };
    let (_, facts) = check(0, 600, Some(server.new_url()));
    assert_eq!(facts.interrupted, 0, "{facts:?}");
}
