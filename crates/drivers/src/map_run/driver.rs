//! Runs the children of a Map Run: as many at a time as its settings allow, until all are over or too many have
//! failed.
//!
//! A driver first writes its record, then surveys the children that an earlier driver may have left, then starts and
//! redrives children. It ends when no child is running and none is to be started: it writes the record once more, and
//! only then reports to the parent. One write is under way at a time.

use std::collections::BTreeSet;

use everstep_executions::{Note, Report};
use everstep_history::{Failure, Payload};
use everstep_interpreter::Attempt;
use everstep_interpreter::map_run::too_many_failures;

use super::child::{Outcome, SavedOutcome, Seen, Verdict};
use super::record::{self, Record, Settings, Status};
use super::tally::{Place, Tallies};

/// Children that run at a time unless the definition says less.
pub const CHILDREN_MAX: usize = 10_000;
/// How long a driver pauses when the engine is busy.
const PAUSE_MS: i64 = 20;

/// What the parent asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub run_arn: String,
    pub execution_arn: String,
    pub machine_arn: String,
    /// The number that the run is known by for ever.
    pub run: u32,
    /// The attempt that it is driven under: another one after a redrive.
    pub attempt: Attempt,
    pub redrives: u32,
    /// As the definition has them.
    pub settings: Settings,
    /// Nothing of its children is stored.
    pub express: bool,
    /// How many items each child processes.
    pub items: Vec<u64>,
    /// It may have been driven before: a crash hides how far it got.
    pub again: bool,
}

/// The rows of the run, if it has been driven before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    pub record: Option<Record>,
    /// What `UpdateMapRun` has written.
    pub settings: Option<Settings>,
}

/// All that can reach a driver. Children go by their index among the inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Answers [`Request::Write`].
    Written(Result<(), Busy>),
    /// Answers [`Request::Survey`]: what the store has of each child.
    Surveyed(Vec<Seen>),
    /// Answers [`Request::Start`]. The end of the child may be known before.
    Started(u32, Result<(), Refusal>),
    /// Answers [`Request::Redrive`].
    Redriven(u32, Result<(), Refusal>),
    /// A child that was started or watched is over.
    Ended(u32, Outcome),
    /// Refuses [`Request::Watch`].
    NotWatched(u32, Refusal),
    /// Answers [`Request::Stop`]. A child that is over or gone counts as stopped.
    Stopped(u32, Result<(), Busy>),
    /// Answers [`Request::Look`].
    Looked(u32, Seen),
    /// `UpdateMapRun` has written other settings.
    Changed(Settings),
    /// The parent does not wait for the run any more.
    Cancelled,
    /// It is [`Driver::next_due_ms`] or later.
    TimePassed,
}

/// The engine has too many requests: try again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Why a request about a child was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Busy,
    /// The child is not as the request assumes: it exists already, it is not over, or it is gone.
    Unexpected,
}

/// All that a driver asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Makes notes beside the parent durable.
    Write(Vec<Note>),
    /// Reads what the store has of all children.
    Survey,
    /// Starts a child, and waits for its end.
    Start(u32),
    Redrive(u32),
    /// Waits for the end of a child that runs.
    Watch(u32),
    Stop(u32),
    /// Reads what the store has of one child.
    Look(u32),
    /// The run is over, and that is durable. Reports to the parent, unless the run was cancelled: then the
    /// cancellation is confirmed. The driver is not needed any more.
    Finish(Option<Report>),
}

#[derive(Debug)]
pub struct Driver {
    plan: Plan,
    record: Record,
    settings: Settings,
    phase: Phase,
    children: Vec<Child>,
    tallies: Tallies,
    /// Children to be started or redriven.
    waiting: BTreeSet<u32>,
    /// Children that are neither waiting nor over.
    active: usize,
    /// Outcomes of EXPRESS children that are to be noted, and those whose notes are being written.
    unsaved: Vec<(u32, Outcome)>,
    saving: Vec<(u32, Outcome)>,
    ending: Option<Ending>,
    /// What the engine was too busy for, and when to ask again.
    refused: Vec<Request>,
    paused_until_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The record is being written.
    Opening,
    Surveying,
    Running,
    /// The record of the end is being written.
    Closing,
    Over,
}

#[derive(Debug)]
struct Child {
    items: u64,
    state: State,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Pending,
    PendingRedrive,
    Starting,
    Redriving,
    Running,
    Looking,
    /// An EXPRESS child whose outcome is not noted yet.
    Ended,
    Over(Outcome),
}

/// Why a run ends before its children do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Failed,
    Cancelled,
}

impl State {
    fn place(&self) -> Place {
        match self {
            Self::Pending => Place::Pending,
            Self::PendingRedrive => Place::PendingRedrive,
            Self::Starting | Self::Redriving | Self::Running | Self::Looking | Self::Ended => {
                Place::Running
            }
            Self::Over(outcome) => Place::Over(outcome.standing),
        }
    }
}

impl Driver {
    /// Takes a run up: a new one, one that is redriven, or one that a crash has interrupted.
    #[must_use]
    pub fn open(plan: Plan, stored: Stored, now_ms: i64) -> (Self, Vec<Request>) {
        let mut tallies = Tallies::default();
        plan.items.iter().for_each(|items| tallies.add(Place::Pending, *items));
        let settings = stored.settings.or(stored.record.as_ref().map(|known| known.settings));
        let record = opening_record(&plan, stored.record, tallies, now_ms);
        let child = |items: &u64| Child { items: *items, state: State::Pending };
        let driver = Self {
            settings: settings.unwrap_or(plan.settings),
            phase: Phase::Opening,
            children: plan.items.iter().map(child).collect(),
            waiting: (0..).take(plan.items.len()).collect(),
            tallies,
            active: 0,
            unsaved: Vec::new(),
            saving: Vec::new(),
            ending: None,
            refused: Vec::new(),
            paused_until_ms: None,
            record,
            plan,
        };
        let write = Request::Write(vec![record::record_note(driver.plan.run, &driver.record)]);
        (driver, vec![write])
    }

    pub fn handle(&mut self, input: Input, now_ms: i64) -> Vec<Request> {
        let mut requests = Vec::new();
        if self.is_over() {
            return requests;
        }
        self.take(input, now_ms, &mut requests);
        self.advance(now_ms, &mut requests);
        requests
    }

    /// When [`Input::TimePassed`] is wanted, if it is.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        self.paused_until_ms
    }

    #[must_use]
    pub fn tallies(&self) -> Tallies {
        self.tallies
    }

    /// The number of items of a child.
    #[must_use]
    pub fn items(&self, index: u32) -> u64 {
        self.children[index as usize].items
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn take(&mut self, input: Input, now_ms: i64, requests: &mut Vec<Request>) {
        match input {
            Input::Written(outcome) => self.written(outcome, now_ms, requests),
            Input::Surveyed(seen) => self.surveyed(seen, requests),
            Input::Started(index, answer) => self.started(index, answer, now_ms, requests),
            Input::Redriven(index, answer) => self.redriven(index, answer, now_ms, requests),
            Input::Ended(index, outcome) => self.ended(index, outcome),
            Input::NotWatched(index, refusal) => self.not_watched(index, refusal, now_ms, requests),
            Input::Stopped(index, Err(Busy)) => self.ask_later(Request::Stop(index), now_ms),
            Input::Stopped(_, Ok(())) | Input::TimePassed => {}
            Input::Looked(index, seen) => self.looked(index, seen, now_ms, requests),
            Input::Changed(settings) => self.settings = settings,
            Input::Cancelled => self.end_early(Ending::Cancelled, requests),
        }
    }

    /// Does what there is room for.
    fn advance(&mut self, now_ms: i64, requests: &mut Vec<Request>) {
        if self.paused_until_ms.is_some_and(|until| now_ms < until) {
            return;
        }
        self.paused_until_ms = None;
        self.ask_again(requests);
        if self.phase != Phase::Running {
            return;
        }
        if self.ending.is_none() && self.is_exceeded() {
            self.end_early(Ending::Failed, requests);
        }
        while self.ending.is_none()
            && self.active < self.room()
            && let Some(index) = self.waiting.pop_first()
        {
            self.begin(index, requests);
        }
        self.save(requests);
        if self.active == 0 && (self.ending.is_some() || self.waiting.is_empty()) {
            self.close(now_ms, requests);
        }
    }

    fn ask_later(&mut self, request: Request, now_ms: i64) {
        self.refused.push(request);
        self.pause(now_ms);
    }

    fn pause(&mut self, now_ms: i64) {
        self.paused_until_ms = Some(now_ms.saturating_add(PAUSE_MS));
    }

    /// Repeats what the engine was too busy for, unless it is not needed any more.
    fn ask_again(&mut self, requests: &mut Vec<Request>) {
        for request in std::mem::take(&mut self.refused) {
            let needed = match &request {
                Request::Watch(index) | Request::Stop(index) => {
                    self.children[*index as usize].state == State::Running
                }
                _ => true,
            };
            if needed {
                requests.push(request);
            }
        }
    }

    fn room(&self) -> usize {
        match self.settings.max_concurrency {
            0 => CHILDREN_MAX,
            set => (set as usize).min(CHILDREN_MAX),
        }
    }

    fn is_exceeded(&self) -> bool {
        let items = self.tallies.items;
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        self.settings.tolerance().is_exceeded(count(items.unsuccessful()), count(items.total()))
    }

    fn begin(&mut self, index: u32, requests: &mut Vec<Request>) {
        self.active += 1;
        let stale = self.children[index as usize].state == State::PendingRedrive;
        if stale && !self.plan.express {
            self.set(index, State::Redriving);
            requests.push(Request::Redrive(index));
        } else {
            self.set(index, State::Starting);
            requests.push(Request::Start(index));
        }
    }

    fn set(&mut self, index: u32, state: State) {
        let child = &mut self.children[index as usize];
        let (from, to) = (child.state.place(), state.place());
        child.state = state;
        if from != to {
            self.tallies.shift(from, to, child.items);
        }
    }

    fn is(&self, index: u32, state: &State) -> bool {
        self.children[index as usize].state == *state
    }

    fn started(
        &mut self,
        index: u32,
        answer: Result<(), Refusal>,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        // Its end was known first.
        if !self.is(index, &State::Starting) {
            return;
        }
        match answer {
            Ok(()) => self.runs(index, requests),
            Err(Refusal::Busy) => self.put_back(index, State::Pending, now_ms),
            Err(Refusal::Unexpected) => self.look(index, requests),
        }
    }

    fn redriven(
        &mut self,
        index: u32,
        answer: Result<(), Refusal>,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        if !self.is(index, &State::Redriving) {
            return;
        }
        match answer {
            Ok(()) => {
                requests.push(Request::Watch(index));
                self.runs(index, requests);
            }
            Err(Refusal::Busy) => self.put_back(index, State::PendingRedrive, now_ms),
            Err(Refusal::Unexpected) => self.look(index, requests),
        }
    }

    /// A child runs, and is stopped at once if the run ends.
    fn runs(&mut self, index: u32, requests: &mut Vec<Request>) {
        self.set(index, State::Running);
        if self.ending.is_some() {
            requests.push(Request::Stop(index));
        }
    }

    fn put_back(&mut self, index: u32, state: State, now_ms: i64) {
        self.active -= 1;
        self.set(index, state);
        self.waiting.insert(index);
        self.pause(now_ms);
    }

    fn look(&mut self, index: u32, requests: &mut Vec<Request>) {
        self.set(index, State::Looking);
        requests.push(Request::Look(index));
    }

    fn not_watched(
        &mut self,
        index: u32,
        refusal: Refusal,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        if !self.is(index, &State::Running) {
            return;
        }
        match refusal {
            Refusal::Busy => self.ask_later(Request::Watch(index), now_ms),
            Refusal::Unexpected => self.look(index, requests),
        }
    }

    fn looked(&mut self, index: u32, seen: Seen, now_ms: i64, requests: &mut Vec<Request>) {
        if !self.is(index, &State::Looking) {
            return;
        }
        let verdict = seen.verdict(self.record.redrives, self.record.redriven_ms);
        // It is being removed: until it is gone it can be neither redriven nor started again.
        if matches!(verdict, Verdict::Absent | Verdict::Stale) {
            self.pause(now_ms);
        }
        self.active -= 1;
        self.found(index, verdict, requests);
    }

    fn surveyed(&mut self, seen: Vec<Seen>, requests: &mut Vec<Request>) {
        if self.phase != Phase::Surveying {
            return;
        }
        self.phase = Phase::Running;
        self.waiting.clear();
        for (index, seen) in (0..).zip(seen).take(self.children.len()) {
            let verdict = seen.verdict(self.record.redrives, self.record.redriven_ms);
            self.found(index, verdict, requests);
        }
    }

    /// Takes up a child as the store has it.
    fn found(&mut self, index: u32, verdict: Verdict, requests: &mut Vec<Request>) {
        match verdict {
            Verdict::Absent => {
                self.set(index, State::Pending);
                self.waiting.insert(index);
            }
            Verdict::Stale => {
                self.set(index, State::PendingRedrive);
                self.waiting.insert(index);
            }
            Verdict::Running => {
                self.active += 1;
                requests.push(Request::Watch(index));
                self.runs(index, requests);
            }
            Verdict::Over(outcome) => self.set(index, State::Over(outcome)),
        }
    }

    fn ended(&mut self, index: u32, outcome: Outcome) {
        if !matches!(self.children[index as usize].state, State::Starting | State::Running) {
            return;
        }
        if self.plan.express {
            self.set(index, State::Ended);
            self.unsaved.push((index, outcome));
        } else {
            self.settle(index, outcome);
        }
    }

    fn settle(&mut self, index: u32, outcome: Outcome) {
        self.active -= 1;
        self.set(index, State::Over(outcome));
    }

    /// Notes the outcomes of EXPRESS children, all that have come meanwhile at once.
    fn save(&mut self, requests: &mut Vec<Request>) {
        if !self.saving.is_empty() || self.unsaved.is_empty() {
            return;
        }
        self.saving = std::mem::take(&mut self.unsaved);
        let (run, redrives) = (self.plan.run, self.record.redrives);
        let note = |(index, outcome): &(u32, Outcome)| {
            let saved = SavedOutcome::of(outcome, redrives, self.items(*index));
            record::outcome_note(run, *index, &saved)
        };
        requests.push(Request::Write(self.saving.iter().map(note).collect()));
    }

    fn written(&mut self, outcome: Result<(), Busy>, now_ms: i64, requests: &mut Vec<Request>) {
        match (self.phase, outcome) {
            (Phase::Opening, Ok(())) if self.plan.again || self.record.redrives > 0 => {
                self.phase = Phase::Surveying;
                requests.push(Request::Survey);
            }
            (Phase::Opening, Ok(())) => self.phase = Phase::Running,
            (Phase::Opening, Err(Busy)) => {
                let note = record::record_note(self.plan.run, &self.record);
                self.ask_later(Request::Write(vec![note]), now_ms);
            }
            (Phase::Running, Ok(())) => {
                for (index, outcome) in std::mem::take(&mut self.saving) {
                    self.settle(index, outcome);
                }
            }
            (Phase::Running, Err(Busy)) => {
                let saving = std::mem::take(&mut self.saving);
                self.unsaved.splice(0..0, saving);
                self.pause(now_ms);
            }
            (Phase::Closing, Ok(())) => {
                self.phase = Phase::Over;
                requests.push(Request::Finish(self.report()));
            }
            (Phase::Closing, Err(Busy)) => {
                let write = Request::Write(self.closing_notes());
                self.ask_later(write, now_ms);
            }
            (Phase::Surveying | Phase::Over, _) => {}
        }
    }

    fn end_early(&mut self, ending: Ending, requests: &mut Vec<Request>) {
        if self.ending.replace(ending).is_some() {
            // The children have been stopped.
            return;
        }
        for (index, child) in (0..).zip(&self.children) {
            if child.state == State::Running {
                requests.push(Request::Stop(index));
            }
        }
    }

    fn close(&mut self, now_ms: i64, requests: &mut Vec<Request>) {
        self.phase = Phase::Closing;
        self.record.tallies = self.tallies;
        self.record.stopped_ms = Some(now_ms);
        self.record.status = match self.ending {
            None => Status::Succeeded,
            Some(Ending::Failed) => Status::Failed,
            Some(Ending::Cancelled) => Status::Aborted,
        };
        requests.push(Request::Write(self.closing_notes()));
    }

    /// The record; the outcomes of children leave when they become part of the parent.
    fn closing_notes(&self) -> Vec<Note> {
        let run = self.plan.run;
        let forgotten = match self.record.status {
            Status::Succeeded if self.plan.express => self.children.len(),
            _ => 0,
        };
        let forget = (0..).take(forgotten).map(|index| record::forget_note(run, index));
        forget.chain([record::record_note(run, &self.record)]).collect()
    }

    fn report(&mut self) -> Option<Report> {
        match self.record.status {
            Status::Aborted | Status::Running => None,
            Status::Failed => Some(Report::MapRunFailed { failure: too_many_failures() }),
            Status::Succeeded => {
                let children = std::mem::take(&mut self.children);
                let children = children.into_iter().map(|child| result(child.state)).collect();
                Some(Report::MapRunFinished { children })
            }
        }
    }
}

fn result(state: State) -> Result<Payload, Failure> {
    match state {
        State::Over(outcome) => outcome.result,
        _ => Err(Failure::default()),
    }
}

/// What is stored of the run, brought up to date.
fn opening_record(plan: &Plan, known: Option<Record>, tallies: Tallies, now_ms: i64) -> Record {
    let attempt = (plan.attempt.frame.0, plan.attempt.number);
    match known {
        Some(known) => {
            let redriven_ms = match known.redrives < plan.redrives {
                true => Some(now_ms),
                false => known.redriven_ms,
            };
            let (status, stopped_ms, redrives) = (Status::Running, None, plan.redrives);
            Record { attempt, status, stopped_ms, redrives, redriven_ms, tallies, ..known }
        }
        None => Record {
            arn: plan.run_arn.clone(),
            execution_arn: plan.execution_arn.clone(),
            machine_arn: plan.machine_arn.clone(),
            status: Status::Running,
            started_ms: now_ms,
            stopped_ms: None,
            settings: plan.settings,
            redrives: plan.redrives,
            redriven_ms: None,
            attempt,
            tallies,
        },
    }
}
