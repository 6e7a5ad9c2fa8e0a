//! What holds for every definition and whatever happens to it.

use std::sync::Arc;

use everstep_interpreter::{
    Attempt, Decision, Dialect, Effect, Event, Execution, Failure, FailureStage, Input, Limits,
    Occasion, Payload, Program, Refusal, Status, Turn, aws_history, effects,
};
use proptest::prelude::*;
use serde_json::json;

use crate::random::{ERRORS, Step, bodies, definition, steps};
use crate::world::{START_MS, check_events, compile, identity};

/// An execution to which random things happen.
struct Life {
    execution: Execution,
    empty: Execution,
    journal: Vec<Event>,
    attempts: Vec<Attempt>,
    now_ms: i64,
    seed: u64,
}

impl Life {
    fn new(program: Program) -> Self {
        let execution = Execution::new(Arc::new(program), identity());
        let mut life = Self {
            empty: execution.clone(),
            execution,
            journal: Vec::new(),
            attempts: Vec::new(),
            now_ms: START_MS,
            seed: 7,
        };
        let input = Payload::new(json!({ "n": 1, "list": [1, 2, 3] }));
        life.give(Input::Start { input }).expect("it starts");
        life
    }

    /// Decides in turns of any length until all is decided. Between two turns the execution is forgotten and folded
    /// from its journal, as after a crash.
    fn give(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        let Decision { mut events, mut is_unfinished } = self.give_in_turn(input)?;
        while is_unfinished {
            self.execution = self.fold();
            let decision = self.give_in_turn(Input::Continue).expect("it is ready");
            events.extend(decision.events);
            is_unfinished = decision.is_unfinished;
        }
        Ok(events)
    }

    /// Decides twice, which must come to the same, and folds, which must too.
    fn give_in_turn(&mut self, input: Input) -> Result<Decision, Refusal> {
        self.seed += 1;
        let occasion = Occasion::new(self.now_ms, self.seed);
        let turn = Turn { events_max: self.turn_events(), ..Turn::WHOLE };
        let mut again = self.execution.clone();
        let decision = self.execution.decide_in_turn(input.clone(), occasion, &turn);
        let repeated = again.decide_in_turn(input, occasion, &turn);
        assert_eq!(repeated, decision, "decide is not deterministic");
        assert!(again == self.execution);
        let decision = decision?;
        assert_eq!(decision.is_unfinished, self.execution.is_ready(), "{:?}", self.execution);
        let events = &decision.events;
        assert!(!events.is_empty(), "what is accepted changes something");
        self.journal.extend(events.iter().cloned());
        for effect in effects(&self.execution, events) {
            if let Effect::ScheduleTask { attempt, .. } = effect {
                assert!(!self.attempts.contains(&attempt), "an attempt was scheduled twice");
                self.attempts.push(attempt);
            }
        }
        let folded = self.fold();
        assert!(folded == self.execution, "a fold of the journal is not the live execution");
        assert_eq!(folded.is_ready(), self.execution.is_ready());
        Ok(decision)
    }

    fn turn_events(&self) -> usize {
        match self.seed % 4 {
            0 => usize::MAX,
            _ => usize::try_from(self.seed * 7 % 11).expect("it is small"),
        }
    }

    fn fold(&self) -> Execution {
        let mut folded = self.empty.clone();
        self.journal.iter().for_each(|event| folded.apply(event));
        folded
    }

    fn awaited(&self, which: u8) -> Option<Attempt> {
        let open: Vec<Attempt> =
            self.attempts.iter().copied().filter(|a| self.execution.awaits(*a)).collect();
        (!open.is_empty()).then(|| open[usize::from(which) % open.len()])
    }

    fn over(&self, which: u8) -> Option<Attempt> {
        let over: Vec<Attempt> =
            self.attempts.iter().copied().filter(|a| !self.execution.awaits(*a)).collect();
        (!over.is_empty()).then(|| over[usize::from(which) % over.len()])
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Succeed(which) => {
                if let Some(attempt) = self.awaited(*which) {
                    let output = Payload::new(json!({ "n": which }));
                    self.give(Input::TaskSucceeded { attempt, output }).expect("it is awaited");
                    assert!(!self.execution.awaits(attempt));
                }
            }
            Step::Fail(which, error) => {
                if let Some(attempt) = self.awaited(*which) {
                    let error = ERRORS[usize::from(*error) % ERRORS.len()];
                    let (failure, stage) = (Failure::new(error, ""), FailureStage::Run);
                    self.give(Input::TaskFailed { attempt, failure, stage })
                        .expect("it is awaited");
                    assert!(!self.execution.awaits(attempt));
                }
            }
            Step::Start(which) => {
                if let Some(attempt) = self.awaited(*which) {
                    let said = self.give(Input::TaskStarted { attempt, worker: None });
                    assert!(matches!(said, Ok(_) | Err(Refusal::Repeated)));
                }
            }
            Step::Beat(which) => {
                if let Some(attempt) = self.awaited(*which) {
                    assert_eq!(self.execution.heartbeat(attempt, self.now_ms), Ok(()));
                }
            }
            Step::Stale(which) => {
                if let Some(attempt) = self.over(*which) {
                    let output = Payload::new(json!(1));
                    let refused = self.execution.heartbeat(attempt, self.now_ms);
                    assert!(matches!(refused, Err(Refusal::StaleAttempt | Refusal::Ended)));
                    let said = self.give(Input::TaskSucceeded { attempt, output });
                    assert_eq!(said.map(drop), refused);
                }
            }
            Step::Time(seconds) => self.pass_time(self.now_ms + i64::from(*seconds) * 1000),
            Step::Due => {
                if let Some(due) = self.execution.next_due_ms() {
                    self.now_ms = self.now_ms.max(due - 1);
                    if self.now_ms < due {
                        let early = self.give(Input::TimePassed);
                        assert!(early.is_err(), "a timer fired early");
                    }
                    self.pass_time(due.max(self.now_ms));
                }
            }
            // Heartbeats are forgotten: every task has its whole interval again from its start.
            Step::Crash => self.execution = self.fold(),
            Step::Stop => {
                let stopped = self.give(Input::Stop { failure: Failure::default() });
                assert!(matches!(stopped, Ok(_) | Err(Refusal::Ended)));
                assert_ne!(*self.execution.status(), Status::Running);
            }
            Step::Redrive => {
                let redriven = self.give(Input::Redrive);
                assert!(matches!(redriven, Ok(_) | Err(Refusal::NotRedrivable)));
            }
        }
    }

    fn pass_time(&mut self, to_ms: i64) {
        self.now_ms = to_ms;
        // Nothing may be due, or the execution be over. A turn may end before all that is due was done.
        while self.give(Input::TimePassed).is_ok() {}
        let due = self.execution.next_due_ms();
        assert!(due.is_none_or(|due| due > to_ms), "something is overdue");
    }

    /// Something can still happen to what runs, and nothing to what has ended.
    fn check_rest(&self) {
        let awaits = self.attempts.iter().any(|attempt| self.execution.awaits(*attempt));
        let due = self.execution.next_due_ms().is_some();
        let running = *self.execution.status() == Status::Running;
        assert_eq!(awaits || due, running, "{:?}", self.execution.status());
    }

    fn check_history(&self) {
        let program = self.execution.program();
        let history = aws_history::project(program, self.execution.identity(), &self.journal);
        check_events(&history, *self.execution.status() == Status::Running);
    }
}

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let cases = asked.unwrap_or(400);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_happens(
        bodies in bodies(),
        steps in steps(),
        aws in any::<bool>(),
        limit in prop_oneof![3 => Just(None), 1 => (5..80u32).prop_map(Some)],
        timeout in prop_oneof![3 => Just(None), 1 => (1..30u64).prop_map(Some)],
    ) {
        let mut definition = definition(&bodies);
        if let Some(seconds) = timeout {
            definition["TimeoutSeconds"] = json!(seconds);
        }
        let dialect = if aws { Dialect::Aws } else { Dialect::Spec };
        let limits = Limits { history_events: limit.or(Some(400)), ..Limits::default() };
        let mut life = Life::new(Program { machine: compile(&definition), dialect, limits });
        life.check_rest();
        for step in &steps {
            life.take(step);
            life.check_rest();
            life.check_history();
        }
    }
}
