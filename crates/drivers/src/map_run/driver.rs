//! Runs the children of a Map Run: as many at a time as its settings allow, until all are over or too many have
//! failed.
//!
//! A driver first writes its record, then surveys the children that an earlier driver may have left, then starts and
//! redrives children. It ends when no child is running and none is to be started: it writes the record once more, and
//! only then reports to the parent. The notes of EXPRESS children leave when the report is durable: until then a crash
//! finds them. One write is under way at a time, and each is bounded.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use everstep_executions::{Note, Report, Standing};
use everstep_interpreter::Attempt;
use everstep_interpreter::map_run::too_many_failures;

use super::child::{Outcome, SavedOutcome, Seen, Verdict};
use super::outputs::{Outputs, too_large};
use super::record::{self, Record, Settings, Status};
use super::tally::{Place, Tallies};

/// Children that run at a time unless the definition says less.
pub const CHILDREN_MAX: usize = 10_000;
/// How long a driver pauses when the engine is busy.
const PAUSE_MS: i64 = 20;
/// Notes of one write, and their bytes: the last of them may be over.
pub(super) const NOTES_MAX: usize = 1000;
pub(super) const NOTES_BYTES_MAX: usize = 1 << 20;

/// What the parent asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub run_arn: String,
    pub execution_arn: String,
    pub machine_arn: String,
    /// The Map state.
    pub state: String,
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
    /// Bytes of the array of all outputs that the parent can take.
    pub output_bytes_max: usize,
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
    /// Answers [`Request::Survey`]: what the store has of the first of these children, or of all.
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
    /// Answers [`Request::Report`] when it is durable, or when it does not count because the parent waits no more.
    Reported { counts: bool },
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
    /// Reads what the store has of children, as many of the first as are not too much at a time. Once the outputs are
    /// too large, none is needed.
    Survey {
        children: Range<u32>,
        outputs: bool,
    },
    /// Starts a child, and waits for its end.
    Start(u32),
    Redrive(u32),
    /// Waits for the end of a child that runs.
    Watch(u32),
    Stop(u32),
    /// Reads what the store has of one child.
    Look(u32),
    /// The run is over, and that is durable: reports to the parent. Not asked for if the run was cancelled.
    Report(Report),
    /// All is done. A cancellation is confirmed, and the driver is not needed any more.
    Finish,
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
    outputs: Outputs,
    /// EXPRESS children whose outcomes are to be noted. The notes of the first `saving` are being written.
    unsaved: VecDeque<(u32, Standing)>,
    saving: usize,
    ending: Option<Ending>,
    /// What the engine was too busy for, and when to ask again.
    refused: Vec<Request>,
    paused_until_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The record is being written.
    Opening,
    /// The children before `from` are known.
    Surveying {
        from: u32,
    },
    Running,
    /// The record of the end is being written.
    Closing,
    /// The parent is getting the report.
    Reporting,
    /// The notes of children are being removed; those before `from` are gone.
    Clearing {
        from: u32,
    },
    Over,
}

#[derive(Debug)]
struct Child {
    items: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    PendingRedrive,
    Starting,
    Redriving,
    Running,
    Looking,
    /// An EXPRESS child whose outcome is not noted yet.
    Ended,
    Over(Standing),
}

/// Why a run does not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    TooManyFailures,
    /// All children are over, and what they have returned is more than the parent can take.
    TooLarge,
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
            Self::Over(standing) => Place::Over(*standing),
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
            outputs: Outputs::new(plan.output_bytes_max),
            unsaved: VecDeque::new(),
            saving: 0,
            ending: None,
            refused: Vec::new(),
            paused_until_ms: None,
            record,
            plan,
        };
        let write = driver.write_record();
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
            Input::Reported { counts } => self.reported(counts, requests),
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
            self.end_early(Ending::TooManyFailures, requests);
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
        let Phase::Surveying { from } = self.phase else { return };
        let mut next = from;
        for (index, seen) in (from..self.count()).zip(seen) {
            let verdict = seen.verdict(self.record.redrives, self.record.redriven_ms);
            self.waiting.remove(&index);
            self.found(index, verdict, requests);
            next = index + 1;
        }
        // A child that was not seen has not been started.
        if next == from { self.phase = Phase::Running } else { self.survey(next, requests) }
    }

    fn survey(&mut self, from: u32, requests: &mut Vec<Request>) {
        let (children, outputs) = (from..self.count(), !self.outputs.is_exceeded());
        if children.is_empty() {
            self.phase = Phase::Running;
            return;
        }
        self.phase = Phase::Surveying { from };
        requests.push(Request::Survey { children, outputs });
    }

    fn count(&self) -> u32 {
        u32::try_from(self.children.len()).unwrap_or(u32::MAX)
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
            Verdict::Over(outcome) => {
                let standing = self.keep(index, outcome);
                self.set(index, State::Over(standing));
            }
        }
    }

    fn ended(&mut self, index: u32, outcome: Outcome) {
        if !matches!(self.children[index as usize].state, State::Starting | State::Running) {
            return;
        }
        let standing = self.keep(index, outcome);
        if self.plan.express {
            self.set(index, State::Ended);
            self.unsaved.push_back((index, standing));
        } else {
            self.settle(index, standing);
        }
    }

    fn keep(&mut self, index: u32, outcome: Outcome) -> Standing {
        if outcome.standing == Standing::Succeeded {
            self.outputs.add(index, outcome.output);
        }
        outcome.standing
    }

    fn settle(&mut self, index: u32, standing: Standing) {
        self.active -= 1;
        self.set(index, State::Over(standing));
    }

    /// Notes the outcomes of EXPRESS children, many of those that have come meanwhile at once.
    fn save(&mut self, requests: &mut Vec<Request>) {
        if self.saving > 0 || self.unsaved.is_empty() {
            return;
        }
        let (mut notes, mut bytes) = (Vec::new(), 0);
        for (index, standing) in &self.unsaved {
            if notes.len() == NOTES_MAX || bytes >= NOTES_BYTES_MAX {
                break;
            }
            let note = self.outcome_note(*index, *standing);
            bytes += note.text.as_ref().map_or(0, Vec::len);
            notes.push(note);
        }
        self.saving = notes.len();
        requests.push(Request::Write(notes));
    }

    fn outcome_note(&self, index: u32, standing: Standing) -> Note {
        let (output, redrives) = (self.outputs.get(index), self.record.redrives);
        let saved = SavedOutcome::of(standing, output, redrives, self.items(index));
        record::outcome_note(self.plan.run, index, &saved)
    }

    fn written(&mut self, outcome: Result<(), Busy>, now_ms: i64, requests: &mut Vec<Request>) {
        match (self.phase, outcome) {
            (Phase::Opening, Ok(())) if self.plan.again || self.record.redrives > 0 => {
                self.survey(0, requests);
            }
            (Phase::Opening, Ok(())) => self.phase = Phase::Running,
            (Phase::Opening | Phase::Closing, Err(Busy)) => {
                let write = self.write_record();
                self.ask_later(write, now_ms);
            }
            (Phase::Running, Ok(())) => {
                let saved: Vec<_> = self.unsaved.drain(..self.saving).collect();
                self.saving = 0;
                saved.into_iter().for_each(|(index, standing)| self.settle(index, standing));
            }
            (Phase::Running, Err(Busy)) => {
                self.saving = 0;
                self.pause(now_ms);
            }
            (Phase::Closing, Ok(())) => self.report(requests),
            (Phase::Clearing { from }, Ok(())) => self.clear(self.clearing(from).end, requests),
            (Phase::Clearing { from }, Err(Busy)) => {
                let write = Request::Write(self.removals(from));
                self.ask_later(write, now_ms);
            }
            (Phase::Surveying { .. } | Phase::Reporting | Phase::Over, _) => {}
        }
    }

    fn end_early(&mut self, ending: Ending, requests: &mut Vec<Request>) {
        if matches!(self.phase, Phase::Closing | Phase::Reporting | Phase::Clearing { .. }) {
            // It has ended, and its children with it.
            return;
        }
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
        if self.ending.is_none() && self.outputs.is_exceeded() {
            self.ending = Some(Ending::TooLarge);
        }
        self.record.tallies = self.tallies;
        self.record.stopped_ms = Some(now_ms);
        self.record.status = match self.ending {
            None => Status::Succeeded,
            Some(Ending::TooManyFailures | Ending::TooLarge) => Status::Failed,
            Some(Ending::Cancelled) => Status::Aborted,
        };
        requests.push(self.write_record());
    }

    fn write_record(&self) -> Request {
        Request::Write(vec![record::record_note(self.plan.run, &self.record)])
    }

    fn report(&mut self, requests: &mut Vec<Request>) {
        let failed = |failure| Report::MapRunFailed { failure };
        let report = match self.ending {
            Some(Ending::Cancelled) => return self.finish(requests),
            Some(Ending::TooManyFailures) => failed(too_many_failures()),
            Some(Ending::TooLarge) => failed(too_large(&self.plan.state)),
            None => Report::MapRunFinished { children: self.outputs.take(self.count()) },
        };
        self.phase = Phase::Reporting;
        requests.push(Request::Report(report));
    }

    /// The outcomes of EXPRESS children are not needed once they are part of the parent. A run that did not succeed may
    /// be redriven, and so may one whose success does not count.
    fn reported(&mut self, counts: bool, requests: &mut Vec<Request>) {
        if self.phase != Phase::Reporting {
            return;
        }
        match counts && self.plan.express && self.ending.is_none() {
            true => self.clear(0, requests),
            false => self.finish(requests),
        }
    }

    fn clear(&mut self, from: u32, requests: &mut Vec<Request>) {
        if self.clearing(from).is_empty() {
            return self.finish(requests);
        }
        self.phase = Phase::Clearing { from };
        requests.push(Request::Write(self.removals(from)));
    }

    /// The children whose notes are removed at a time.
    fn clearing(&self, from: u32) -> Range<u32> {
        from..self.count().min(from.saturating_add(NOTES_MAX as u32))
    }

    fn removals(&self, from: u32) -> Vec<Note> {
        self.clearing(from).map(|index| record::forget_note(self.plan.run, index)).collect()
    }

    fn finish(&mut self, requests: &mut Vec<Request>) {
        self.phase = Phase::Over;
        requests.push(Request::Finish);
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
