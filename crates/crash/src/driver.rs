//! Gives an engine work, kills it, starts it again, and lets it finish in the end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::child::Process;
use crate::load::Load;
use crate::protocol::Answer;

pub struct Plan<'p> {
    /// The engine under test.
    pub program: &'p str,
    pub home: &'p Path,
    /// The directory of its store, or the URL of its database.
    pub store: PathBuf,
    pub seed: u64,
    pub kills: usize,
    /// How many executions there are in all.
    pub executions: usize,
}

/// Executions that are open at a time.
const OPEN: usize = 150;
/// How long all may take to finish, once no process is killed any more.
const PEACE: Duration = Duration::from_secs(120);

/// The record of a run.
pub struct Run {
    pub load: Load,
    /// Milliseconds from the start of each process until its engine was ready, shortest first.
    pub ready_ms: Vec<u64>,
    /// Processes that were killed before they were ready.
    pub unready: usize,
}

impl Plan<'_> {
    #[must_use]
    pub fn witness(&self) -> PathBuf {
        self.home.join("witness")
    }

    /// # Errors
    ///
    /// If the engine said something that it must not say, or did not finish.
    pub fn run(&self) -> Result<Run, String> {
        let mut dice = Pcg64Mcg::seed_from_u64(self.seed);
        let mut run = Run { load: Load::default(), ready_ms: Vec::new(), unready: 0 };
        for _ in 0..self.kills {
            self.run_until_killed(&mut run, &mut dice)?;
        }
        self.run_to_the_end(&mut run, &mut dice)?;
        run.ready_ms.sort_unstable();
        Ok(run)
    }

    fn process(&self) -> Process {
        Process::start(self.program, &self.store, &self.witness())
    }

    fn run_until_killed(&self, run: &mut Run, dice: &mut Pcg64Mcg) -> Result<(), String> {
        let mut process = self.process();
        let (early, early_ms, late_ms) = (draw(dice, 8) == 0, draw(dice, 40), 1 + draw(dice, 400));
        let ready = run.ready_ms.len();
        if early {
            let until = Instant::now() + Duration::from_millis(early_ms);
            while let Ok(answer) = process.answer(until) {
                run.take(answer)?;
            }
        } else {
            self.get_ready(&mut process, run)?;
            let until = Instant::now() + Duration::from_millis(late_ms);
            self.work(&mut process, run, dice, until)?;
        }
        let (answers, errors) = process.kill();
        for answer in answers {
            run.take(answer)?;
        }
        run.unready += usize::from(run.ready_ms.len() == ready);
        complaint(&errors)
    }

    fn run_to_the_end(&self, run: &mut Run, dice: &mut Pcg64Mcg) -> Result<(), String> {
        let mut process = self.process();
        self.get_ready(&mut process, run)?;
        self.work(&mut process, run, dice, Instant::now() + PEACE)?;
        let open = run.load.open();
        let (status, errors) = process.finish();
        complaint(&errors)?;
        match (open, status.success()) {
            (0, true) => Ok(()),
            (0, false) => Err(format!("the engine left with {status}")),
            (open, _) => {
                let first: Vec<String> =
                    run.load.unanswered().iter().take(5).map(|it| format!("{it:?}")).collect();
                Err(format!("{open} executions do not end: {first:#?}"))
            }
        }
    }

    fn get_ready(&self, process: &mut Process, run: &mut Run) -> Result<(), String> {
        let deadline = Instant::now() + PEACE;
        let before = run.ready_ms.len();
        while run.ready_ms.len() == before {
            let answer = process.answer(deadline).map_err(|error| {
                format!("the engine in {} does not start: {error}", self.home.display())
            })?;
            run.take(answer)?;
        }
        Ok(())
    }

    /// Asks for what is not answered and for more, until it is time or all is done.
    fn work(
        &self,
        process: &mut Process,
        run: &mut Run,
        dice: &mut Pcg64Mcg,
        until: Instant,
    ) -> Result<(), String> {
        run.load.unanswered().iter().for_each(|request| process.send(request));
        loop {
            while run.load.open() < OPEN && run.load.executions.len() < self.executions {
                process.send(&run.load.add(dice.next_u64()));
            }
            if run.load.open() == 0 {
                return Ok(());
            }
            let Ok(answer) = process.answer(until) else { return Ok(()) };
            if let Some(next) = run.take(answer)? {
                process.send(&next);
            }
        }
    }
}

impl Run {
    fn take(&mut self, answer: Answer) -> Result<Option<crate::protocol::Request>, String> {
        if let Answer::Ready { ms } = answer {
            self.ready_ms.push(ms);
        }
        self.load.take(answer)
    }
}

/// An engine that is well says nothing on its standard error.
fn complaint(errors: &str) -> Result<(), String> {
    if errors.is_empty() { Ok(()) } else { Err(format!("on standard error: {errors}")) }
}

fn draw(dice: &mut Pcg64Mcg, below: u64) -> u64 {
    dice.next_u64() % below
}
