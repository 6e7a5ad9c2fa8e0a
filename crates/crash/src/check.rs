//! What must be true in the end, of the journal and of the witness, each held against the other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use everstep_executions::{Bookmark, ExecutionId, ListId, Reader, Standing};
use everstep_history::{Attempt, Event};
use everstep_store::Store;

use crate::harness;
use crate::load::{Execution, Load};
use crate::machines::{Machine, Part};
use crate::protocol::End;
use crate::witness::{Act, Line, Outcome};

/// Numbers that show how much was tested.
#[derive(Debug, Default)]
pub struct Facts {
    pub executions: usize,
    pub attempts: usize,
    /// Attempts that were started in more than one process.
    pub interrupted: usize,
    pub failed_attempts: usize,
}

/// Reads a store that no engine has open.
#[must_use]
pub fn reader(store: Arc<dyn Store>) -> Reader {
    Reader::new(store)
}

/// Everything that is wrong.
#[must_use]
pub fn check(reader: &Reader, load: &Load, lines: &[Line]) -> (Vec<String>, Facts) {
    let mut facts = Facts { executions: load.executions.len(), ..Facts::default() };
    let witnessed = Attempts::of(lines);
    let mut problems = witnessed.problems.clone();
    facts.attempts = witnessed.by_token.len();
    facts.interrupted = witnessed.by_token.values().filter(|it| it.starts > 1).count();
    let mut known = HashSet::new();
    for execution in &load.executions {
        let machine = &load.machines[execution.machine];
        let checked = Case { reader, machine, execution, witnessed: &witnessed }.check();
        match checked {
            Ok(journal) => {
                facts.failed_attempts += journal.failed;
                known.extend(journal.tokens);
            }
            Err(problem) => problems.push(format!("{}: {problem}", execution.arn)),
        }
    }
    // Nothing may leave before it is written down.
    for (token, seen) in &witnessed.by_token {
        if !known.contains(token) {
            problems.push(format!("{}: an attempt ran that the journal lacks", seen.execution));
        }
    }
    problems.extend(lists(reader, load));
    (problems, facts)
}

/// What the witness saw of each attempt.
struct Attempts {
    by_token: BTreeMap<String, Seen>,
    problems: Vec<String>,
}

struct Seen {
    execution: String,
    state: String,
    request: String,
    starts: usize,
    pids: HashSet<u32>,
    answers: Vec<Outcome>,
    acknowledged: bool,
}

impl Attempts {
    fn of(lines: &[Line]) -> Self {
        let mut attempts = Self { by_token: BTreeMap::new(), problems: Vec::new() };
        for line in lines {
            let seen = attempts.by_token.entry(line.token.clone()).or_insert_with(|| Seen {
                execution: line.execution.clone(),
                state: line.state.clone(),
                request: line.request.clone(),
                starts: 0,
                pids: HashSet::new(),
                answers: Vec::new(),
                acknowledged: false,
            });
            if let Err(problem) = seen.note(line) {
                attempts.problems.push(format!("{} {}: {problem}", line.execution, line.state));
            }
        }
        attempts
    }
}

impl Seen {
    fn note(&mut self, line: &Line) -> Result<(), String> {
        if line.request != self.request {
            return Err("the request id changed".to_owned());
        }
        match &line.act {
            Act::Started => return self.started(line),
            Act::Answered(outcome) => self.answers.push(outcome.clone()),
            Act::Acknowledged if self.acknowledged => {
                return Err("a second result counted".to_owned());
            }
            Act::Acknowledged => self.acknowledged = true,
            // Another request was faster: stopped, redriven or answered from outside.
            Act::Refused(code) if code == "Settled" => {}
            Act::Refused(code) => return Err(format!("a result was refused: {code}")),
        }
        Ok(())
    }

    fn started(&mut self, line: &Line) -> Result<(), String> {
        self.starts += 1;
        if self.acknowledged {
            return Err("it was started again after its result was recorded".to_owned());
        }
        if !self.pids.insert(line.pid) {
            return Err(format!("it was started twice by process {}", line.pid));
        }
        if self.starts > 1 && !line.again {
            return Err("it was started again as if for the first time".to_owned());
        }
        Ok(())
    }
}

/// One execution.
struct Case<'c> {
    reader: &'c Reader,
    machine: &'c Machine,
    execution: &'c Execution,
    witnessed: &'c Attempts,
}

/// What the journal says of an execution.
#[derive(Default)]
struct Journal {
    scheduled: Vec<Attempt>,
    outcomes: HashMap<Attempt, Outcome>,
    retries: usize,
    end: Option<End>,
    failed: usize,
    tokens: Vec<String>,
}

impl Case<'_> {
    fn check(&self) -> Result<Journal, String> {
        let id = ExecutionId::of(&self.execution.arn);
        let summary = self.reader.summary(id).map_err(|error| error.to_string())?;
        let summary = summary.ok_or("it was accepted and is not there")?;
        let events = self.reader.events(id).map_err(|error| error.to_string())?;
        let mut journal = Journal::of(&events)?;
        let expected = self.machine.end(self.execution.n);
        if journal.end.as_ref() != Some(&expected) {
            return Err(format!("it ended with {:?}, not {expected:?}", journal.end));
        }
        if self.execution.end.as_ref() != Some(&expected) {
            return Err(format!("the driver was answered {:?}", self.execution.end));
        }
        if summary.standing != standing(&expected) {
            return Err(format!("its row says {:?}", summary.standing));
        }
        let redrives = u32::from(self.machine.part == Part::Redrive);
        if summary.redrives != redrives {
            return Err(format!("it was redriven {} times", summary.redrives));
        }
        journal.tokens = journal.scheduled.iter().map(|it| self.token(*it)).collect();
        self.outcomes(&journal)?;
        self.counts(&journal)?;
        Ok(journal)
    }

    fn token(&self, attempt: Attempt) -> String {
        everstep_interpreter::attempt_name(&self.execution.arn, attempt)
    }

    /// Each recorded result is one that the task has given.
    fn outcomes(&self, journal: &Journal) -> Result<(), String> {
        for (attempt, outcome) in &journal.outcomes {
            let seen = self.witnessed.by_token.get(&self.token(*attempt));
            let seen = seen.ok_or_else(|| format!("no witness saw attempt {attempt:?} run"))?;
            let handed_on = seen.answers.contains(&Outcome::HandedOn);
            if !seen.answers.contains(outcome) && !handed_on {
                return Err(format!("{outcome:?} is recorded of {}, not said", seen.state));
            }
        }
        for attempt in &journal.scheduled {
            let seen = self.witnessed.by_token.get(&self.token(*attempt));
            let counted =
                |seen: &&Seen| seen.acknowledged && !seen.answers.contains(&Outcome::HandedOn);
            if let Some(seen) = seen.filter(counted)
                && !journal.outcomes.contains_key(attempt)
            {
                return Err(format!("an acknowledged result of {} is lost", seen.state));
            }
        }
        Ok(())
    }

    /// As many attempts as the machine says, whichever processes were killed.
    fn counts(&self, journal: &Journal) -> Result<(), String> {
        let mut expected_failures = 0;
        for (state, failures, successes) in &self.machine.attempts {
            let count = |outcome: &Outcome| {
                let of_state = |attempt: &Attempt| {
                    let seen = self.witnessed.by_token.get(&self.token(*attempt));
                    seen.is_some_and(|seen| seen.state == *state)
                };
                let all = journal.outcomes.iter();
                all.filter(|(attempt, found)| *found == outcome && of_state(attempt)).count()
            };
            let found = (count(&Outcome::Failed), count(&Outcome::Succeeded));
            if found != (*failures, *successes) {
                return Err(format!(
                    "{state} has {found:?} failures and successes, not {:?}",
                    (failures, successes)
                ));
            }
            expected_failures += failures;
        }
        if !self.machine.attempts.is_empty() && journal.failed != expected_failures {
            return Err(format!("{} attempts failed, not {expected_failures}", journal.failed));
        }
        let extra = usize::from(self.machine.part == Part::Redrive);
        let (scheduled, settled) = (journal.scheduled.len(), journal.outcomes.len() + extra);
        // The deadline of an execution may come while a task is at work, if the machine is slow.
        let cut_off = usize::from(journal.end == Some(End::TimedOut));
        if !(settled..=settled + cut_off).contains(&scheduled) {
            return Err(format!("{scheduled} attempts, {settled} of them over"));
        }
        if journal.retries > journal.failed {
            return Err(format!("{} retries of {} failures", journal.retries, journal.failed));
        }
        Ok(())
    }
}

impl Journal {
    fn of(events: &[Event]) -> Result<Self, String> {
        let mut journal = Self::default();
        for event in events {
            match event {
                Event::TaskScheduled { attempt, .. } => journal.scheduled.push(*attempt),
                Event::TaskSucceeded { attempt, .. } => {
                    journal.settle(*attempt, Outcome::Succeeded)?;
                }
                Event::TaskFailed { attempt, .. } => journal.settle(*attempt, Outcome::Failed)?,
                Event::RetryScheduled { .. } => journal.retries += 1,
                Event::ExecutionSucceeded { output, .. } => {
                    journal.end = Some(End::Succeeded(output.value().clone()));
                }
                Event::ExecutionFailed { failure, .. } => {
                    journal.end = Some(End::Failed(failure.name().to_owned()));
                }
                Event::ExecutionTimedOut { .. } => journal.end = Some(End::TimedOut),
                Event::ExecutionAborted { .. } => journal.end = Some(End::Aborted),
                Event::ExecutionRedriven { .. } => journal.end = None,
                _ => {}
            }
        }
        Ok(journal)
    }

    fn settle(&mut self, attempt: Attempt, outcome: Outcome) -> Result<(), String> {
        self.failed += usize::from(outcome == Outcome::Failed);
        match self.outcomes.insert(attempt, outcome) {
            None => Ok(()),
            Some(_) => Err(format!("attempt {attempt:?} has two results")),
        }
    }
}

fn standing(end: &End) -> Standing {
    match end {
        End::Succeeded(_) => Standing::Succeeded,
        End::Failed(_) => Standing::Failed,
        End::TimedOut => Standing::TimedOut,
        End::Aborted => Standing::Aborted,
    }
}

/// Each machine's lists hold its executions and no others, under the status that they have.
fn lists(reader: &Reader, load: &Load) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, machine) in load.machines.iter().enumerate() {
        let list = ListId::of(&harness::machine_arn(machine.name));
        let ours = load.executions.iter().filter(|it| it.machine == index);
        let expected: Vec<(String, Standing)> =
            ours.map(|it| (it.arn.clone(), standing(&machine.end(it.n)))).collect();
        for wanted in [None].into_iter().chain(Standing::ALL.map(Some)) {
            let mut expected: Vec<String> = expected
                .iter()
                .filter(|(_, standing)| wanted.is_none_or(|wanted| wanted == *standing))
                .map(|(arn, _)| arn.clone())
                .collect();
            expected.sort();
            match listed(reader, list, wanted) {
                Ok(found) if found == expected => {}
                Ok(found) => problems.push(format!(
                    "{} lists {} executions as {wanted:?}, not {}",
                    machine.name,
                    found.len(),
                    expected.len()
                )),
                Err(error) => problems.push(format!("{}: {error}", machine.name)),
            }
        }
    }
    problems
}

/// All executions of a list, by name.
///
/// # Errors
///
/// If the list cannot be read.
pub fn listed(
    reader: &Reader,
    list: ListId,
    standing: Option<Standing>,
) -> everstep_executions::Result<Vec<String>> {
    let (mut found, mut from): (Vec<String>, Option<Bookmark>) = (Vec::new(), None);
    loop {
        let page = reader.list(list, standing, from, 1000)?;
        found.extend(page.executions.into_iter().map(|summary| summary.arn));
        from = page.next;
        if from.is_none() {
            found.sort();
            return Ok(found);
        }
    }
}
